// SPDX-License-Identifier: MIT
// The first frame of every fiber on aarch64; see entry_x86_64.S for what it does and why.
//
//   higher   +--------------------------------+
//            | FiberCore, closure             |
//   top ->   +--------------------------------+   16-byte aligned, sp on entry; x0 = FiberCore*
//            | body's frames ...              |   x30 points into this frame, x29 is 0
//   lower    +--------------------------------+
#if defined(__aarch64__) && !defined(WEFT_CONTEXT_BOOST)
  .text
  .globl weft_fiber_entry
  .type weft_fiber_entry, %function
  .p2align 4
weft_fiber_entry:
  .cfi_startproc
  .cfi_personality 0x9b, DW.ref.weft_entry_personality
  .cfi_def_cfa sp, 0
  .cfi_undefined x30
  hint #36
  mov x19, x0
  mov x29, xzr
  bl weft_fiber_run
  brk #0
  .globl weft_fiber_landing
  .hidden weft_fiber_landing
weft_fiber_landing:
  mov x1, x0
  mov x0, x19
  bl weft_fiber_failed
  brk #0
  .cfi_endproc
  .size weft_fiber_entry, . - weft_fiber_entry

  .hidden DW.ref.weft_entry_personality
  .weak DW.ref.weft_entry_personality
  .section .data.rel.local.DW.ref.weft_entry_personality, "awG", %progbits, DW.ref.weft_entry_personality, comdat
  .p2align 3
  .type DW.ref.weft_entry_personality, %object
  .size DW.ref.weft_entry_personality, 8
DW.ref.weft_entry_personality:
  .xword weft_entry_personality
#endif
  .section .note.GNU-stack, "", %progbits
