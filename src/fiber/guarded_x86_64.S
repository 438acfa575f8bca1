// SPDX-License-Identifier: MIT
// weft_guarded_call(task, out, body): calls (*body)(task, out), whose arguments stand where they are, and returns null,
// or the exception that left it. Its personality takes the trace in the search phase, while the throwing frames
// still stand, as the entry frame's does.
//
//   CFA - 8   return address
//   CFA - 16  nothing   <- rsp: what the unwinder restores before it jumps to the landing; rbp stays the caller's
#if defined(__x86_64__) && !defined(WEFT_CONTEXT_BOOST)
  .text
  .globl weft_guarded_call
  .type weft_guarded_call, @function
  .p2align 4
weft_guarded_call:
  .cfi_startproc
  .cfi_personality 0x9b, DW.ref.weft_guard_personality
  subq $8, %rsp
  .cfi_def_cfa_offset 16
  call *(%rdx)
  xorl %eax, %eax
  .globl weft_guarded_landing
  .hidden weft_guarded_landing
weft_guarded_landing:
  addq $8, %rsp
  .cfi_def_cfa_offset 8
  ret
  .cfi_endproc
  .size weft_guarded_call, . - weft_guarded_call

  .hidden DW.ref.weft_guard_personality
  .weak DW.ref.weft_guard_personality
  .section .data.rel.local.DW.ref.weft_guard_personality, "awG", @progbits, DW.ref.weft_guard_personality, comdat
  .p2align 3
  .type DW.ref.weft_guard_personality, @object
  .size DW.ref.weft_guard_personality, 8
DW.ref.weft_guard_personality:
  .quad weft_guard_personality
#endif
  .section .note.GNU-stack, "", @progbits
