/* _gate.h - the gate before the GIL: fibers of Python ask for the GIL in turn, and wait for their turn as fibers.
 *
 * A fiber that finds the gate free takes it and asks for the GIL. Else it joins the line. Who gives the gate up
 * grants it to the first of the line. The watch tells the first to ask for the GIL without a grant, if nothing
 * has moved for a tick: then the owner blocks in C, or computes, or a grant is still on its way.
 *
 *     place      in the line   granted  asks   leaves by
 *     out        no            -        -      gate_enter -> has the gate | waits
 *     waits      yes           no       no     gate_pass, if it is the first -> granted | gate_look, likewise -> asks
 *     asks       yes, first    no       yes    gate_pass -> granted | the GIL comes -> has the gate
 *     granted    no            yes      any    the GIL comes -> has the gate
 *     has it     no            -        -      gate_leave, which passes it on unless another has taken it meanwhile -> out
 *
 * Invariants
 *   GATE-1  Every place in the line gets the GIL at last, if who has the GIL gives it up when it is asked for:
 *           the first one asks after two ticks, whoever has the gate, and is the owner then.
 *   GATE-2  A place is in the line once, from gate_enter until it was granted, or has the GIL without a grant.
 *           Only the first asks, and nothing gets before it. So it takes out itself, and none other.
 *   GATE-3  owner and escalations are written with the GIL only. last, held, granted and asks have the lock, and
 *           so have stores to first and next. No one waits while it has the lock.
 *   GATE-4  A place is never freed, so a wake that comes late finds memory. It may end a later wait of that place,
 *           which looks at granted and asks, and waits again.
 *   GATE-5  The watch does not sleep while a place is in the line: the place is in `first` before it looks at
 *           watch_sleeps, the watch has set watch_sleeps before it looks at `first`, and so one sees the other.
 *
 * Not promised: that only one fiber at a time has the gate. A first that asked is the owner beside one that was granted;
 * both ask for the GIL then, as two threads do. Who is the owner last passes the gate on.
 *
 * tests/model/gate_model.cpp runs this file under every schedule, with other definitions of the words of the next
 * section. The includer defines gate_attach() and gate_detach().
 */
#ifndef WEFT_GATE_H
#define WEFT_GATE_H

#ifndef GATE_IS_MODELLED
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <time.h>

#include <weft/c.h>

#define GATE_ATOMIC(type) type
#define GATE_PLAIN(type) type
#define GATE_RELAXED __ATOMIC_RELAXED
#define GATE_ACQUIRE __ATOMIC_ACQUIRE
#define GATE_RELEASE __ATOMIC_RELEASE
#define GATE_SEQ_CST __ATOMIC_SEQ_CST
#define gate_load(word, order) __atomic_load_n(word, order)
#define gate_store(word, value, order) __atomic_store_n(word, value, order)
#define gate_exchange(word, value, order) __atomic_exchange_n(word, value, order)
#define gate_add(word, value, order) __atomic_fetch_add(word, value, order)

typedef weft_event gate_event; /* automatic */
typedef weft_shield gate_shield;
#define gate_event_set(e) weft_event_set(e)
#define gate_event_wait(e) ((void)!weft_event_wait(e, WEFT_FOREVER))
#define gate_shield_enter(s) weft_shield_enter(s, WEFT_FOREVER)
#define gate_shield_leave(s) weft_shield_leave(s)

typedef struct gate_sleep {
    pthread_mutex_t mutex;
    pthread_cond_t wakes;
} gate_sleep;
#define gate_sleep_init(s) (pthread_mutex_init(&(s)->mutex, NULL), pthread_cond_init(&(s)->wakes, NULL))
#define gate_sleep_lock(s) pthread_mutex_lock(&(s)->mutex)
#define gate_sleep_unlock(s) pthread_mutex_unlock(&(s)->mutex)
#define gate_sleep_wait(s) pthread_cond_wait(&(s)->wakes, &(s)->mutex)
#define gate_sleep_wake(s) pthread_cond_signal(&(s)->wakes)

static inline void gate_spin(int tries) {
    if (tries >= 64) sched_yield(); /* the holder has lost its CPU */
}
#endif

/* Patience is one to two ticks. Chosen: about when the monitor takes the worker away, 0.6 ms. */
#define GATE_TICK_NS 500000
#define GATE_IDLE_TICKS 40 /* the watch sleeps after so many looks at an empty line; chosen: 20 ms */

typedef struct gate_place {
    gate_event wake; /* a grant, or the end of patience */
    GATE_PLAIN(struct gate_place*) next;
    GATE_PLAIN(int) granted;
    GATE_PLAIN(int) asks;
} gate_place;

typedef struct gate_state {
    GATE_ATOMIC(int) lock;
    GATE_PLAIN(int) held;
    GATE_PLAIN(gate_place*) owner; /* whose leave passes the gate on */
    GATE_ATOMIC(gate_place*) first;
    GATE_PLAIN(gate_place*) last;
    GATE_ATOMIC(uint64_t) passes; /* how often the gate was entered */
    GATE_ATOMIC(int) watch_sleeps;
    gate_sleep watch;
    GATE_PLAIN(uint64_t) escalations;
} gate_state;

#ifndef GATE_IS_MODELLED
static gate_state gate;
#endif

static inline void gate_attach(gate_place* me); /* takes the GIL; may block the thread */
static inline void gate_detach(gate_place* me);

/* The acquire pairs with the release of gate_unlock(): what the lock guards is as its last holder has left it.
 * The load is a hint, so that who waits does not write. */
static inline void gate_lock(void) {
    for (int tries = 0; gate_load(&gate.lock, GATE_RELAXED) || gate_exchange(&gate.lock, 1, GATE_ACQUIRE); ++tries) gate_spin(tries);
}
static inline void gate_unlock(void) { gate_store(&gate.lock, 0, GATE_RELEASE); }

/* ---- the line: under the lock ---------------------------------------------------------------- */

static inline void gate_push(gate_place* me) {
    me->granted = 0;
    me->asks = 0;
    me->next = NULL;
    if (gate.last)
        gate.last->next = me;
    else
        gate_store(&gate.first, me, GATE_SEQ_CST); /* GATE-5 */
    gate.last = me;
}

static inline gate_place* gate_pop(void) {
    gate_place* const first = gate_load(&gate.first, GATE_RELAXED); /* the lock orders it (GATE-3) */
    if (!first) return NULL;
    gate_store(&gate.first, first->next, GATE_RELAXED); /* if it is null, the watch may see that late and stay awake */
    if (!first->next) gate.last = NULL;
    first->next = NULL;
    return first;
}

/* ---- the watch ------------------------------------------------------------------------------- */

/* One look: tells the first of the line to ask, if nothing has moved since the last one. \returns whether there is a first */
static int gate_look(uint64_t* seen) {
    gate_lock();
    gate_place* const first = gate_load(&gate.first, GATE_RELAXED); /* the lock orders it (GATE-3) */
    const uint64_t passes = gate_load(&gate.passes, GATE_RELAXED);  /* only compared: a late value is one tick more, or less */
    const int stuck = first && passes == *seen && !first->asks;
    *seen = passes;
    if (stuck) first->asks = 1;
    gate_unlock();
    if (stuck) gate_event_set(&first->wake); /* GATE-4 */
    return first != NULL;
}

static void gate_watch_sleep(void) {
    gate_sleep_lock(&gate.watch);
    gate_store(&gate.watch_sleeps, 1, GATE_SEQ_CST); /* GATE-5: before the look at `first` */
    while (!gate_load(&gate.first, GATE_SEQ_CST) && gate_load(&gate.watch_sleeps, GATE_RELAXED)) gate_sleep_wait(&gate.watch);
    gate_store(&gate.watch_sleeps, 0, GATE_RELAXED); /* a place that sees it late takes the mutex for nothing */
    gate_sleep_unlock(&gate.watch);
}

static void gate_wake_watch(void) {
    gate_sleep_lock(&gate.watch);
    gate_store(&gate.watch_sleeps, 0, GATE_RELAXED); /* the mutex orders it */
    gate_sleep_wake(&gate.watch);
    gate_sleep_unlock(&gate.watch);
}

/* ---- enter, leave ---------------------------------------------------------------------------- */

/* Waits in the line. On return the GIL is the caller's, and the gate. */
static __attribute__((noinline)) void gate_queue(gate_place* me) {
    if (gate_load(&gate.watch_sleeps, GATE_SEQ_CST)) gate_wake_watch(); /* GATE-5: after the store to `first` */
    gate_shield not_now;
    gate_shield_enter(&not_now);
    for (int granted = 0, asks = 0; !granted && !asks;) {
        gate_event_wait(&me->wake); /* maybe for a set that was late (GATE-4) */
        gate_lock();
        granted = me->granted;
        asks = me->asks;
        gate_unlock();
        if (!granted && !asks) continue;
        gate_attach(me);
        if (granted) continue;
        gate.escalations = gate.escalations + 1;
        gate_lock();
        if (!me->granted) gate_pop(); /* itself (GATE-2) */
        gate.held = 1;                /* the owner before it may have given it up since */
        gate_unlock();
    }
    gate_shield_leave(&not_now);
}

/* Takes the GIL. Parks; not interrupted by a stop. \returns whether it had to wait in the line */
static inline int gate_enter(gate_place* me) {
    gate_lock();
    const int waits = gate.held;
    if (waits)
        gate_push(me);
    else
        gate.held = 1;
    gate_unlock();
    if (waits)
        gate_queue(me);
    else
        gate_attach(me);
    gate.owner = me; /* whichever place it was (GATE-1) */
    gate_add(&gate.passes, 1, GATE_RELAXED); /* see gate_look() */
    return waits;
}

/* Gives the gate to the first of the line, or to no one. */
static inline void gate_pass(void) {
    gate_lock();
    gate_place* const first = gate_pop();
    if (first)
        first->granted = 1;
    else
        gate.held = 0;
    gate_unlock();
    if (first) gate_event_set(&first->wake);
}

/* Gives the GIL up, and the gate if it is the caller's. */
static inline void gate_leave(gate_place* me) {
    const int owns = gate.owner == me;
    if (owns) gate.owner = NULL;
    gate_detach(me);
    if (owns) gate_pass();
}

/* ---- the thread of the watch, which is no fiber since the workers may all be busy ------------- */

#ifndef GATE_IS_MODELLED
static void* gate_watch_main(void* unused) {
    uint64_t seen = 0;
    (void)unused;
    for (int empty = 0;;) {
        const struct timespec tick = {0, GATE_TICK_NS};
        clock_nanosleep(CLOCK_MONOTONIC, 0, &tick, NULL);
        empty = gate_look(&seen) ? 0 : empty + 1;
        if (empty < GATE_IDLE_TICKS) continue;
        gate_watch_sleep();
        empty = 0;
    }
    return NULL;
}

/* \returns 0 if the watch runs */
static int gate_start_watch(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, gate_watch_main, NULL) != 0) return -1;
    pthread_detach(thread);
    return 0;
}
#endif

#endif
