// context.S - leaves one aarch64 stack and goes on with another.
//
// Only callee-saved registers are saved (x19-x30, d8-d15). A caller that signs its return address
// signs it with its own stack pointer, which is the same when the caller goes on. `ret` needs no
// landing mark under branch protection.
#if defined(__aarch64__)
#include "layout.h"

        .text

// Restores the registers from the frame at sp and returns into that frame. x0 holds the word that
// was passed by the code that switched here.
.macro weft_resume
        ldp     x19, x20, [sp, #WEFT_FRAME_X19]
        .cfi_restore x19
        .cfi_restore x20
        ldp     x21, x22, [sp, #WEFT_FRAME_X21]
        .cfi_restore x21
        .cfi_restore x22
        ldp     x23, x24, [sp, #WEFT_FRAME_X23]
        .cfi_restore x23
        .cfi_restore x24
        ldp     x25, x26, [sp, #WEFT_FRAME_X25]
        .cfi_restore x25
        .cfi_restore x26
        ldp     x27, x28, [sp, #WEFT_FRAME_X27]
        .cfi_restore x27
        .cfi_restore x28
        ldp     d8, d9, [sp, #WEFT_FRAME_D8]
        .cfi_restore d8
        .cfi_restore d9
        ldp     d10, d11, [sp, #WEFT_FRAME_D10]
        .cfi_restore d10
        .cfi_restore d11
        ldp     d12, d13, [sp, #WEFT_FRAME_D12]
        .cfi_restore d12
        .cfi_restore d13
        ldp     d14, d15, [sp, #WEFT_FRAME_D14]
        .cfi_restore d14
        .cfi_restore d15
        ldp     x29, x30, [sp, #WEFT_FRAME_X29]
        .cfi_restore x29
        .cfi_restore x30
        add     sp, sp, #WEFT_FRAME_BYTES
        .cfi_adjust_cfa_offset -WEFT_FRAME_BYTES
        ret
.endm

// Emits unwind rules only: all preserved registers lie in the frame.
.macro weft_all_saved
        .cfi_rel_offset x29, WEFT_FRAME_X29
        .cfi_rel_offset x30, WEFT_FRAME_X30
        .cfi_rel_offset x19, WEFT_FRAME_X19
        .cfi_rel_offset x20, WEFT_FRAME_X20
        .cfi_rel_offset x21, WEFT_FRAME_X21
        .cfi_rel_offset x22, WEFT_FRAME_X22
        .cfi_rel_offset x23, WEFT_FRAME_X23
        .cfi_rel_offset x24, WEFT_FRAME_X24
        .cfi_rel_offset x25, WEFT_FRAME_X25
        .cfi_rel_offset x26, WEFT_FRAME_X26
        .cfi_rel_offset x27, WEFT_FRAME_X27
        .cfi_rel_offset x28, WEFT_FRAME_X28
        .cfi_rel_offset d8, WEFT_FRAME_D8
        .cfi_rel_offset d9, WEFT_FRAME_D9
        .cfi_rel_offset d10, WEFT_FRAME_D10
        .cfi_rel_offset d11, WEFT_FRAME_D11
        .cfi_rel_offset d12, WEFT_FRAME_D12
        .cfi_rel_offset d13, WEFT_FRAME_D13
        .cfi_rel_offset d14, WEFT_FRAME_D14
        .cfi_rel_offset d15, WEFT_FRAME_D15
.endm

// A hop is a switch on this processor: under branch protection a jump to an unmarked return address
// faults.
        .globl  weft_hop_context
        .hidden weft_hop_context
        .set    weft_hop_context, weft_switch_context

// void* weft_switch_context(void** save_sp x0, void* to_sp x1, void* passed x2)
        .globl  weft_switch_context
        .hidden weft_switch_context
        .type   weft_switch_context, %function
        .p2align 5
weft_switch_context:
        .cfi_startproc
        hint    #34                     // bti c
        sub     sp, sp, #WEFT_FRAME_BYTES
        .cfi_adjust_cfa_offset WEFT_FRAME_BYTES
        stp     x29, x30, [sp, #WEFT_FRAME_X29]
        .cfi_rel_offset x29, WEFT_FRAME_X29
        .cfi_rel_offset x30, WEFT_FRAME_X30
        stp     x19, x20, [sp, #WEFT_FRAME_X19]
        .cfi_rel_offset x19, WEFT_FRAME_X19
        .cfi_rel_offset x20, WEFT_FRAME_X20
        stp     x21, x22, [sp, #WEFT_FRAME_X21]
        .cfi_rel_offset x21, WEFT_FRAME_X21
        .cfi_rel_offset x22, WEFT_FRAME_X22
        stp     x23, x24, [sp, #WEFT_FRAME_X23]
        .cfi_rel_offset x23, WEFT_FRAME_X23
        .cfi_rel_offset x24, WEFT_FRAME_X24
        stp     x25, x26, [sp, #WEFT_FRAME_X25]
        .cfi_rel_offset x25, WEFT_FRAME_X25
        .cfi_rel_offset x26, WEFT_FRAME_X26
        stp     x27, x28, [sp, #WEFT_FRAME_X27]
        .cfi_rel_offset x27, WEFT_FRAME_X27
        .cfi_rel_offset x28, WEFT_FRAME_X28
        stp     d8, d9, [sp, #WEFT_FRAME_D8]
        .cfi_rel_offset d8, WEFT_FRAME_D8
        .cfi_rel_offset d9, WEFT_FRAME_D9
        stp     d10, d11, [sp, #WEFT_FRAME_D10]
        .cfi_rel_offset d10, WEFT_FRAME_D10
        .cfi_rel_offset d11, WEFT_FRAME_D11
        stp     d12, d13, [sp, #WEFT_FRAME_D12]
        .cfi_rel_offset d12, WEFT_FRAME_D12
        .cfi_rel_offset d13, WEFT_FRAME_D13
        stp     d14, d15, [sp, #WEFT_FRAME_D14]
        .cfi_rel_offset d14, WEFT_FRAME_D14
        .cfi_rel_offset d15, WEFT_FRAME_D15
        mov     x9, sp
        str     x9, [x0]
        mov     x0, x2
        mov     sp, x1                  // the same rules now describe the other stack's caller
        weft_resume
        .cfi_endproc
        .size   weft_switch_context, . - weft_switch_context

// [[noreturn]] void weft_jump_context(void* to_sp x0, void* passed x1)
        .globl  weft_jump_context
        .hidden weft_jump_context
        .type   weft_jump_context, %function
        .p2align 5
weft_jump_context:
        .cfi_startproc
        hint    #34                     // bti c
        mov     sp, x0
        .cfi_def_cfa_offset WEFT_FRAME_BYTES
        weft_all_saved
        mov     x0, x1
        weft_resume
        .cfi_endproc
        .size   weft_jump_context, . - weft_jump_context

// void weft_call_from_context(void* sp x0, void (*function)(void*) x1, void* argument x2)
// Calls function(argument) on this stack. Unwinders see the code that has left the stack at sp as
// the caller.
        .globl  weft_call_from_context
        .hidden weft_call_from_context
        .type   weft_call_from_context, %function
        .p2align 5
weft_call_from_context:
        .cfi_startproc
        hint    #34                     // bti c
        stp     x29, x30, [sp, #-32]!
        .cfi_adjust_cfa_offset 32
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        str     x19, [sp, #16]
        .cfi_rel_offset x19, 16
        .cfi_remember_state
        mov     x19, x0
        .cfi_def_cfa x19, WEFT_FRAME_BYTES
        weft_all_saved
        mov     x0, x2
        blr     x1
        .cfi_restore_state
        ldr     x19, [sp, #16]
        ldp     x29, x30, [sp], #32
        .cfi_adjust_cfa_offset -32
        .cfi_restore x29
        .cfi_restore x30
        .cfi_restore x19
        ret
        .cfi_endproc
        .size   weft_call_from_context, . - weft_call_from_context

// The bottom of every made stack: nothing called it, and it never ends. Unwinders look just before
// the return address. The nop puts that place inside this function even while the stack has not
// started.
        .type   weft_context_base, %function
        .p2align 4
        .cfi_startproc
        .cfi_undefined x30
        .cfi_undefined x29
        .type   weft_not_begun, %function
weft_not_begun:                         // the name that debuggers show then
        nop
        .size   weft_not_begun, . - weft_not_begun
        .globl  weft_context_base
        .hidden weft_context_base
weft_context_base:
        mov     x1, x0
        mov     x0, x20
        mov     x2, x21
        mov     x29, xzr
        blr     x19
        brk     #1
        .cfi_endproc
        .size   weft_context_base, . - weft_context_base

#if defined(__ARM_FEATURE_BTI_DEFAULT)
        .section .note.gnu.property, "a"
        .p2align 3
        .long   4, 16, 5
        .asciz  "GNU"
        .long   0xc0000000, 4, 1, 0     // branch targets are marked
#endif
#endif
        .section .note.GNU-stack, "", %progbits
