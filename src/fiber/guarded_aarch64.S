// SPDX-License-Identifier: MIT
// weft_guarded_call(task, out, body): calls (*body)(task, out), whose arguments stand where they are, and returns null,
// or the exception that left it. Its personality takes the trace in the search phase, while the throwing frames
// still stand, as the entry frame's does.
//
//   CFA - 8   return address
//   CFA - 16  caller's x29   <- x29, sp: what the unwinder restores before it jumps to the landing
#if defined(__aarch64__) && !defined(WEFT_CONTEXT_BOOST)
  .text
  .globl weft_guarded_call
  .type weft_guarded_call, %function
  .p2align 4
weft_guarded_call:
  .cfi_startproc
  .cfi_personality 0x9b, DW.ref.weft_guard_personality
  hint #34
  stp x29, x30, [sp, #-16]!
  .cfi_def_cfa_offset 16
  .cfi_offset x29, -16
  .cfi_offset x30, -8
  mov x29, sp
  .cfi_def_cfa_register x29
  ldr x2, [x2]
  blr x2
  mov x0, xzr
  .globl weft_guarded_landing
  .hidden weft_guarded_landing
weft_guarded_landing:
  ldp x29, x30, [sp], #16
  .cfi_def_cfa sp, 0
  ret
  .cfi_endproc
  .size weft_guarded_call, . - weft_guarded_call

  .hidden DW.ref.weft_guard_personality
  .weak DW.ref.weft_guard_personality
  .section .data.rel.local.DW.ref.weft_guard_personality, "awG", %progbits, DW.ref.weft_guard_personality, comdat
  .p2align 3
  .type DW.ref.weft_guard_personality, %object
  .size DW.ref.weft_guard_personality, 8
DW.ref.weft_guard_personality:
  .xword weft_guard_personality
#endif
  .section .note.GNU-stack, "", %progbits
