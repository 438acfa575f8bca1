// SPDX-License-Identifier: MIT
// The first frame of every fiber on x86-64.
//
//   higher   +--------------------------------+
//            | FiberCore, closure             |   placed by the fiber's constructor
//   top ->   +--------------------------------+   16-byte aligned, rsp on entry; rdi = FiberCore*
//            | return address into this frame |   pushed by `call` below: the body's frame begins here
//            | body's frames ...              |
//   lower    +--------------------------------+
//
// The return address of this frame is undefined in its CFI and rbp is 0, so debuggers, unwinders and frame-pointer
// walks all stop here. Its personality catches every exception that leaves the body: the unwinder asks it in the
// search phase, while the throwing frames still stand, and that is when the trace is taken (src/fiber/entry.cpp).
#if defined(__x86_64__) && !defined(WEFT_CONTEXT_BOOST)
  .text
  .globl weft_fiber_entry
  .type weft_fiber_entry, @function
  .p2align 4
weft_fiber_entry:
  .cfi_startproc
  .cfi_personality 0x9b, DW.ref.weft_entry_personality
  .cfi_def_cfa rsp, 8
  .cfi_undefined rip
  movq %rdi, %rbx
  call weft_fiber_run
  ud2
  .globl weft_fiber_landing
  .hidden weft_fiber_landing
weft_fiber_landing:
  movq %rbx, %rdi
  movq %rax, %rsi
  call weft_fiber_failed
  ud2
  .cfi_endproc
  .size weft_fiber_entry, . - weft_fiber_entry

// WEFT_JUMPS_BACK (include/weft/detail/jump_back.hpp): the name is the compilers' own.
  .globl __x86_return_thunk
  .hidden __x86_return_thunk
  .type __x86_return_thunk, @function
  .p2align 4
__x86_return_thunk:
  .cfi_startproc
  popq %rcx
  .cfi_def_cfa_offset 0
  .cfi_register rip, rcx
  jmpq *%rcx
  .cfi_endproc
  .size __x86_return_thunk, . - __x86_return_thunk

  .hidden DW.ref.weft_entry_personality
  .weak DW.ref.weft_entry_personality
  .section .data.rel.local.DW.ref.weft_entry_personality, "awG", @progbits, DW.ref.weft_entry_personality, comdat
  .p2align 3
  .type DW.ref.weft_entry_personality, @object
  .size DW.ref.weft_entry_personality, 8
DW.ref.weft_entry_personality:
  .quad weft_entry_personality
#endif
  .section .note.GNU-stack, "", @progbits
