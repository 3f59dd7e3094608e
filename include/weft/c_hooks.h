/* weft/c_hooks.h - what the runtime of another language needs to know of weft's fibers. */
#ifndef WEFT_C_HOOKS_H
#define WEFT_C_HOOKS_H

#include <weft/c.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_parking {
    uint64_t fiber;     /* its number */
    const char* name;   /* may be empty; not ended by a zero byte: name_bytes */
    size_t name_bytes;
    const char* reason; /* "channel receive", ...; reason_bytes */
    size_t reason_bytes;
} weft_parking;

/* From now on `about_to_park` is called before a fiber begins to wait, on that fiber. Locks of weft
 * may be held, so it must be short, must not call weft, and must not use the stack deeply. There is
 * one hook per process; null takes it away. While there is one, each wait of a fiber takes a
 * little longer. WEFT_ESTATE: the lock check (weft::lockcheck) is loaded, which uses the hook. */
WEFT_API WEFT_CHECK weft_status weft_set_park_hook(void (*about_to_park)(const weft_parking* what));

/* As weft_set_park_hook(), for a hook that nearly always has nothing to say: `concerns` is called first, under
 * the same rules, and the hook only if it returns true. So most waits do without what the hook is told.
 * Both are null, or neither. */
WEFT_API WEFT_CHECK weft_status weft_set_park_check(bool (*concerns)(void), void (*about_to_park)(const weft_parking* what));

#ifdef __cplusplus
}
#endif
#endif
