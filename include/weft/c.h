/* weft/c.h - weft for C, and for every language that can call C: fibers on all cores, channels,
 * select, locks, TCP. Link with libweft_c (CMake: weft::c; pkg-config: weft-c).
 *
 * Rules that hold for every function
 *
 *   1  A function reports a failure by its result only: it throws nothing, and neither jumps nor
 *      raises a signal. A function that can fail returns a weft_status. It writes its
 *      out-parameters only if the status says so. weft_error() describes the last failure.
 *   2  "Parks" in a comment: the calling fiber may wait there, and may go on on another thread. On a
 *      plain thread the same call sleeps. No other function switches fibers. errno and thread-local
 *      variables belong to a thread, so their values are lost in a call that parks; a lock of the
 *      thread, such as a pthread mutex, must not be held there. In weft_as_thread() they belong to
 *      the fiber, and a lock may be held.
 *   3  If a fiber was asked to stop, or a deadline that it has set has passed, every call that parks
 *      returns WEFT_CANCELED, again and again, until the body returns. What was interrupted has not
 *      happened, unless its comment says otherwise. The body gives back what it holds and returns.
 *      Clean-up that has to wait does so between weft_shield_enter() and weft_shield_leave().
 *   4  Objects may be used by any fibers and threads at the same time, with two exceptions. A handle
 *      is destroyed once, when nothing uses it any more. A frame (weft_shield, weft_deadline,
 *      weft_pin) is used by the fiber that entered it, and frames are left in reverse order.
 *   5  Times are in nanoseconds. A timeout counts from the call: 0 or less does not wait (and so tells
 *      no stop), and WEFT_FOREVER never ends.
 *   6  A struct whose first member is `size` is set up by its _init function. Zero in a member means
 *      the default. Later versions add members at the end only, so a program that was compiled with
 *      an older header works with a newer library.
 *   7  A null handle, an unknown value or a size out of range is WEFT_EINVAL. Functions without a
 *      status ignore a null handle. If a contract is broken in another way (an object destroyed
 *      while a fiber waits for it, a frame left out of turn), the program stops with one line on
 *      stderr.
 *
 * This is one header, although it is long, because it is one interface: its sections are those of the
 * headers of C++, and share their rules, statuses and handles.
 *
 * A program may use weft from C++ as well, by <weft/weft.hpp>. The two interfaces know each other's
 * fibers only if both are linked to the same library; see docs/guide/18-from-c.md.
 */
#ifndef WEFT_C_H
#define WEFT_C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEFT_C_VERSION_MAJOR 0
#define WEFT_C_VERSION_MINOR 1
#define WEFT_C_VERSION_PATCH 0
#define WEFT_C_VERSION (WEFT_C_VERSION_MAJOR * 1000000 + WEFT_C_VERSION_MINOR * 1000 + WEFT_C_VERSION_PATCH)

#if defined(__GNUC__)
#define WEFT_API __attribute__((visibility("default")))
#else
#define WEFT_API
#endif
/* Cython casts a result that it ignores to void, which does not silence the warning. */
#if defined(__GNUC__) && !defined(CYTHON_HEX_VERSION)
#define WEFT_CHECK __attribute__((warn_unused_result))
#else
#define WEFT_CHECK
#endif

/* Defines weft_<struct>_init(), for the structs of rule 6. A function, because compilers warn of an
 * initializer that leaves members out, and Cython leaves such members as they were. */
#define WEFT_SIZED(type)                                                                                                         \
    static inline void type##_init(type* o) {                                                                                    \
        unsigned char* p = (unsigned char*)o;                                                                                    \
        for (size_t i = 0; i < sizeof *o; ++i) p[i] = 0;                                                                         \
        o->size = sizeof *o;                                                                                                     \
    }

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status --------------------------------------------------------------------------------- */

/* One of the values below. Below 16 are outcomes to expect, from 16 on failures. */
typedef int weft_status;
enum {
    WEFT_OK = 0,
    WEFT_TIMEDOUT = 1, /* the timeout of this call has passed; nothing has happened, but see weft_write() */
    WEFT_BUSY = 2,     /* the timeout was 0, and the call would have had to wait */
    WEFT_CLOSED = 3,   /* the channel (drained, for a receiver), listener or stream is closed */
    WEFT_DONE = 4,     /* the coroutine has ended */
    WEFT_CANCELED = 5, /* a stop, or an enclosing deadline: return from the body (rule 3) */
    WEFT_EINVAL = 16,  /* an argument; weft_error() names it */
    WEFT_ENOMEM = 17,
    WEFT_ELIMIT = 18,   /* max_fibers has been reached (WEFT_AT_LIMIT_FAIL), or no thread can be had */
    WEFT_ESYSTEM = 19,  /* a system call failed; weft_error_errno() is its errno */
    WEFT_ESTATE = 20,   /* not possible now: the mutex is not the caller's, the runtime is a parent process's */
    WEFT_ENOFIBER = 21, /* only a fiber can do this, and the caller is a plain thread */
    /* A body failed: it returned WEFT_EFAILED, or C++ code in it threw. A number that no body returns by
     * chance, since its result may be any. */
    WEFT_EFAILED = 0x57454654
};

#define WEFT_FOREVER INT64_MAX

/* The last failure (16 and above) of the calling fiber or thread, in words; "" if there was none.
 * Never null. Valid until the next failure of the same fiber or thread. */
WEFT_API const char* weft_error(void);
/* The errno of that failure; 0 if it was not that of a system call. */
WEFT_API int weft_error_errno(void);
/* Makes `words` (copied, at most 511 bytes) what weft_error() returns, and returns WEFT_EFAILED. In a body:
 *     return weft_fail("no such account"); */
WEFT_API weft_status weft_fail(const char* words);
/* "WEFT_OK" and so on; "unknown status" for another value. */
WEFT_API const char* weft_status_name(weft_status s);
/* WEFT_C_VERSION of the library. */
WEFT_API uint32_t weft_version(void);

/* ---- handles -------------------------------------------------------------------------------- */

typedef struct weft_runtime weft_runtime;
typedef struct weft_fiber weft_fiber;
typedef struct weft_scope weft_scope;
typedef struct weft_channel weft_channel;
typedef struct weft_coroutine weft_coroutine;
typedef struct weft_listener weft_listener;
typedef struct weft_stream weft_stream;
typedef struct weft_resume weft_resume;

/* ---- runtime -------------------------------------------------------------------------------- */

/* A fiber, for the functions below. Valid during the call. */
typedef struct weft_fiber_info {
    uint64_t id;           /* 0: code of a plain thread */
    const char* name;      /* may be empty */
    const char* state;     /* "created", "runnable", "running", "waiting", "done" */
    const char* waits_for; /* "channel receive", ...; or "nothing" */
    bool detached;
} weft_fiber_info;

/* A hog: a fiber that kept its thread for ten time slices while others waited, or one that was
 * asked to stop and goes on. Valid during the call. Later versions may add members at the end. */
enum { WEFT_HOG_COMPUTES = 0, WEFT_HOG_BLOCKS = 1, WEFT_HOG_IGNORES_STOP = 2 };
typedef struct weft_hog {
    weft_fiber_info fiber;
    int32_t what;           /* WEFT_HOG_... */
    int32_t thread;         /* the kernel's number of its thread */
    int64_t held_ns;        /* how long it has kept its thread, or has ignored the stop */
    int64_t computed_ns;    /* CPU time of that, as far as it was seen */
    const char* blocked_in; /* what it blocks in; may be empty */
} weft_hog;

/* What weft_spawn() does at max_fibers: wait, run the body in place of spawning, or fail. */
enum { WEFT_AT_LIMIT_PARK = 0, WEFT_AT_LIMIT_RUN_INLINE = 1, WEFT_AT_LIMIT_FAIL = 2 };

typedef struct weft_runtime_options {
    size_t size;
    uint32_t workers;          /* 0: one for each usable CPU */
    uint32_t max_carriers;     /* the most threads that run fibers; 0: 512 */
    uint32_t blocking_threads; /* the most threads of weft_blocking(); 0: 256 */
    size_t stack_bytes;        /* of address space for each fiber, 16 KiB to 1 GiB; 0: 256 KiB */
    size_t max_fibers;         /* the most fibers at once; 0: no limit */
    int64_t time_slice_ns;     /* a fiber that computes for longer loses its worker; 0: 5 ms; -1: never */
    int64_t timer_slack_ns;    /* sleeps that end within it share a wake; 0: 100 us; -1: none */
    int32_t hog_nice;          /* added to the nice value of a thread whose fiber computes for long */
    int32_t dump_signal;       /* a signal that makes the process write a dump to stderr; 0: none */
    int32_t at_limit;          /* WEFT_AT_LIMIT_... */
    bool inspect;              /* answer `weft dump PID` */
    bool torture_migration;    /* for tests: fibers change their thread whenever they may */
    const char* name;          /* begins the names of its threads; null: "weft" */
    void* user;                /* the first argument of the functions below */
    /* A failure that no join takes, called on the fiber that failed or where its handle is dropped.
     * `s` and `words` are what a join would report. Null: one line on stderr, and then, if the fiber
     * was detached, the end of the program. */
    void (*on_unhandled)(void* user, const weft_fiber_info* fiber, weft_status s, const char* words);
    /* Called on a thread of its own, for the first ten hogs and then once per second. Null: one line
     * on stderr. */
    void (*on_hog)(void* user, const weft_hog* hog);
    bool hooks; /* calls that block park in fibers that are threads (libweft_hooks.so) */
} weft_runtime_options;
WEFT_SIZED(weft_runtime_options)

/* Starts a runtime and its threads. `o` may be null. */
WEFT_API WEFT_CHECK weft_status weft_runtime_create(const weft_runtime_options* o, weft_runtime** out);
/* Stops all fibers, waits for them, and ends the threads. Not to be called by one of its fibers, and
 * only when its handles (fibers, scopes) have been joined, detached or closed. */
WEFT_API void weft_runtime_destroy(weft_runtime* rt);
/* Stops all fibers and waits for them, but not longer than `grace_ns`. WEFT_TIMEDOUT: some go on,
 * and stderr names them. The runtime remains, and fibers that are spawned later start stopped. */
WEFT_API WEFT_CHECK weft_status weft_runtime_shutdown(weft_runtime* rt, int64_t grace_ns);
/* In a forked child, where no runtime of the parent runs: begins anew, without fibers. */
WEFT_API WEFT_CHECK weft_status weft_runtime_restart(weft_runtime* rt);
/* The runtime of the calling fiber; null on a plain thread. */
WEFT_API weft_runtime* weft_runtime_current(void);

/* Counts since the start, and numbers of now: hints, since the runtime goes on. */
typedef struct weft_stats {
    size_t size;
    uint64_t fibers;   /* made and not ended */
    uint64_t spawned;
    uint64_t refused;  /* spawns that failed */
    uint64_t switches;
    uint64_t parks;
    uint64_t steals;
    uint64_t sleeps;   /* of workers that had nothing to do */
    uint64_t wakes;
    uint64_t hand_offs; /* times a fiber lost its worker */
    uint64_t blocked;   /* those in which the fiber blocked its thread */
    uint64_t stacks_in_use;
    uint64_t stacks_idle;
    uint64_t stacks_unguarded;
    uint32_t workers;
    uint32_t carriers;
    uint32_t blocking_threads;
} weft_stats;
WEFT_SIZED(weft_stats)
WEFT_API WEFT_CHECK weft_status weft_runtime_stats(weft_runtime* rt, weft_stats* out); /* after weft_stats_init() */

/* Writes a dump of all runtimes of the process, as text for people or as one JSON object: `write` is
 * called with one piece after the other. */
enum { WEFT_DUMP_TEXT = 0, WEFT_DUMP_JSON = 1 };
WEFT_API WEFT_CHECK weft_status weft_dump(int format, void (*write)(void* user, const char* text, size_t n), void* user);

/* ---- fibers --------------------------------------------------------------------------------- */

/* The body of a fiber. Its result goes to weft_join(). WEFT_EFAILED is a failure, whose words are those
 * of the last failure in the body, so weft_fail() is the way to return it. To end because of a
 * WEFT_CANCELED is no failure: return another value, such as that one. A body that returns inside a
 * shield, deadline, pin or scope of its own stops the program. */
typedef int (*weft_body)(void* arg);

/* Which threads may run a fiber: any; any before its start and one then; the one it is spawned on;
 * one of its own. */
enum { WEFT_MIGRATE_ALWAYS = 0, WEFT_MIGRATE_BEFORE_START = 1, WEFT_MIGRATE_NEVER = 2, WEFT_MIGRATE_OWN_CARRIER = 3 };
enum { WEFT_PRIORITY_INHERIT = 0, WEFT_PRIORITY_HIGH = 1, WEFT_PRIORITY_NORMAL = 2, WEFT_PRIORITY_LOW = 3 };

typedef struct weft_attributes {
    size_t size;
    const char* name;   /* for dumps; copied, at most 47 bytes */
    size_t stack_bytes; /* 16 KiB to 1 GiB; 0: that of the runtime */
    int32_t migrate;    /* WEFT_MIGRATE_... */
    int32_t priority;   /* WEFT_PRIORITY_... */
    bool no_preempt;    /* it keeps its worker however long it computes or blocks */
    bool run_now;       /* it begins at once, and the spawner goes on when it first waits or ends */
    bool as_thread;     /* it is a thread to the code it calls: weft_as_thread() for its whole life */
} weft_attributes;
WEFT_SIZED(weft_attributes)

/* Starts f(arg) as a fiber of `rt`, from any thread; rt null: of the caller's runtime. `a` may be
 * null. `out` null: detached. Every handle goes to weft_join() or weft_detach() once. The body
 * always runs: a fiber that is stopped before it starts learns of it at its first call that parks.
 * Parks only at max_fibers with WEFT_AT_LIMIT_PARK, and with run_now. */
WEFT_API WEFT_CHECK weft_status weft_spawn(weft_runtime* rt, weft_body f, void* arg, const weft_attributes* a, weft_fiber** out);
/* Runs main(arg) as a fiber of `rt` and waits for its end. `result` may be null. The status is that
 * of a weft_join(). WEFT_CANCELED: the caller was stopped, so main was stopped, too, and has ended. Parks */
WEFT_API WEFT_CHECK weft_status weft_run(weft_runtime* rt, weft_body main, void* arg, int* result);

/* Waits for the end of the body. `result` may be null.
 * WEFT_OK: *result is what the body returned. WEFT_EFAILED: the body failed, and weft_error() has
 * its words. In both cases the handle is gone. WEFT_TIMEDOUT, WEFT_BUSY, WEFT_CANCELED: the handle
 * is good. If the body has not begun, the caller may run it in place; a stop of the caller then
 * stops it, too. One fiber or thread at a time joins a fiber. Parks */
WEFT_API WEFT_CHECK weft_status weft_join(weft_fiber* f, int64_t timeout_ns, int* result);
/* Lets the fiber run on without a handle, which is gone. */
WEFT_API void weft_detach(weft_fiber* f);
/* Asks the body to end (rule 3). True: this was the first request. */
WEFT_API bool weft_request_stop(weft_fiber* f);
/* Whether the body has ended: weft_join() then does not wait. */
WEFT_API bool weft_is_done(const weft_fiber* f);
/* No two fibers of a process have one number, living or dead. 0 for null. */
WEFT_API uint64_t weft_fiber_id(const weft_fiber* f);

/* Lets other fibers run that are ready. Parks if there are any. */
WEFT_API WEFT_CHECK weft_status weft_yield(void);
/* Parks */
WEFT_API WEFT_CHECK weft_status weft_sleep(int64_t ns);
WEFT_API uint64_t weft_self_id(void); /* 0 on a plain thread */
/* Whether the calling fiber was asked to stop. Deadlines and shields do not count. */
WEFT_API bool weft_stop_requested(void);
/* WEFT_CANCELED if a call that parks would return it now, else WEFT_OK: for a body that computes. */
WEFT_API WEFT_CHECK weft_status weft_check_canceled(void);
WEFT_API void weft_set_name(const char* name); /* no effect on a plain thread */
/* The bytes of stack left below the caller's frame; 0 on a plain thread and in a weft_coroutine. */
WEFT_API size_t weft_stack_remaining(void);
/* The stack of the calling fiber, not that of a weft_coroutine; null and null on a plain thread. */
WEFT_API void weft_stack_bounds(void** low, void** high);

/* ---- frames: they hold from enter to leave --------------------------------------------------- */

typedef struct weft_shield {
    uint64_t opaque[6];
} weft_shield;
typedef struct weft_deadline {
    uint64_t opaque[8];
} weft_deadline;
typedef struct weft_pin {
    uint64_t opaque[2];
} weft_pin;

/* Neither a stop nor a deadline interrupts the caller until the frame is left, or `limit_ns` have
 * passed. */
WEFT_API void weft_shield_enter(weft_shield* frame, int64_t limit_ns);
WEFT_API void weft_shield_leave(weft_shield* frame);
/* Calls that park return WEFT_CANCELED from `timeout_ns` on, until the frame is left. Of nested
 * deadlines the earliest counts. Leave it with the status of the work that it bounds: the result is
 * WEFT_TIMEDOUT in place of a WEFT_CANCELED that this deadline has caused, and otherwise `s`. A stop that
 * has come meanwhile counts more than the deadline:
 *     weft_deadline d;
 *     weft_deadline_enter(&d, 50 * 1000000);
 *     s = weft_deadline_leave(&d, fetch(url)); */
WEFT_API void weft_deadline_enter(weft_deadline* frame, int64_t timeout_ns);
WEFT_API weft_status weft_deadline_leave(weft_deadline* frame, weft_status s);
/* The fiber stays on its thread until the frame is left. */
WEFT_API void weft_pin_enter(weft_pin* frame);
WEFT_API void weft_pin_leave(weft_pin* frame);

/* ---- scopes: children that end before the scope does ----------------------------------------- */

typedef struct weft_scope_options {
    size_t size;
    size_t limit;    /* the most children at once: weft_scope_spawn() waits for a place; 0: no limit */
    bool keep_going; /* a child that fails stops no other, and goes to on_unhandled */
} weft_scope_options;
WEFT_SIZED(weft_scope_options)

/* Opens a scope whose children run in `rt`; null: in the caller's runtime. `o` may be null. The
 * fiber or thread that opened it also closes it, scopes and frames in reverse order. The first
 * failure of a child stops the others and the opener, whose calls that park return WEFT_CANCELED
 * until it closes the scope. */
WEFT_API WEFT_CHECK weft_status weft_scope_open(weft_runtime* rt, const weft_scope_options* o, weft_scope** out);
/* Starts a child; `a` may be null. The opener and the children may call it. Parks at `limit`, and
 * where weft_spawn() does. */
WEFT_API WEFT_CHECK weft_status weft_scope_spawn(weft_scope* s, weft_body f, void* arg, const weft_attributes* a);
/* Stops the children, also those still to come, and the opener until it closes the scope. */
WEFT_API void weft_scope_request_stop(weft_scope* s);
/* Waits for all children, whatever happens; the handle is gone. A stop or deadline of the caller is
 * passed on to the children, and the status is then WEFT_CANCELED. WEFT_EFAILED: the first failure.
 * WEFT_OK also after weft_scope_request_stop(). Parks */
WEFT_API weft_status weft_scope_close(weft_scope* s);

/* ---- channels ------------------------------------------------------------------------------- */

/* A channel of elements of `element_bytes` (1 to 65536) each, which are copied. capacity SIZE_MAX:
 * a send never waits; 0: a send waits until a receiver takes its element. `drop` (may be null) is
 * called with each element that is left when the last handle is released. */
WEFT_API WEFT_CHECK weft_status weft_channel_create(size_t element_bytes, size_t capacity,
                                                    void (*drop)(void* user, void* element), void* user, weft_channel** out);
/* Another handle on the same channel: the same pointer, counted once more. */
WEFT_API weft_channel* weft_channel_retain(weft_channel* ch);
WEFT_API void weft_channel_release(weft_channel* ch);
/* WEFT_OK, WEFT_CLOSED, WEFT_TIMEDOUT, WEFT_BUSY or WEFT_CANCELED. Parks unless the timeout is 0 */
WEFT_API WEFT_CHECK weft_status weft_send(weft_channel* ch, const void* element, int64_t timeout_ns);
WEFT_API WEFT_CHECK weft_status weft_receive(weft_channel* ch, void* element, int64_t timeout_ns);
/* Ends the channel: sends fail, and what is stored can still be received. May be called again. */
WEFT_API void weft_close(weft_channel* ch);
WEFT_API bool weft_channel_is_closed(weft_channel* ch);
WEFT_API size_t weft_channel_size(weft_channel* ch); /* of what is stored: a snapshot */
WEFT_API size_t weft_channel_capacity(weft_channel* ch);
WEFT_API size_t weft_channel_element_bytes(weft_channel* ch);

/* ---- select --------------------------------------------------------------------------------- */

enum {
    WEFT_CASE_NONE = 0,   /* never chosen */
    WEFT_CASE_RECEIVE,    /* object: weft_channel; element: where to */
    WEFT_CASE_SEND,       /* object: weft_channel; element: what */
    WEFT_CASE_TIMEOUT,    /* after timeout_ns */
    WEFT_CASE_OTHERWISE,  /* if no other case is ready */
    WEFT_CASE_JOIN,       /* object: weft_fiber, which has ended; weft_join() is still to be called */
    WEFT_CASE_READABLE,   /* object: weft_stream, of which a read would not wait */
    WEFT_CASE_ACCEPTABLE  /* object: weft_listener, of which an accept would not wait */
};
typedef struct weft_case {
    int32_t kind;
    weft_status status; /* out, of the case that was chosen: WEFT_OK, or WEFT_CLOSED for a channel */
    void* object;
    void* element;
    int64_t timeout_ns;
} weft_case;

static inline weft_case weft_on(int32_t kind, void* object, void* element, int64_t timeout_ns) {
    weft_case c;
    c.kind = kind;
    c.status = WEFT_OK;
    c.object = object;
    c.element = element;
    c.timeout_ns = timeout_ns;
    return c;
}
static inline weft_case weft_on_receive(weft_channel* ch, void* element) { return weft_on(WEFT_CASE_RECEIVE, ch, element, 0); }
static inline weft_case weft_on_send(weft_channel* ch, const void* element) {
    return weft_on(WEFT_CASE_SEND, ch, (void*)(uintptr_t)element, 0);
}
static inline weft_case weft_on_timeout(int64_t ns) { return weft_on(WEFT_CASE_TIMEOUT, NULL, NULL, ns); }
static inline weft_case weft_otherwise(void) { return weft_on(WEFT_CASE_OTHERWISE, NULL, NULL, 0); }
static inline weft_case weft_on_join(weft_fiber* f) { return weft_on(WEFT_CASE_JOIN, f, NULL, 0); }
static inline weft_case weft_on_readable(weft_stream* s) { return weft_on(WEFT_CASE_READABLE, s, NULL, 0); }
static inline weft_case weft_on_acceptable(weft_listener* l) { return weft_on(WEFT_CASE_ACCEPTABLE, l, NULL, 0); }

/* Waits until one of `n` cases (1 to 65536) is ready, does it, and sets *chosen to its index. If
 * several are ready, each is as likely. If none can become ready, it waits until the caller is
 * stopped. Parks unless a case is ready or there is an OTHERWISE */
WEFT_API WEFT_CHECK weft_status weft_select(weft_case* cases, size_t n, size_t* chosen);

/* ---- locks and counts: objects that lie in structs of the program ------------------------------ */

/* They do not move, and need no clean-up; no fiber may wait when their memory goes. Zeroed memory
 * is an unlocked mutex, a condition for which no fiber waits, an event that is not set, and a wait
 * group of 0. A semaphore is set up by its _init function. */
typedef struct weft_mutex {
    uint64_t opaque[5];
} weft_mutex;
typedef struct weft_condition {
    uint64_t opaque[5];
} weft_condition;
typedef struct weft_event {
    uint64_t opaque[6];
} weft_event;
typedef struct weft_wait_group {
    uint64_t opaque[6];
} weft_wait_group;
typedef struct weft_semaphore {
    uint64_t opaque[6];
} weft_semaphore;
#define WEFT_ZERO_INIT                                                                                                           \
    {                                                                                                                            \
        { 0 }                                                                                                                    \
    } /* weft_mutex m = WEFT_ZERO_INIT; */

/* Neither a stop nor a deadline interrupts it. A second lock by its owner stops the program, or is
 * WEFT_BUSY with a timeout of 0.
 * WEFT_OK, WEFT_TIMEDOUT, WEFT_BUSY. Parks */
WEFT_API WEFT_CHECK weft_status weft_mutex_lock(weft_mutex* m, int64_t timeout_ns);
/* WEFT_ESTATE: it is not the caller's. */
WEFT_API weft_status weft_mutex_unlock(weft_mutex* m);
/* Unlocks `m`, which is the caller's, waits for a notify, and locks it again, whatever the status.
 * There are no spurious wakes. Parks */
WEFT_API WEFT_CHECK weft_status weft_condition_wait(weft_condition* c, weft_mutex* m, int64_t timeout_ns);
WEFT_API void weft_condition_notify_one(weft_condition* c);
WEFT_API void weft_condition_notify_all(weft_condition* c);
/* 0 or more permits. */
WEFT_API WEFT_CHECK weft_status weft_semaphore_init(weft_semaphore* s, ptrdiff_t permits);
/* Takes a permit. Parks */
WEFT_API WEFT_CHECK weft_status weft_semaphore_acquire(weft_semaphore* s, int64_t timeout_ns);
WEFT_API void weft_semaphore_release(weft_semaphore* s, ptrdiff_t n);
/* A count that begins with n >= 0; below 0 the program stops. */
WEFT_API WEFT_CHECK weft_status weft_wait_group_init(weft_wait_group* g, ptrdiff_t n);
WEFT_API void weft_wait_group_add(weft_wait_group* g, ptrdiff_t n);
WEFT_API void weft_wait_group_done(weft_wait_group* g);
/* Waits until the count is 0. Parks */
WEFT_API WEFT_CHECK weft_status weft_wait_group_wait(weft_wait_group* g, int64_t timeout_ns);
/* automatic: each set ends one wait, and resets the event; otherwise it stays set until reset. */
WEFT_API void weft_event_init(weft_event* e, bool automatic);
WEFT_API void weft_event_set(weft_event* e);
WEFT_API void weft_event_reset(weft_event* e);
/* Parks */
WEFT_API WEFT_CHECK weft_status weft_event_wait(weft_event* e, int64_t timeout_ns);

/* ---- code that blocks, code that calls back ---------------------------------------------------- */

/* Runs f(arg) on a thread of the blocking pool; on a plain thread, in place. `result` may be null. A
 * call that has begun is waited for, and then a stop is reported in place of its result.
 * WEFT_EFAILED as weft_join(). Parks */
WEFT_API WEFT_CHECK weft_status weft_blocking(weft_body f, void* arg, int* result);
/* Runs f(arg) on the calling fiber, which is a thread to the code it calls meanwhile: errno, thread-local
 * variables, keys and the owners of locks follow the fiber, and with the option `hooks` calls that block
 * park. On a plain thread, or inside another such call, f simply runs. `result` may be null.
 * WEFT_EFAILED as weft_join(); WEFT_ESYSTEM if the system refuses a thread. May park */
WEFT_API WEFT_CHECK weft_status weft_as_thread(weft_body f, void* arg, int* result);
/* Calls start(arg, r), which begins some work, and waits until weft_resume_with(r, ...) is called,
 * from anywhere, during start or later. The status is the one given there, and *value (may be null)
 * the value if that is WEFT_OK.
 * WEFT_CANCELED: the fiber was stopped first. If start() was called, on_cancel(arg) was called then,
 * unless it is null, on this fiber under a shield; the work may still call weft_resume_with(), which
 * has no effect. A fiber that is stopped already does not call start(). Parks */
WEFT_API WEFT_CHECK weft_status weft_await_callback(void (*start)(void* arg, weft_resume* r), void (*on_cancel)(void* arg),
                                                    void* arg, void** value);
/* Each weft_resume is used up by one call of one of these two. */
WEFT_API void weft_resume_with(weft_resume* r, weft_status s, void* value);
/* There will be no result: a fiber that still waits gets WEFT_EFAILED. */
WEFT_API void weft_resume_drop(weft_resume* r);
/* Waits until `fd`, which the caller keeps, can be read (or written) without waiting. Not for
 * regular files, which are always ready (WEFT_ESYSTEM, EINVAL). Parks */
enum { WEFT_READ = 1, WEFT_WRITE = 2 };
WEFT_API WEFT_CHECK weft_status weft_wait_fd(int fd, int what, int64_t timeout_ns);

/* ---- coroutines: with a stack of their own, in the thread of their caller; no runtime is needed -- */

/* `first` is the argument of the first call. What the body returns goes to the call that ends. */
typedef void* (*weft_coroutine_body)(weft_coroutine* self, void* first, void* arg);
/* stack_bytes 0: 64 KiB or more. The body does not start before the first call. */
WEFT_API WEFT_CHECK weft_status weft_coroutine_create(weft_coroutine_body f, void* arg, size_t stack_bytes, weft_coroutine** out);
/* Runs it to its next yield or to its end. WEFT_OK: *out is what was yielded. WEFT_DONE: it has
 * ended in this call, and *out is what the body returned, or earlier, and *out is null. `out` may be
 * null. Parks if the body does */
WEFT_API WEFT_CHECK weft_status weft_coroutine_call(weft_coroutine* c, void* in, void** out);
/* Called by the body: goes back to the caller. WEFT_OK: *in (may be null) is the argument of the
 * next call. WEFT_CANCELED: the coroutine is being destroyed, so return. */
WEFT_API WEFT_CHECK weft_status weft_coroutine_yield(weft_coroutine* self, void* out, void** in);
WEFT_API bool weft_coroutine_is_done(const weft_coroutine* c);
/* A body that is suspended goes on, with WEFT_CANCELED, to its end. */
WEFT_API void weft_coroutine_destroy(weft_coroutine* c);

/* ---- TCP ------------------------------------------------------------------------------------ */

typedef struct weft_listen_options {
    size_t size;
    int32_t backlog;  /* 0: 4096 */
    bool reuse_port;  /* share the port with other listeners */
    bool v6_only;     /* an IPv6 listener does not take IPv4 */
    bool delay;       /* accepted streams gather small writes (no TCP_NODELAY) */
} weft_listen_options;
WEFT_SIZED(weft_listen_options)

/* Listens at "host:port", "[ipv6]:port" or ":port"; port 0 picks one. `o` may be null. Parks only
 * to look up a name */
WEFT_API WEFT_CHECK weft_status weft_listen(const char* at, const weft_listen_options* o, weft_listener** out);
WEFT_API uint16_t weft_listener_port(const weft_listener* l);
WEFT_API int weft_listener_fd(const weft_listener* l); /* -1 once closed */
/* Several fibers may accept at once. WEFT_CLOSED: by weft_listener_close(). Parks */
WEFT_API WEFT_CHECK weft_status weft_accept(weft_listener* l, int64_t timeout_ns, weft_stream** out);
WEFT_API void weft_listener_close(weft_listener* l);
WEFT_API void weft_listener_destroy(weft_listener* l); /* closes it, too */
/* A name is looked up, and its addresses are tried one after the other. Under a shield the timeout does
 * not count. Parks */
WEFT_API WEFT_CHECK weft_status weft_connect(const char* to, int64_t timeout_ns, weft_stream** out);

/* One fiber may read from a stream while another writes to it. The counts `got` and `put` may be
 * null; they are set whatever the status is: a call that ends early has moved so many bytes.
 * WEFT_CLOSED: by weft_stream_close().
 * Reads what is there, at least one byte; *got 0 with WEFT_OK: the peer has ended its side. Parks */
WEFT_API WEFT_CHECK weft_status weft_read(weft_stream* s, void* into, size_t n, int64_t timeout_ns, size_t* got);
/* Reads n bytes. If the peer ends its side first, WEFT_ESYSTEM with ECONNABORTED. Parks */
WEFT_API WEFT_CHECK weft_status weft_read_exact(weft_stream* s, void* into, size_t n, int64_t timeout_ns, size_t* got);
/* Writes all n bytes. Never raises SIGPIPE. Parks */
WEFT_API WEFT_CHECK weft_status weft_write(weft_stream* s, const void* from, size_t n, int64_t timeout_ns, size_t* put);
typedef struct weft_piece {
    const void* data;
    size_t size;
} weft_piece;
/* Writes the pieces one after the other; without a timeout with as few system calls as possible. Parks */
WEFT_API WEFT_CHECK weft_status weft_write_pieces(weft_stream* s, const weft_piece* pieces, size_t n, int64_t timeout_ns,
                                                  size_t* put);
/* Ends one direction, WEFT_READ or WEFT_WRITE, or both: after WEFT_WRITE the peer reads the end. */
WEFT_API WEFT_CHECK weft_status weft_stream_shutdown(weft_stream* s, int what);
WEFT_API void weft_stream_close(weft_stream* s); /* wakes its readers and writers */
WEFT_API void weft_stream_abort(weft_stream* s); /* the same by a reset: what is not sent is dropped */
WEFT_API void weft_stream_destroy(weft_stream* s); /* closes it, too */
WEFT_API int weft_stream_fd(const weft_stream* s);  /* -1 once closed */
/* "host:port" of the other end, ended by a zero byte; WEFT_EINVAL if `n` bytes are too few. */
WEFT_API WEFT_CHECK weft_status weft_stream_remote(const weft_stream* s, char* text, size_t n);

/* ---- fiber-local values ---------------------------------------------------------------------- */

/* A key under which each fiber has a value of its own; on a plain thread, each thread. A value
 * begins as null. `destroy` (may be null) is called with each value that is not null, on its fiber,
 * when the body has ended. */
typedef struct weft_local {
    void* opaque;
} weft_local;
WEFT_API WEFT_CHECK weft_status weft_local_create(weft_local* key, void (*destroy)(void* value));
WEFT_API void* weft_local_get(const weft_local* key);
/* The value before is not destroyed: it is the caller's again. */
WEFT_API WEFT_CHECK weft_status weft_local_set(const weft_local* key, void* value);
/* Values that exist live on until their fibers end. */
WEFT_API void weft_local_destroy(weft_local* key);

#ifdef __cplusplus
}
#endif
#endif
