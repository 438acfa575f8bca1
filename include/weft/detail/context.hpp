// SPDX-License-Identifier: MIT
// What: the context switch. A Context is the four words that a suspended stack needs; everything else lives in the
// frame that suspended itself, because the switch is inlined and declares every other register clobbered.
//
//   Context            +0  sp    stack pointer at the moment of the switch
//                      +8  pc    where to go on (the label behind the switch, or weft_fiber_entry)
//                      +16 fp    frame pointer (rbp / x29), 0 in a fresh context: the end of a frame-pointer walk
//                      +24 keep  rbx / x19: compilers use it as base pointer and refuse to see it clobbered
//
// Invariants
//   [CTX-1] switch_context(from, to, arg) writes `from` completely before it leaves the stack.
//   [CTX-2] It neither pushes nor calls on the stack that it leaves, so the caller's red zone is safe.
//   [CTX-3] It leaves by an indirect jump, never by `ret`: a `ret` on another stack always mispredicts.
//   [CTX-4] A fresh context enters weft_fiber_entry with `arg` in the first argument register.
// Threads: both contexts belong to the caller until the switch; no atomics here.
// Rejected: an out-of-line switch that ends in `ret` (+10 ns at differing call sites), saving mxcsr/x87 always (+4 ns).
#pragma once

#include <cstddef>

#if !defined(WEFT_CONTEXT_BOOST) && !defined(__x86_64__) && !defined(__aarch64__)
#define WEFT_CONTEXT_BOOST 1
#endif

namespace weft::inline v0::detail {

struct Context {
  void* sp = nullptr;
  void* pc = nullptr;
  void* fp = nullptr;
  void* keep = nullptr;
};
static_assert(sizeof(Context) == 32);

// The first code on a fresh stack. It calls the function that `arg` names (see src/fiber/entry_*.S).
extern "C" void weft_fiber_entry();

#if defined(WEFT_CONTEXT_BOOST)

// Boost.Context's own entry points, declared by hand so that no third-party header shows.
struct BoostTransfer {
  void* context;
  void* data;
};
extern "C" BoostTransfer jump_fcontext(void* to, void* data);
extern "C" void* make_fcontext(void* top, std::size_t size, void (*entry)(BoostTransfer));
void boost_entry(BoostTransfer transfer);

struct BoostSwitch {
  Context* from;
  void* arg;
};

inline void* switch_context(Context& from, Context& to, void* arg) {
  BoostSwitch out{&from, arg};
  BoostTransfer in = jump_fcontext(to.sp, &out);
  auto* arrived = static_cast<BoostSwitch*>(in.data);
  arrived->from->sp = in.context;
  return arrived->arg;
}

inline Context make_context(void* top) {
  Context fresh;
  fresh.sp = make_fcontext(top, 64 * 1024, &boost_entry);
  return fresh;
}

#else

#if defined(__x86_64__)

[[gnu::always_inline]] inline void* switch_context(Context& from, Context& to, void* arg) {
  Context* out = &from;
  Context* in = &to;
  asm volatile(
      "leaq 1f(%%rip), %%rax\n\t"
      "movq %%rsp, 0(%[out])\n\t"
      "movq %%rax, 8(%[out])\n\t"
      "movq %%rbp, 16(%[out])\n\t"
      "movq %%rbx, 24(%[out])\n\t"
      "movq 8(%[in]), %%rax\n\t"
      "movq 16(%[in]), %%rbp\n\t"
      "movq 24(%[in]), %%rbx\n\t"
      "movq 0(%[in]), %%rsp\n\t"
      "jmpq *%%rax\n\t"
      "1:\n\t"
#if defined(__CET__) && (__CET__ & 1)
      "endbr64\n\t"
#endif
      : "+D"(arg), [out] "+S"(out), [in] "+d"(in)
      :
      : "rax", "rcx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4",
        "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15",
#if defined(__AVX512F__)
        "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27",
        "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6", "k7",
#endif
        "st", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", "st(7)", "memory", "cc");
  return arg;
}

#elif defined(__aarch64__)

[[gnu::always_inline]] inline void* switch_context(Context& from, Context& to, void* arg) {
  register void* a asm("x0") = arg;
  register Context* out asm("x1") = &from;
  register Context* in asm("x2") = &to;
  asm volatile(
      "adr x9, 1f\n\t"
      "mov x10, sp\n\t"
      "stp x10, x9, [x1]\n\t"
      "stp x29, x19, [x1, #16]\n\t"
      "ldp x10, x17, [x2]\n\t"
      "ldp x29, x19, [x2, #16]\n\t"
      "mov sp, x10\n\t"
      "br x17\n\t"
      "1:\n\t"
      "hint #36\n\t"  // bti j
      : "+r"(a), "+r"(out), "+r"(in)
      :
      : "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x20",
        "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x30", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7",
        "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23",
        "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "memory", "cc");
  return a;
}

#endif

// `top` is 16-byte aligned; the entry code runs below it.
inline Context make_context(void* top) {
  return Context{top, reinterpret_cast<void*>(&weft_fiber_entry), nullptr, nullptr};
}

#endif

}  // namespace weft::inline v0::detail
