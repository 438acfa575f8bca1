// SPDX-License-Identifier: MIT
// Relaxed: the side of a ring that is ours.
#include "io/kernel_ring.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/sys.hpp"

namespace weft::inline v0::detail {
namespace {

unsigned load(unsigned* word, std::memory_order order) {
  return std::atomic_ref(*word).load(order);
}
void store(unsigned* word, unsigned value) {
  std::atomic_ref(*word).store(value, std::memory_order_release);
}
long as_long(const void* pointer) {
  return static_cast<long>(reinterpret_cast<std::uintptr_t>(pointer));
}

constexpr unsigned feature_of_6_3 = 1U << 13;  // registered rings; newer than our headers may be
constexpr unsigned needed = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP | IORING_FEAT_SUBMIT_STABLE |
                            IORING_FEAT_RW_CUR_POS | IORING_FEAT_FAST_POLL | IORING_FEAT_EXT_ARG;

}  // namespace

KernelRing::~KernelRing() {
  if (entries_ != nullptr) (void)sys::munmap(entries_, entries_size_);
  if (rings_ != nullptr) (void)sys::munmap(rings_, rings_size_);
  if (fd_ >= 0) (void)sys::close(fd_);
}

long KernelRing::open(unsigned entries, unsigned completions) {
  io_uring_params params{};
  const auto setup = [&](unsigned more) {
    params = {};
    params.flags = IORING_SETUP_CLAMP | IORING_SETUP_CQSIZE | more;
    params.cq_entries = completions;
    return sys::invoke(SYS_io_uring_setup, entries, as_long(&params));
  };
  // A thread is not interrupted for a completion: it comes by, or has it done at its next tick.
  long fd = setup(IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG);
  if (fd == -EINVAL) fd = setup(0);  // before 5.19
  if (sys::is_error(fd)) return fd;
  fd_ = static_cast<int>(fd);  // the kernel sets CLOEXEC
  if ((params.features & needed) != needed) return -ENOSYS;
  rings_size_ = std::max<std::size_t>(params.sq_off.array + params.sq_entries * sizeof(unsigned),
                                      params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe));
  polls_first_ = (params.features & feature_of_6_3) != 0;
  entries_size_ = params.sq_entries * sizeof(io_uring_sqe);
  const long rings =
      sys::mmap(nullptr, rings_size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_, IORING_OFF_SQ_RING);
  if (sys::is_error(rings)) return rings;
  rings_ = reinterpret_cast<void*>(rings);
  (void)sys::madvise(rings_, rings_size_, MADV_DONTFORK);  // a child would move the parent's
  const long places =
      sys::mmap(nullptr, entries_size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_, IORING_OFF_SQES);
  if (sys::is_error(places)) return places;
  entries_ = reinterpret_cast<io_uring_sqe*>(places);
  (void)sys::madvise(entries_, entries_size_, MADV_DONTFORK);
  auto* base = static_cast<char*>(rings_);
  const auto word = [&](unsigned offset) { return reinterpret_cast<unsigned*>(base + offset); };
  sq_head_ = word(params.sq_off.head);
  sq_tail_ = word(params.sq_off.tail);
  sq_flags_ = word(params.sq_off.flags);
  sq_mask_ = *word(params.sq_off.ring_mask);
  cq_head_ = word(params.cq_off.head);
  cq_tail_ = word(params.cq_off.tail);
  cq_mask_ = *word(params.cq_off.ring_mask);
  completions_ = reinterpret_cast<const io_uring_cqe*>(base + params.cq_off.cqes);
  for (unsigned i = 0; i < params.sq_entries; ++i) word(params.sq_off.array)[i] = i;
  return 0;
}

io_uring_sqe* KernelRing::next() {
  const unsigned tail = load(sq_tail_, std::memory_order_relaxed);
  if (tail - load(sq_head_, std::memory_order_acquire) > sq_mask_) return nullptr;
  io_uring_sqe* entry = &entries_[tail & sq_mask_];
  std::memset(entry, 0, sizeof *entry);
  return entry;
}

void KernelRing::commit() {
  store(sq_tail_, load(sq_tail_, std::memory_order_relaxed) + 1);
}

unsigned KernelRing::unsubmitted() const {
  const unsigned head = load(sq_head_, std::memory_order_acquire);
  return load(sq_tail_, std::memory_order_acquire) - head;
}

long KernelRing::enter(unsigned count, unsigned least, const timespec* limit) const {
  if (least == 0 && count != 0) return sys::invoke(SYS_io_uring_enter, fd_, count, 0, 0, 0, 0);
  if (limit == nullptr) return sys::invoke(SYS_io_uring_enter, fd_, count, least, IORING_ENTER_GETEVENTS, 0, 0);
  io_uring_getevents_arg arg{};
  arg.ts = reinterpret_cast<std::uintptr_t>(limit);
  return sys::invoke(SYS_io_uring_enter, fd_, count, least, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG,
                     as_long(&arg), sizeof arg);
}

const io_uring_cqe* KernelRing::peek() const {
  const unsigned head = load(cq_head_, std::memory_order_relaxed);
  if (head == load(cq_tail_, std::memory_order_acquire)) return nullptr;
  return &completions_[head & cq_mask_];
}

void KernelRing::seen() {
  store(cq_head_, load(cq_head_, std::memory_order_relaxed) + 1);
}

bool KernelRing::wants_entry() const {
  return (load(sq_flags_, std::memory_order_acquire) & (IORING_SQ_CQ_OVERFLOW | IORING_SQ_TASKRUN)) != 0;
}

bool KernelRing::overflows() const {
  return (load(sq_flags_, std::memory_order_acquire) & IORING_SQ_CQ_OVERFLOW) != 0;
}

}  // namespace weft::inline v0::detail
