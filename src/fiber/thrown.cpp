// SPDX-License-Identifier: MIT
#include "fiber/thrown.hpp"

#include <unwind.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <typeinfo>

#include "weft/detail/seam_locks.hpp"

namespace weft::inline v0::detail {
namespace {

// How the header before a thrown object begins; its end is the unwinder's part.
struct Header {
  const std::type_info* type;
  void (*destroy)(void* object);
};

Header& header_of(void* object) {
  constexpr std::size_t before_unwind_part = 80;
  return *reinterpret_cast<Header*>(static_cast<char*>(object) - sizeof(_Unwind_Exception) - before_unwind_part);
}

struct Beside {
  Beside* next = nullptr;
  void* object = nullptr;
  void (*destroy)(void* object) = nullptr;  // its own
  std::vector<std::exception_ptr> others;
};

constexpr std::size_t bucket_count = 64;
seam::Mutex lock;
Beside* buckets[bucket_count];  // guarded by lock

// Where the entry of an object stands, or would stand.
Beside** place_of(const void* object) {
  Beside** at = &buckets[reinterpret_cast<std::uintptr_t>(object) / 64 % bucket_count];
  while (*at != nullptr && (*at)->object != object) at = &(*at)->next;
  return at;
}

// [BES-1] The last reference has gone.
void forget(void* object) {
  std::unique_ptr<Beside> entry;
  {
    const std::lock_guard guard(lock);
    Beside** at = place_of(object);
    entry.reset(*at);
    if (entry == nullptr) return;  // never: whoever has this destructor has an entry
    *at = entry->next;
  }
  if (entry->destroy != nullptr) entry->destroy(object);
}

// [BES-2] Takes `object` out of everything that `from` reaches.
void cut_back_edges(const std::exception_ptr& from, const std::exception_ptr& object) {
  std::vector<const void*> reached{thrown_object(from)};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    Beside* entry = *place_of(reached[i]);
    if (entry == nullptr) continue;
    std::erase(entry->others, object);  // never its last reference: the caller has one
    for (const std::exception_ptr& other : entry->others)
      if (std::find(reached.begin(), reached.end(), thrown_object(other)) == reached.end())
        reached.push_back(thrown_object(other));
  }
}

}  // namespace

void keep_beside(const std::exception_ptr& first, const std::vector<std::exception_ptr>& others) noexcept {
  void* object = thrown_object(first);
  Header& header = header_of(object);
  if (header.type != first.__cxa_exception_type()) return;  // an object of another making
  try {
    const std::lock_guard guard(lock);
    Beside** at = place_of(object);
    if (*at == nullptr) {
      // NOLINTNEXTLINE(bugprone-throw-keyword-missing): a record with a list of exceptions
      *at = new Beside{.next = nullptr, .object = object, .destroy = header.destroy, .others = {}};
      header.destroy = forget;
    }
    std::vector<std::exception_ptr>& kept = (*at)->others;
    for (const std::exception_ptr& other : others) {
      if (other == first || std::find(kept.begin(), kept.end(), other) != kept.end()) continue;
      cut_back_edges(other, first);
      kept.push_back(other);
    }
  } catch (const std::bad_alloc&) {
    // Those that found no room are lost; the error itself goes on.
  }
}

std::vector<std::exception_ptr> kept_beside(const std::exception_ptr& first) {
  if (first == nullptr) return {};
  const std::lock_guard guard(lock);
  const Beside* entry = *place_of(thrown_object(first));
  return entry != nullptr ? entry->others : std::vector<std::exception_ptr>();
}

}  // namespace weft::inline v0::detail
