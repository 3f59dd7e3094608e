/* _pystate.h - how a weft fiber carries Python: by a thread state of its own, which its runner takes through the gate.
 *
 * A pystate is what a runner has: a weft fiber that runs Python functions one after the other. It is in one
 * of these states, and only its runner changes it.
 *
 *     state      thread state   gate     listed in        leaves by
 *     idle       detached       no       the free list    pystate_take -> starting
 *     starting   detached       no       the live list    pystate_enter -> running
 *     queued     detached       no       the gate's line  grant -> running | patience ends -> asking (_gate.h)
 *     asking     in take_gil    no       the gate's line  the GIL comes -> running, with the gate
 *     running    attached       mostly   the live list    pystate_leave -> parked | the list is empty -> idle
 *     parked     detached       no       the live list    pystate_enter -> running or queued
 *     lent       attached       no       the live list    the call of weft_blocking() ends -> parked
 *     visiting   as running and parked; it is not a runner's, but that of a fiber of native code, which
 *                calls Python for a while (pystate_visit), leaves by pystate_end_visit -> idle
 *     hung       lost           no       the live list    never: the interpreter has ended
 *
 * Invariants
 *   PYSTATE-1  A fiber that parks has no thread state attached and does not own the gate, and the PyGILState
 *              slot of its thread is empty. So code on that thread that asks PyGILState finds nothing of a
 *              fiber that is not there.
 *   PYSTATE-2  One fiber at a time uses a thread state, wherever that fiber runs. So the frames of the
 *              interpreter, which keep a pointer to it, have the right one after each migration.
 *   PYSTATE-3  Every fiber that asks for the GIL gets it at last, if who has it gives it up when it is asked
 *              for: a fiber takes it through the gate only (GATE-1), a lent thread state and a thread as
 *              threads do.
 *   PYSTATE-4  The live list, the list of fibers that have not begun, and all counts are written with the GIL
 *              only. The free list has the gate's lock, which no one holds while it waits or has to get the GIL.
 *   PYSTATE-5  A pystate is never freed (GATE-4). Its thread state lives until the runtime ends; then all that
 *              are idle are deleted.
 *   PYSTATE-6  A stop of a weft fiber cannot be taken back, so a runner whose body was stopped takes no other
 *              body.
 *   PYSTATE-7  No C++ exception and no forced unwinding passes the first frame of a runner: a thread that
 *              CPython ends there, because the interpreter has ended, hangs in place of that (as CPython 3.14
 *              does itself).
 *   PYSTATE-8  The thread states of pystates, and no others, have an id of PYSTATE_FIRST_ID or more, and the
 *              address of their pystate for thread_id. So the attached one says which pystate runs.
 */
#ifndef WEFT_PYSTATE_H
#define WEFT_PYSTATE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <weft/c.h>

#include "_gate.h"

/* Which internals of CPython this file knows: 3.11 to 3.13 with a GIL. */
#if defined(Py_GIL_DISABLED)
#define PYSTATE_REFUSES "this build of Python has no GIL"
#elif PY_VERSION_HEX < 0x030B0000 || PY_VERSION_HEX >= 0x030E0000
#define PYSTATE_REFUSES "they are known to work on CPython 3.11 to 3.13 only"
#else
#define PYSTATE_REFUSES NULL
#define PYSTATE_WORKS 1
#endif
#if defined(PYSTATE_WORKS) && PY_VERSION_HEX >= 0x030C0000
#define PYSTATE_HAS_STATUS 1 /* thread states know whether a slot points to them */
#endif

/* 3.11 counts all calls alike, up to 1,000, so the deepest stack is 4 MiB of calls by C. Later versions count
 * those by themselves. */
#define PYSTATE_C_CALL_BYTES 4096
#define PYSTATE_STACK_BYTES (PY_VERSION_HEX < 0x030C0000 ? 4194304 : 1048576)

typedef struct pystate {
    gate_place place;       /* the first member */
    PyThreadState* ts;
    weft_fiber* handle;     /* of the runner; its own to detach */
    struct pystate* next;   /* in the free list */
    struct pystate* before; /* in the live list */
    struct pystate* after;
    void* body;             /* the Fiber that runs, borrowed from the runner's frame */
    void* frames;           /* the innermost timeout or scope, with a reference */
    int64_t deadline;       /* the earliest of all timeouts; INT64_MAX: none */
    uint64_t serial;        /* a number for each body: the owner of an RLock */
    int away;               /* parked, so no exception can be thrown into it */
    int stops;              /* how many stops it has got that hold: of its fiber, and of its open scopes */
    int lent;               /* its thread state is on a thread of the blocking pool */
    int of_fiber;           /* and not of a thread of Python, which has only frames and a deadline here */
    uint64_t visitor;       /* the number of the fiber of native code that visits Python; 0: a runner's */
    void* host;             /* the server whose handlers it runs; null: none */
} pystate;

typedef struct pystate_counts {
    uint64_t pystates, made, live, runners, queued;
} pystate_counts;

static struct {
    PyInterpreterState* interpreter;
    pthread_key_t slot;
    int ended; /* fibers were left behind at exit: a fiber that asks for the GIL now hangs */
    void (*run)(pystate* me);
    pystate* live;
    weft_event none_left;
    uint64_t bodies; /* that have begun */
    pystate_counts counts;
    pystate* idle; /* the free list */
    int watch_runs;
} pystate_all;

/* ---- thread states --------------------------------------------------------------------------- */

/* CPython counts thread states from 0 on. */
#define PYSTATE_FIRST_ID ((uint64_t)1 << 62)

/* Of the calling fiber; null on a thread and in a fiber of native code. With the GIL. */
static inline pystate* pystate_current(void) {
#ifdef PYSTATE_WORKS
    const PyThreadState* const ts = PyThreadState_Get();
    if (ts->id >= PYSTATE_FIRST_ID) return (pystate*)(uintptr_t)ts->thread_id; /* PYSTATE-8 */
#endif
    return NULL;
}

/* asyncio and contextvars keep a pointer to what they have found in a thread state, under the id of that; so
 * an id is used once. */
static inline void pystate_number(PyThreadState* ts) {
    static uint64_t next = PYSTATE_FIRST_ID;
    ts->id = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
}

/* The slot of PyGILState has no public name: it is the key whose value on this thread is what
 * PyGILState says. \returns 0 if it was found */
static int pystate_find_slot(void) {
    void* const mine = PyGILState_GetThisThreadState();
    for (pthread_key_t key = 0; mine && key < 1024; ++key)
        if (pthread_getspecific(key) == mine) {
            pystate_all.slot = key;
            return 0;
        }
    return -1;
}

static __attribute__((noinline)) void pystate_set_slot(PyThreadState* ts) { pthread_setspecific(pystate_all.slot, ts); }

static __attribute__((noreturn)) void pystate_hang(void) {
    for (;;) pause();
}

static inline void pystate_unbind(PyThreadState* ts) {
#ifdef PYSTATE_HAS_STATUS
    ts->_status.bound_gilstate = 0;
#else
    (void)ts;
#endif
}

static inline void pystate_attach(PyThreadState* ts) {
    if (__atomic_load_n(&pystate_all.ended, __ATOMIC_ACQUIRE)) pystate_hang(); /* ts may be freed memory */
    pystate_unbind(ts); /* so that 3.12 and 3.13 bind it to the slot of this thread */
    PyEval_RestoreThread(ts);
#ifndef PYSTATE_HAS_STATUS
    pystate_set_slot(ts);
#endif
}

static inline void pystate_detach(PyThreadState* ts) {
    pystate_unbind(ts); /* while it is ours for sure */
    pystate_set_slot(NULL);
    PyEval_SaveThread();
}

/* ---- through the gate ------------------------------------------------------------------------ */

static inline void gate_attach(gate_place* me) { pystate_attach(((pystate*)me)->ts); }
static inline void gate_detach(gate_place* me) { pystate_detach(((pystate*)me)->ts); }

/* Attaches the caller's thread state. Parks; not interrupted by a stop. */
static inline void pystate_enter(pystate* me) {
    if (gate_enter(&me->place)) ++pystate_all.counts.queued;
    me->away = 0;
}

/* Detaches the caller's thread state (PYSTATE-1). */
static inline void pystate_leave(pystate* me) {
    me->away = 1;
    gate_leave(&me->place);
}

/* ---- runners --------------------------------------------------------------------------------- */

static pystate* pystate_pop_idle(void) {
    gate_lock();
    pystate* const me = pystate_all.idle;
    if (me) pystate_all.idle = me->next;
    gate_unlock();
    return me;
}

static void pystate_give(pystate* me) {
    gate_lock();
    me->next = pystate_all.idle;
    pystate_all.idle = me;
    gate_unlock();
}

/* Gives it a thread state, if it has none. \returns -1 if there is no memory. */
static int pystate_complete(pystate* me, size_t stack_bytes) {
    if (me->ts) return 0;
    me->ts = PyThreadState_New(pystate_all.interpreter);
    if (!me->ts) return -1;
#ifdef PYSTATE_WORKS
    pystate_unbind(me->ts);
    if (PyGILState_GetThisThreadState() == me->ts) pystate_set_slot(NULL); /* PYSTATE-1: it has taken an empty one */
    pystate_number(me->ts);
    /* Not that of the thread that makes it: sys._current_frames() has one entry for each number. */
    me->ts->thread_id = (unsigned long)(uintptr_t)me;
#if PY_VERSION_HEX >= 0x030C0000
    /* CPython's limit is for stacks of 8 MiB. A call of Python by C takes up to 4 KiB: the test
     * recursion_to_the_limit goes to the end of a stack by sorted() with a key. */
    if ((size_t)me->ts->c_recursion_remaining > stack_bytes / PYSTATE_C_CALL_BYTES)
        me->ts->c_recursion_remaining = (int)(stack_bytes / PYSTATE_C_CALL_BYTES);
#else
    (void)stack_bytes;
#endif
#endif
    __atomic_fetch_add(&pystate_all.counts.made, 1, __ATOMIC_RELAXED);
    return 0;
}

/* A pystate whose thread state is ready; null: no memory. */
static pystate* pystate_get(size_t stack_bytes) {
    pystate* me = pystate_pop_idle();
    if (!me) {
        me = (pystate*)calloc(1, sizeof *me);
        if (!me) return NULL;
        weft_event_init(&me->place.wake, true);
        me->of_fiber = 1;
        __atomic_fetch_add(&pystate_all.counts.pystates, 1, __ATOMIC_RELAXED);
    }
    if (pystate_complete(me, stack_bytes) != 0) {
        pystate_give(me);
        return NULL;
    }
    return me;
}

/* Enters it in the live list. With the GIL. */
static void pystate_list(pystate* me) {
    me->next = NULL;
    me->handle = NULL;
    me->body = me->frames = NULL;
    me->deadline = INT64_MAX;
    me->lent = me->stops = 0;
    me->visitor = 0;
    me->host = NULL;
    me->before = NULL;
    me->after = pystate_all.live;
    if (me->after) me->after->before = me;
    pystate_all.live = me;
    ++pystate_all.counts.live;
}

/* A pystate for a runner; null: no memory. With the GIL. */
static pystate* pystate_take(size_t stack_bytes) {
    pystate* const me = pystate_get(stack_bytes);
    if (!me) return NULL;
    pystate_list(me);
    me->away = 1;
    return me;
}

/* With the GIL. */
static void pystate_unlist(pystate* me) {
    if (me->before)
        me->before->after = me->after;
    else
        pystate_all.live = me->after;
    if (me->after) me->after->before = me->before;
    if (--pystate_all.counts.live == 0) weft_event_set(&pystate_all.none_left);
}

#ifdef PYSTATE_WORKS
static inline int pystate_is_clean(const PyThreadState* ts) {
#if PY_VERSION_HEX >= 0x030D0000
    if (ts->threading_local_key || ts->threading_local_sentinel) return 0;
#endif
    return !(ts->dict && PyDict_GET_SIZE(ts->dict)) && !ts->c_tracefunc && !ts->c_profilefunc && !ts->async_gen_firstiter &&
           !ts->async_gen_finalizer && !ts->async_exc;
}
#endif

/* Nothing of a body is left for the next one: threading.local, tracing, hooks. With the GIL. The code of
 * Python that runs at the end of such a value may leave others; if it does so again and again, they stay. */
static inline void pystate_clean(pystate* me) {
#ifdef PYSTATE_WORKS
    PyThreadState* const ts = me->ts;
    for (int rounds = 0; rounds < 100 && !pystate_is_clean(ts); ++rounds) {
#if PY_VERSION_HEX >= 0x030D0000
        Py_CLEAR(ts->threading_local_key); /* the values of threading.local end with these two */
        Py_CLEAR(ts->threading_local_sentinel);
#endif
        if (ts->dict && PyDict_GET_SIZE(ts->dict)) {
            PyDict_Clear(ts->dict);
            pystate_number(ts);
        }
        if (ts->c_tracefunc) PyEval_SetTrace(NULL, NULL);
        if (ts->c_profilefunc) PyEval_SetProfile(NULL, NULL);
        Py_CLEAR(ts->async_gen_firstiter);
        Py_CLEAR(ts->async_gen_finalizer);
        Py_CLEAR(ts->async_exc); /* of pystate_throw(), if it came too late */
    }
#else
    (void)me;
#endif
}

/* The same for the calling thread, before its interpreter ends: the modules that such values need are still there. */
static void pystate_clean_thread(void) {
    pystate mine;
    memset(&mine, 0, sizeof mine);
    mine.ts = PyThreadState_Get();
    pystate_clean(&mine);
}

/* PYSTATE-7: runs if the thread is ended by pthread_exit() while the body is in Python. */
static void pystate_left_frame(pystate** in_python) {
    if (*in_python) pystate_hang();
}

static int pystate_runner(void* arg) {
    pystate* const me = (pystate*)arg;
    pystate* in_python __attribute__((cleanup(pystate_left_frame))) = me;
    pystate_enter(me);
    pystate_all.run(me);
    pystate_unlist(me);
    weft_detach(me->handle);
    pystate_leave(me);
    in_python = NULL;
    pystate_give(me);
    return 0;
}

/* ---- visits of fibers of native code --------------------------------------------------------- */

/* Attaches the thread state of a visit. Parks */
static void pystate_enter_visit(pystate* me) {
    pystate* in_python __attribute__((cleanup(pystate_left_frame))) = me; /* PYSTATE-7 */
    pystate_enter(me);
    in_python = NULL;
}

/* Makes the calling fiber, which has no thread state, one that runs Python; it has the GIL then. Null:
 * no memory. The code that calls Python then sees to PYSTATE-7. Parks */
static pystate* pystate_visit(size_t stack_bytes) {
    pystate* const me = pystate_get(stack_bytes);
    if (!me) return NULL;
    pystate_enter_visit(me);
    pystate_list(me);
    me->away = 0;
    me->visitor = weft_self_id();
    me->serial = ++pystate_all.bodies;
    return me;
}

/* Ends that. With the GIL, and without it afterwards. */
static void pystate_end_visit(pystate* me) {
    pystate* in_python __attribute__((cleanup(pystate_left_frame))) = me; /* PYSTATE-7: what is cleaned may call Python */
    pystate_clean(me);
    in_python = NULL;
    me->body = NULL;
    pystate_unlist(me);
    pystate_leave(me);
    pystate_give(me);
}

/* Starts a runner. With the GIL. */
static weft_status pystate_start(weft_runtime* rt, size_t stack_bytes) {
    pystate* const me = pystate_take(stack_bytes);
    if (!me) return WEFT_ENOMEM;
    weft_attributes a;
    weft_attributes_init(&a);
    a.name = "python";
    const weft_status s = weft_spawn(rt, pystate_runner, me, &a, &me->handle);
    if (s != WEFT_OK) {
        pystate_unlist(me);
        pystate_give(me);
        return s;
    }
    ++pystate_all.counts.runners;
    return WEFT_OK;
}

/* Deletes the thread states that no runner has; when no fiber runs. With the GIL. */
static void pystate_delete_idle(void) {
    gate_lock();
    pystate* list = pystate_all.idle;
    pystate_all.idle = NULL;
    gate_unlock();
    while (list) { /* Clear runs code of Python, which may start a runner: it finds a list without this one. */
        pystate* const me = list;
        list = me->next;
        PyThreadState* const ts = me->ts;
        me->ts = NULL;
        if (ts) {
            PyThreadState_Clear(ts);
            PyThreadState_Delete(ts);
            __atomic_fetch_sub(&pystate_all.counts.made, 1, __ATOMIC_RELAXED);
        }
        pystate_give(me);
    }
}

/* Raises `type` in all runners that run Python code now, or in the visitors of that host. With the GIL. \returns how many */
static int pystate_throw(PyObject* type, void* host) {
    int n = 0;
    for (pystate* p = pystate_all.live; p; p = p->after)
        if (!p->away && (host ? p->host == host : p->body != NULL)) n += PyThreadState_SetAsyncExc(p->ts->thread_id, type);
    return n;
}

/* \returns whether this was the first stop. With the GIL. */
static int pystate_stop(pystate* p) {
    if (!weft_request_stop(p->handle)) return 0;
    ++p->stops;
    return 1;
}

static void pystate_stop_all(void) {
    for (pystate* p = pystate_all.live; p; p = p->after) pystate_stop(p);
}

/* ---- waits ----------------------------------------------------------------------------------- */

enum { PYSTATE_SEND, PYSTATE_RECEIVE, PYSTATE_EVENT, PYSTATE_ACQUIRE, PYSTATE_SELECT, PYSTATE_SLEEP, PYSTATE_YIELD };

/* The cases of a select, and one more for the time that it may take. */
typedef struct pystate_cases {
    weft_case* all;
    size_t n; /* without that one */
    size_t chosen;
} pystate_cases;

static weft_status pystate_select(pystate_cases* c, int64_t ns) {
    c->all[c->n] = ns <= 0 ? weft_otherwise() : weft_on(ns == WEFT_FOREVER ? WEFT_CASE_NONE : WEFT_CASE_TIMEOUT, NULL, NULL, ns);
    const weft_status s = weft_select(c->all, c->n + 1, &c->chosen);
    if (s != WEFT_OK || c->chosen < c->n) return s;
    return ns <= 0 ? WEFT_BUSY : WEFT_TIMEDOUT;
}

static inline weft_status pystate_call(int what, void* object, void* element, int64_t ns) {
    switch (what) {
        case PYSTATE_SEND: return weft_send((weft_channel*)object, element, ns);
        case PYSTATE_RECEIVE: return weft_receive((weft_channel*)object, element, ns);
        case PYSTATE_EVENT: return weft_event_wait((weft_event*)object, ns);
        case PYSTATE_ACQUIRE: return weft_semaphore_acquire((weft_semaphore*)object, ns);
        case PYSTATE_SELECT: return pystate_select((pystate_cases*)object, ns);
        case PYSTATE_YIELD: return weft_yield();
        default: {
            const weft_status s = weft_sleep(ns);
            return s == WEFT_OK ? WEFT_TIMEDOUT : s;
        }
    }
}

/* The call on a fiber, which parks without the GIL. */
static inline weft_status pystate_park(pystate* me, int what, void* object, void* element, int64_t ns) {
    pystate_leave(me);
    const weft_status s = pystate_call(what, object, element, ns);
    pystate_enter(me);
    return s;
}

/* The same under a shield: for waits that a stop must not end. */
static weft_status pystate_park_shielded(pystate* me, int what, void* object, void* element, int64_t ns) {
    weft_shield not_now;
    pystate_leave(me);
    weft_shield_enter(&not_now, WEFT_FOREVER);
    const weft_status s = pystate_call(what, object, element, ns);
    weft_shield_leave(&not_now);
    pystate_enter(me);
    return s;
}

/* The call on a thread of Python, which blocks without the GIL. */
static weft_status pystate_block(int what, void* object, void* element, int64_t ns) {
    PyThreadState* const ts = PyEval_SaveThread();
    const weft_status s = pystate_call(what, object, element, ns);
    PyEval_RestoreThread(ts);
    return s;
}

static inline int64_t pystate_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- weft.blocking: the fiber's thread state on a thread of the pool ------------------------- */

typedef struct pystate_loan {
    pystate* me;
    void (*call)(void* what);
    void* what;
} pystate_loan;

static int pystate_on_pool(void* arg) {
    const pystate_loan* const loan = (const pystate_loan*)arg;
    pystate* const me = loan->me;
    pystate* in_python __attribute__((cleanup(pystate_left_frame))) = me;
    pystate_attach(me->ts);
    me->lent = 1;
    me->away = 0;
    loan->call(loan->what);
    me->away = 1;
    me->lent = 0;
    pystate_detach(me->ts);
    in_python = NULL;
    return 0;
}

static weft_status pystate_blocking(pystate* me, void (*call)(void* what), void* what) {
    pystate_loan loan = {me, call, what};
    pystate_leave(me);
    const weft_status s = weft_blocking(pystate_on_pool, &loan, NULL);
    pystate_enter(me);
    return s;
}

/* ---- once ------------------------------------------------------------------------------------ */

static int pystate_init(void (*run)(pystate* me)) {
    pystate_all.interpreter = PyInterpreterState_Get();
    pystate_all.run = run;
    gate_sleep_init(&gate.watch);
    weft_event_init(&pystate_all.none_left, false);
    return pystate_find_slot();
}

/* \returns 0 if the watch runs. With the GIL. */
static int pystate_start_watch(void) {
    if (pystate_all.watch_runs) return 0;
    if (gate_start_watch() != 0) return -1;
    pystate_all.watch_runs = 1;
    return 0;
}

/* In a forked child, which has neither the watch nor the carriers, and in which CPython has made the slot
 * anew. The fibers of the parent never run here, but for the one that has called fork(): for weft it is a
 * plain thread now. With the GIL. */
static void pystate_after_fork(void) {
    pystate* me = pystate_all.live;
    while (me && me->ts != PyThreadState_Get()) me = me->after;
    gate.lock = 0;
    gate.first = gate.last = NULL;
    gate.owner = me ? &me->place : NULL;
    gate.held = me != NULL;
    gate.watch_sleeps = 0;
    gate_sleep_init(&gate.watch);
    pystate_all.watch_runs = 0;
    (void)pystate_find_slot();
}

#endif
