/* stand_before.h - functions that stand before the C library's, as hooks do, and note who calls them. */
#ifndef WEFT_TEST_STAND_BEFORE_H
#define WEFT_TEST_STAND_BEFORE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A place from which one of the functions was called. */
struct noted_call {
    const char* function;
    void* from;             /* the return address */
    unsigned in_a_visit;    /* how often it was called while is_in_a_visit() said so */
};

/* Asked at each call, if it is set. */
extern int (*volatile is_in_a_visit)(void);

/* The places so far, at most `room`. Returns how many there are. */
size_t noted_calls(struct noted_call* into, size_t room);

#ifdef __cplusplus
}
#endif

#endif
