// context.S - leaves one x86-64 stack and goes on with another.
//
// Only callee-saved registers are saved. A switch ends in `ret`, so that the return predictor stays
// balanced for the frames above. A hop ends in a jump (docs/design/switch-and-stacks.md says which
// is used where). The unwind information is right at every instruction: where the canonical frame
// is, and which registers still lie in it.
#if defined(__x86_64__)
#include "layout.h"

#if defined(__CET__) && (__CET__ & 1)
#define WEFT_LANDING endbr64
#define WEFT_UNMARKED_JUMP notrack jmp
#else
#define WEFT_LANDING
#define WEFT_UNMARKED_JUMP jmp
#endif

        .text

// Saves the preserved registers on this stack, changes to the other stack, and passes the word in
// %rdx on in %rax.
.macro weft_leave
        movq    %rdx, %rax
        subq    $WEFT_FRAME_RETURN, %rsp
        .cfi_adjust_cfa_offset WEFT_FRAME_RETURN
        movq    %r15, WEFT_FRAME_R15(%rsp)
        .cfi_rel_offset %r15, WEFT_FRAME_R15
        movq    %r14, WEFT_FRAME_R14(%rsp)
        .cfi_rel_offset %r14, WEFT_FRAME_R14
        movq    %r13, WEFT_FRAME_R13(%rsp)
        .cfi_rel_offset %r13, WEFT_FRAME_R13
        movq    %r12, WEFT_FRAME_R12(%rsp)
        .cfi_rel_offset %r12, WEFT_FRAME_R12
        movq    %rbx, WEFT_FRAME_RBX(%rsp)
        .cfi_rel_offset %rbx, WEFT_FRAME_RBX
        movq    %rbp, WEFT_FRAME_RBP(%rsp)
        .cfi_rel_offset %rbp, WEFT_FRAME_RBP
        movq    %rsp, (%rdi)
        movq    %rsi, %rsp              // the same rules now describe the other stack's caller
.endm

// Restores the preserved registers from the frame at %rsp.
.macro weft_resume
        movq    WEFT_FRAME_R15(%rsp), %r15
        .cfi_restore %r15
        movq    WEFT_FRAME_R14(%rsp), %r14
        .cfi_restore %r14
        movq    WEFT_FRAME_R13(%rsp), %r13
        .cfi_restore %r13
        movq    WEFT_FRAME_R12(%rsp), %r12
        .cfi_restore %r12
        movq    WEFT_FRAME_RBX(%rsp), %rbx
        .cfi_restore %rbx
        movq    WEFT_FRAME_RBP(%rsp), %rbp
        .cfi_restore %rbp
.endm

.macro weft_return
        addq    $WEFT_FRAME_RETURN, %rsp
        .cfi_adjust_cfa_offset -WEFT_FRAME_RETURN
        ret
.endm

// Emits unwind rules only: all preserved registers lie in the frame.
.macro weft_all_saved
        .cfi_rel_offset %r15, WEFT_FRAME_R15
        .cfi_rel_offset %r14, WEFT_FRAME_R14
        .cfi_rel_offset %r13, WEFT_FRAME_R13
        .cfi_rel_offset %r12, WEFT_FRAME_R12
        .cfi_rel_offset %rbx, WEFT_FRAME_RBX
        .cfi_rel_offset %rbp, WEFT_FRAME_RBP
.endm

// void* weft_switch_context(void** save_sp %rdi, void* to_sp %rsi, void* passed %rdx)
        .globl  weft_switch_context
        .hidden weft_switch_context
        .type   weft_switch_context, @function
        .p2align 5
weft_switch_context:
        .cfi_startproc
        WEFT_LANDING
        weft_leave
        weft_resume
        weft_return
        .cfi_endproc
        .size   weft_switch_context, . - weft_switch_context

// void* weft_hop_context(void** save_sp %rdi, void* to_sp %rsi, void* passed %rdx)
        .globl  weft_hop_context
        .hidden weft_hop_context
        .type   weft_hop_context, @function
        .p2align 5
weft_hop_context:
        .cfi_startproc
        WEFT_LANDING
        weft_leave
        weft_resume
        movq    WEFT_FRAME_RETURN(%rsp), %rcx
        .cfi_register %rip, %rcx
        addq    $WEFT_FRAME_BYTES, %rsp
        .cfi_adjust_cfa_offset -WEFT_FRAME_BYTES
        WEFT_UNMARKED_JUMP *%rcx
        .cfi_endproc
        .size   weft_hop_context, . - weft_hop_context

// [[noreturn]] void weft_jump_context(void* to_sp %rdi, void* passed %rsi)
        .globl  weft_jump_context
        .hidden weft_jump_context
        .type   weft_jump_context, @function
        .p2align 5
weft_jump_context:
        .cfi_startproc
        WEFT_LANDING
        movq    %rsi, %rax
        movq    %rdi, %rsp
        .cfi_def_cfa_offset WEFT_FRAME_BYTES
        weft_all_saved
        weft_resume
        weft_return
        .cfi_endproc
        .size   weft_jump_context, . - weft_jump_context

// void weft_call_from_context(void* sp %rdi, void (*function)(void*) %rsi, void* argument %rdx)
// Calls function(argument) on this stack. Unwinders see the code that has left the stack at sp as
// the caller.
        .globl  weft_call_from_context
        .hidden weft_call_from_context
        .type   weft_call_from_context, @function
        .p2align 5
weft_call_from_context:
        .cfi_startproc
        WEFT_LANDING
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbx, 0
        .cfi_remember_state
        movq    %rdi, %rbx
        .cfi_def_cfa %rbx, WEFT_FRAME_BYTES
        weft_all_saved
        movq    %rdx, %rdi
        call    *%rsi
        .cfi_restore_state
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbx
        ret
        .cfi_endproc
        .size   weft_call_from_context, . - weft_call_from_context

// The bottom of every made stack: nothing called it, and it never ends. Unwinders look one byte
// before the return address. The nop puts that byte inside this function even while the stack has
// not started.
        .type   weft_context_base, @function
        .p2align 4
        .cfi_startproc
        .cfi_undefined %rip
        .cfi_undefined %rbp
        .type   weft_not_begun, @function
weft_not_begun:                         // the name that debuggers show then
        nop
        .size   weft_not_begun, . - weft_not_begun
        .globl  weft_context_base
        .hidden weft_context_base
weft_context_base:
        movq    %r13, %rdi
        movq    %rax, %rsi
        movq    %r14, %rdx
        xorl    %ebp, %ebp
        call    *%r12
        ud2
        .cfi_endproc
        .size   weft_context_base, . - weft_context_base

// Says that indirect branches land on endbr64. It claims no support for shadow stacks, so the
// linker drops that claim for the whole program: weft's stacks have no shadow.
#if defined(__CET__) && (__CET__ & 1)
        .section .note.gnu.property, "a"
        .p2align 3
        .long   4, 16, 5
        .asciz  "GNU"
        .long   0xc0000002, 4, 1, 0
#endif
#endif
        .section .note.GNU-stack, "", %progbits
