/* weft/c_scheduler.h - a scheduler to which coroutines are added, and that runs until all have ended.
 *
 *     weft_scheduler s;
 *     weft_scheduler_init(&s, 0, WEFT_BATCH);
 *     for (int i = 0; i < 1000; ++i) weft_scheduler_add(&s, work, &items[i]);
 *     weft_scheduler_run(&s);
 *     weft_scheduler_destroy(&s);
 *
 * It is a runtime of its own, and each coroutine is a fiber in it, so a coroutine may call all of
 * weft/c.h. The rules of weft/c.h hold. (Row L1 of the seeds: the interface of the library for
 * Cython that weft takes the place of.)
 */
#ifndef WEFT_C_SCHEDULER_H
#define WEFT_C_SCHEDULER_H

#include <weft/c.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_coro weft_coro;
/* What it returns is ignored, but WEFT_EFAILED is a failure; see weft_scheduler_run(). */
typedef int (*weft_coro_function)(weft_coro* self, void* arg);
typedef struct weft_scheduler {
    void* opaque;
} weft_scheduler;

/* What weft_coro_yield() does: others go first; or the coroutine ends here. */
enum { WEFT_MAY_RESUME = 0, WEFT_FINISHED = 1 };
/* When coroutines begin: in weft_scheduler_run(), or when they are added. */
enum { WEFT_BATCH = 0, WEFT_AS_SPAWNED = 1 };

/* workers 0: one for each usable CPU. */
WEFT_API WEFT_CHECK weft_status weft_scheduler_init(weft_scheduler* s, unsigned workers, int when);
/* Adds a coroutine. One that is added by a coroutine of the same scheduler begins at once. With
 * WEFT_BATCH, plain threads add one at a time, and not during a run. */
WEFT_API WEFT_CHECK weft_status weft_scheduler_add(weft_scheduler* s, weft_coro_function f, void* arg);
/* Waits until all coroutines that were added have ended. May be called again after more were added.
 * WEFT_EFAILED: the first failure of a coroutine since the last run; the others went on. WEFT_CANCELED:
 * the caller was stopped; the coroutines go on, and another run waits for them. WEFT_ESTATE: one of
 * its own coroutines has called. If memory runs out, those that could not start are dropped. Parks */
WEFT_API WEFT_CHECK weft_status weft_scheduler_run(weft_scheduler* s);
/* Coroutines that have not begun never do; those that have are stopped and waited for. */
WEFT_API void weft_scheduler_destroy(weft_scheduler* s);
/* The runtime in which the coroutines run, which ends with the scheduler: for weft_runtime_stats(),
 * weft_spawn() and the like. */
WEFT_API weft_runtime* weft_scheduler_runtime(const weft_scheduler* s);

/* Called by a coroutine, with its own `self`.
 * WEFT_MAY_RESUME: lets others go first. WEFT_CANCELED if it was stopped. Parks
 * WEFT_FINISHED: ends the coroutine here, as if its function returned 0. The call does not return,
 * and no destructor of a C++ object on the way is run. Inside a shield,
 * deadline, pin, scope or weft_coroutine it stops the program. Not for functions that weft calls
 * back, such as the `start` of weft_await_callback(): the code of weft below them would be skipped. */
WEFT_API weft_status weft_coro_yield(weft_coro* self, int value);

#ifdef __cplusplus
}
#endif
#endif
