// SPDX-License-Identifier: MIT
#include "fiber/fp_words.hpp"

namespace weft::inline v0::detail {
namespace {

FiberCore* domain_of(FiberCore* fiber) {
  while (!(fiber->flags & (flag_fp | flag_root)) && fiber->parent != nullptr) fiber = fiber->parent;
  return fiber;
}

#if defined(__x86_64__)
void save(std::uint32_t (&words)[2]) {
  std::uint32_t mxcsr;
  std::uint16_t x87;
  asm volatile("stmxcsr %0" : "=m"(mxcsr));
  asm volatile("fnstcw %0" : "=m"(x87));
  words[0] = mxcsr;
  words[1] = x87;
}
void load(const std::uint32_t (&words)[2]) {
  const std::uint32_t mxcsr = words[0];
  const auto x87 = static_cast<std::uint16_t>(words[1]);
  asm volatile("ldmxcsr %0" ::"m"(mxcsr));
  asm volatile("fldcw %0" ::"m"(x87));
}
#elif defined(__aarch64__)
void save(std::uint32_t (&words)[2]) {
  std::uint64_t fpcr;
  asm volatile("mrs %0, fpcr" : "=r"(fpcr));
  words[0] = static_cast<std::uint32_t>(fpcr);
  words[1] = 0;
}
void load(const std::uint32_t (&words)[2]) {
  const std::uint64_t fpcr = words[0];
  asm volatile("msr fpcr, %0" ::"r"(fpcr));
}
#else
void save(std::uint32_t (&)[2]) {}
void load(const std::uint32_t (&)[2]) {}
#endif

}  // namespace

void fp_words_default(std::uint32_t (&words)[2]) {
#if defined(__x86_64__)
  words[0] = 0x1f80;
  words[1] = 0x37f;
#else
  words[0] = 0;
  words[1] = 0;
#endif
}

void fp_words_note(FiberCore* fiber) {
  save(domain_of(fiber)->fp_words);
}

void fp_words_recall(FiberCore* fiber) {
  load(domain_of(fiber)->fp_words);
}

void fp_words_change(FiberCore* from, FiberCore* to) {
  FiberCore* leaving = domain_of(from);
  FiberCore* entering = domain_of(to);
  if (leaving == entering) return;
  save(leaving->fp_words);
  load(entering->fp_words);
}

}  // namespace weft::inline v0::detail
