// kernel_thread.S - ends the kernel's part of an x86-64 thread and gives it another one.
//
// arch/kernel_thread.hpp is the contract.
#if defined(__x86_64__)

#if defined(__CET__) && (__CET__ & 1)
#define WEFT_LANDING endbr64
#else
#define WEFT_LANDING
#endif

#define WEFT_SYS_CLONE 56
#define WEFT_SYS_EXIT 60
#define WEFT_SYS_SET_TID_ADDRESS 218
// VM | FS | FILES | SIGHAND | THREAD | SYSVSEM | SETTLS | PARENT_SETTID | CHILD_CLEARTID: the flags that
// pthread_create() uses
#define WEFT_CLONE_THREAD 0x3d0f00

        .text

// void weft_rest_thread(void** save_sp %rdi, void* running %rsi)
        .globl  weft_rest_thread
        .hidden weft_rest_thread
        .type   weft_rest_thread, @function
        .p2align 4
weft_rest_thread:
        .cfi_startproc
        WEFT_LANDING
        pushq   %rbx
        pushq   %rbp
        pushq   %r12
        pushq   %r13
        pushq   %r14
        pushq   %r15
        .cfi_adjust_cfa_offset 48
        movq    %rsp, (%rdi)
        movq    %rsi, %rdi
        movl    $WEFT_SYS_SET_TID_ADDRESS, %eax
        syscall
        xorl    %edi, %edi
        movl    $WEFT_SYS_EXIT, %eax    // of this kernel thread only
        syscall
        ud2
        .cfi_endproc
        .size   weft_rest_thread, . - weft_rest_thread

// long weft_revive_thread(void* saved_sp %rdi, void* number %rsi, uintptr_t base %rdx)
        .globl  weft_revive_thread
        .hidden weft_revive_thread
        .type   weft_revive_thread, @function
        .p2align 4
weft_revive_thread:
        .cfi_startproc
        WEFT_LANDING
        movq    %rdx, %r8               // thread pointer
        movq    %rsi, %rdx              // set in the parent's view
        movq    %rsi, %r10              // cleared at the end, as pthread_join() expects
        movq    %rdi, %rsi
        movl    $WEFT_CLONE_THREAD, %edi
        movl    $WEFT_SYS_CLONE, %eax
        syscall
        testq   %rax, %rax
        jz      1f
        ret
1:      popq    %r15
        popq    %r14
        popq    %r13
        popq    %r12
        popq    %rbp
        popq    %rbx
        ret                             // from weft_rest_thread
        .cfi_endproc
        .size   weft_revive_thread, . - weft_revive_thread

#if defined(__CET__) && (__CET__ & 1)
        .section .note.gnu.property, "a"
        .p2align 3
        .long   4, 16, 5
        .asciz  "GNU"
        .long   0xc0000002, 4, 1, 0
#endif
#endif
        .section .note.GNU-stack, "", %progbits
