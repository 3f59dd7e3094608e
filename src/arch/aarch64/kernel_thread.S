// kernel_thread.S - ends the kernel's part of an aarch64 thread and gives it another one.
//
// arch/kernel_thread.hpp is the contract.
#if defined(__aarch64__)

#define WEFT_SYS_CLONE 220
#define WEFT_SYS_EXIT 93
#define WEFT_SYS_SET_TID_ADDRESS 96
// VM | FS | FILES | SIGHAND | THREAD | SYSVSEM | SETTLS | PARENT_SETTID | CHILD_CLEARTID: the flags that
// pthread_create() uses
#define WEFT_CLONE_THREAD 0x3d0f00

        .text

// void weft_rest_thread(void** save_sp x0, void* running x1)
        .globl  weft_rest_thread
        .hidden weft_rest_thread
        .type   weft_rest_thread, %function
        .p2align 4
weft_rest_thread:
        .cfi_startproc
        hint    #34                     // bti c
        sub     sp, sp, #160
        .cfi_adjust_cfa_offset 160
        stp     x29, x30, [sp]
        stp     x19, x20, [sp, #16]
        stp     x21, x22, [sp, #32]
        stp     x23, x24, [sp, #48]
        stp     x25, x26, [sp, #64]
        stp     x27, x28, [sp, #80]
        stp     d8, d9, [sp, #96]
        stp     d10, d11, [sp, #112]
        stp     d12, d13, [sp, #128]
        stp     d14, d15, [sp, #144]
        mov     x9, sp
        str     x9, [x0]
        mov     x0, x1
        mov     x8, #WEFT_SYS_SET_TID_ADDRESS
        svc     #0
        mov     x0, #0
        mov     x8, #WEFT_SYS_EXIT      // of this kernel thread only
        svc     #0
        brk     #1
        .cfi_endproc
        .size   weft_rest_thread, . - weft_rest_thread

// long weft_revive_thread(void* saved_sp x0, void* number x1, uintptr_t base x2)
        .globl  weft_revive_thread
        .hidden weft_revive_thread
        .type   weft_revive_thread, %function
        .p2align 4
weft_revive_thread:
        .cfi_startproc
        hint    #34                     // bti c
        mov     x3, x2                  // thread pointer
        mov     x2, x1                  // set in the parent's view
        mov     x4, x1                  // cleared at the end, as pthread_join() expects
        mov     x1, x0
        ldr     x0, =WEFT_CLONE_THREAD
        mov     x8, #WEFT_SYS_CLONE
        svc     #0
        cbz     x0, 1f
        ret
1:      ldp     x29, x30, [sp]
        ldp     x19, x20, [sp, #16]
        ldp     x21, x22, [sp, #32]
        ldp     x23, x24, [sp, #48]
        ldp     x25, x26, [sp, #64]
        ldp     x27, x28, [sp, #80]
        ldp     d8, d9, [sp, #96]
        ldp     d10, d11, [sp, #112]
        ldp     d12, d13, [sp, #128]
        ldp     d14, d15, [sp, #144]
        add     sp, sp, #160
        ret                             // from weft_rest_thread
        .cfi_endproc
        .ltorg
        .size   weft_revive_thread, . - weft_revive_thread

#if defined(__ARM_FEATURE_BTI_DEFAULT)
        .section .note.gnu.property, "a"
        .p2align 3
        .long   4, 16, 5
        .asciz  "GNU"
        .long   0xc0000000, 4, 1, 0
#endif
#endif
        .section .note.GNU-stack, "", %progbits
