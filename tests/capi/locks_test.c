/* locks_test.c - mutex, condition, semaphore, wait group and event: between fibers, threads, and both. */
#include "support/check.h"

#include <pthread.h>

enum { PARTIES = 4, ROUNDS = 2000 };

/* ---- mutex ------------------------------------------------------------------------------------- */

struct counted {
    weft_mutex m;
    long n; /* under m */
    bool inside;
};

static int counts(void* arg) {
    struct counted* const c = (struct counted*)arg;
    int i;
    for (i = 0; i < SCALED(ROUNDS); ++i) {
        const weft_status s = i % 3 == 2 ? weft_mutex_lock(&c->m, HOURS) : weft_mutex_lock(&c->m, WEFT_FOREVER);
        CHECK_STATUS(s, WEFT_OK);
        CHECK(!c->inside);
        c->inside = true;
        ++c->n;
        if (i % 16 == 0) IGNORE(weft_yield());
        c->inside = false;
        CHECK_STATUS(weft_mutex_unlock(&c->m), WEFT_OK);
    }
    return 0;
}

static void* counts_on_a_thread(void* arg) {
    CHECK_EQ(counts(arg), 0);
    return NULL;
}

TEST(fibers_and_threads_exclude_each_other) {
    weft_runtime* const r = check_make_runtime(2);
    struct counted c;
    weft_fiber* f[PARTIES];
    pthread_t t[PARTIES];
    int i;
    memset(&c, 0, sizeof c); /* zeroed memory is an unlocked mutex */
    for (i = 0; i < PARTIES; ++i) f[i] = check_spawn(r, counts, &c);
    for (i = 0; i < PARTIES; ++i) CHECK(pthread_create(&t[i], NULL, counts_on_a_thread, &c) == 0);
    for (i = 0; i < PARTIES; ++i) CHECK_EQ(check_join(f[i]), 0);
    for (i = 0; i < PARTIES; ++i) CHECK(pthread_join(t[i], NULL) == 0);
    CHECK_EQ(c.n, 2L * PARTIES * SCALED(ROUNDS));
    weft_runtime_destroy(r);
}

static int tries_the_mutex(void* mutex) {
    weft_mutex* const m = (weft_mutex*)mutex;
    CHECK_STATUS(weft_mutex_lock(m, 0), WEFT_BUSY);
    CHECK_STATUS(weft_mutex_lock(m, -1), WEFT_BUSY);
    CHECK_STATUS(weft_mutex_lock(m, MILLISECOND), WEFT_TIMEDOUT);
    CHECK_STATUS(weft_mutex_unlock(m), WEFT_ESTATE);
    CHECK(strlen(weft_error()) > 0);
    return 0;
}

ANYWHERE_TEST(a_mutex_is_its_owners) {
    weft_mutex m = WEFT_ZERO_INIT;
    int i;
    CHECK_STATUS(weft_mutex_unlock(&m), WEFT_ESTATE);
    for (i = 0; i < 3; ++i) {
        CHECK_STATUS(weft_mutex_lock(&m, i == 0 ? 0 : i == 1 ? MILLISECOND : WEFT_FOREVER), WEFT_OK);
        CHECK_EQ(check_join(check_spawn(rt, tries_the_mutex, &m)), 0);
        CHECK_STATUS(weft_mutex_unlock(&m), WEFT_OK);
        CHECK_STATUS(weft_mutex_unlock(&m), WEFT_ESTATE);
    }
}

HELPER(helper_locks_twice) {
    weft_mutex m = WEFT_ZERO_INIT;
    CHECK_STATUS(weft_mutex_lock(&m, WEFT_FOREVER), WEFT_OK);
    IGNORE(weft_mutex_lock(&m, WEFT_FOREVER));
}

TEST(a_second_lock_by_the_owner_stops_the_program) { check_dies("helper_locks_twice", "weft: fatal: "); }

/* ---- condition ----------------------------------------------------------------------------------- */

struct box {
    weft_mutex m;
    weft_condition changed;
    int full; /* under m, as are those below */
    int waiting;
    long sum;
    int n;
};

static int takes(void* arg) {
    struct box* const b = (struct box*)arg;
    for (;;) {
        int v;
        CHECK_STATUS(weft_mutex_lock(&b->m, WEFT_FOREVER), WEFT_OK);
        while (b->full == 0) CHECK_STATUS(weft_condition_wait(&b->changed, &b->m, WEFT_FOREVER), WEFT_OK);
        v = b->full;
        if (v > 0) {
            b->sum += v;
            ++b->n;
            b->full = 0;
        }
        weft_condition_notify_all(&b->changed);
        CHECK_STATUS(weft_mutex_unlock(&b->m), WEFT_OK);
        if (v < 0) return 0;
    }
}

static void* takes_on_a_thread(void* arg) {
    CHECK_EQ(takes(arg), 0);
    return NULL;
}

ANYWHERE_TEST(a_condition_hands_over_between_fibers_and_threads) {
    struct box b;
    weft_fiber* f[2];
    pthread_t t;
    int i;
    memset(&b, 0, sizeof b);
    f[0] = check_spawn(rt, takes, &b);
    f[1] = check_spawn(rt, takes, &b);
    CHECK(pthread_create(&t, NULL, takes_on_a_thread, &b) == 0);
    for (i = 1; i <= 300; ++i) {
        CHECK_STATUS(weft_mutex_lock(&b.m, WEFT_FOREVER), WEFT_OK);
        while (b.full != 0) CHECK_STATUS(weft_condition_wait(&b.changed, &b.m, HOURS), WEFT_OK);
        b.full = i == 300 ? -1 : i;
        weft_condition_notify_all(&b.changed);
        CHECK_STATUS(weft_mutex_unlock(&b.m), WEFT_OK);
    }
    CHECK_EQ(check_join(f[0]), 0);
    CHECK_EQ(check_join(f[1]), 0);
    CHECK(pthread_join(t, NULL) == 0);
    CHECK_EQ(b.n, 299);
    CHECK_EQ(b.sum, 299L * 300 / 2);
}

ANYWHERE_TEST(a_condition_wait_ends_by_its_timeout_with_the_mutex_locked) {
    weft_mutex m = WEFT_ZERO_INIT;
    weft_condition c = WEFT_ZERO_INIT;
    CHECK_STATUS(weft_condition_wait(&c, &m, MILLISECOND), WEFT_ESTATE); /* it is not the caller's */
    CHECK_STATUS(weft_mutex_lock(&m, WEFT_FOREVER), WEFT_OK);
    CHECK_STATUS(weft_condition_wait(&c, &m, MILLISECOND), WEFT_TIMEDOUT);
    CHECK_STATUS(weft_condition_wait(&c, &m, 0), WEFT_BUSY);
    CHECK_STATUS(weft_mutex_unlock(&m), WEFT_OK);
    weft_condition_notify_one(&c); /* for nobody: it is not kept */
    weft_condition_notify_all(&c);
    CHECK_STATUS(weft_mutex_lock(&m, WEFT_FOREVER), WEFT_OK);
    CHECK_STATUS(weft_condition_wait(&c, &m, MILLISECOND), WEFT_TIMEDOUT);
    CHECK_STATUS(weft_mutex_unlock(&m), WEFT_OK);
}

static int waits_once(void* arg) {
    struct box* const b = (struct box*)arg;
    CHECK_STATUS(weft_mutex_lock(&b->m, WEFT_FOREVER), WEFT_OK);
    ++b->waiting;
    CHECK_STATUS(weft_condition_wait(&b->changed, &b->m, WEFT_FOREVER), WEFT_OK);
    ++b->n;
    CHECK_STATUS(weft_mutex_unlock(&b->m), WEFT_OK);
    return 0;
}

static int under_the_mutex(struct box* b, const int* what) {
    int n;
    CHECK_STATUS(weft_mutex_lock(&b->m, WEFT_FOREVER), WEFT_OK);
    n = *what;
    CHECK_STATUS(weft_mutex_unlock(&b->m), WEFT_OK);
    return n;
}

ANYWHERE_TEST(notify_one_wakes_one) {
    struct box b;
    weft_fiber* f[3];
    int i;
    memset(&b, 0, sizeof b);
    for (i = 0; i < 3; ++i) f[i] = check_spawn(rt, waits_once, &b);
    UNTIL(under_the_mutex(&b, &b.waiting) == 3);
    for (i = 1; i <= 3; ++i) {
        weft_condition_notify_one(&b.changed);
        UNTIL(under_the_mutex(&b, &b.n) >= i);
        CHECK_EQ(under_the_mutex(&b, &b.n), i);
    }
    for (i = 0; i < 3; ++i) CHECK_EQ(check_join(f[i]), 0);
}

/* ---- semaphore ------------------------------------------------------------------------------------ */

struct gate {
    weft_semaphore s;
    int inside;
    int most;
};

static int passes(void* arg) {
    struct gate* const g = (struct gate*)arg;
    int i;
    for (i = 0; i < 100; ++i) {
        int n;
        CHECK_STATUS(weft_semaphore_acquire(&g->s, i % 2 == 0 ? WEFT_FOREVER : HOURS), WEFT_OK);
        n = add_to(&g->inside, 1);
        if (n > get_of(&g->most)) set_to(&g->most, n);
        IGNORE(weft_yield());
        add_to(&g->inside, -1);
        weft_semaphore_release(&g->s, 1);
    }
    return 0;
}

static void* passes_on_a_thread(void* arg) {
    CHECK_EQ(passes(arg), 0);
    return NULL;
}

ANYWHERE_TEST(a_semaphore_lets_so_many_in) {
    struct gate g;
    weft_fiber* f[8];
    pthread_t t;
    int i;
    memset(&g, 0, sizeof g);
    CHECK_STATUS(weft_semaphore_init(&g.s, 3), WEFT_OK);
    for (i = 0; i < 8; ++i) f[i] = check_spawn(rt, passes, &g);
    CHECK(pthread_create(&t, NULL, passes_on_a_thread, &g) == 0);
    for (i = 0; i < 8; ++i) CHECK_EQ(check_join(f[i]), 0);
    CHECK(pthread_join(t, NULL) == 0);
    CHECK(g.most <= 3);
    for (i = 0; i < 3; ++i) CHECK_STATUS(weft_semaphore_acquire(&g.s, 0), WEFT_OK);
    CHECK_STATUS(weft_semaphore_acquire(&g.s, 0), WEFT_BUSY);
    CHECK_STATUS(weft_semaphore_acquire(&g.s, MILLISECOND), WEFT_TIMEDOUT);
    weft_semaphore_release(&g.s, 2);
    CHECK_STATUS(weft_semaphore_acquire(&g.s, MILLISECOND), WEFT_OK);
    CHECK_STATUS(weft_semaphore_acquire(&g.s, WEFT_FOREVER), WEFT_OK);
    CHECK_STATUS(weft_semaphore_acquire(&g.s, 0), WEFT_BUSY);
}

static int acquires(void* s) { return weft_semaphore_acquire((weft_semaphore*)s, WEFT_FOREVER); }

ANYWHERE_TEST(a_release_of_several_wakes_several) {
    weft_semaphore s;
    weft_fiber* f[5];
    int i;
    CHECK_STATUS(weft_semaphore_init(&s, 0), WEFT_OK);
    for (i = 0; i < 5; ++i) f[i] = check_spawn(rt, acquires, &s);
    for (i = 0; i < 5; ++i) UNTIL(check_waits(weft_fiber_id(f[i]), NULL));
    weft_semaphore_release(&s, 5);
    for (i = 0; i < 5; ++i) CHECK_EQ(check_join(f[i]), WEFT_OK);
    CHECK_STATUS(weft_semaphore_acquire(&s, 0), WEFT_BUSY);
    CHECK_STATUS(weft_semaphore_init(&s, -1), WEFT_EINVAL);
}

/* ---- wait group ------------------------------------------------------------------------------------ */

static int is_done(void* group) {
    weft_wait_group_done((weft_wait_group*)group);
    return 0;
}

static int waits_for_the_group(void* group) { return weft_wait_group_wait((weft_wait_group*)group, WEFT_FOREVER); }

ANYWHERE_TEST(a_wait_group_waits_until_all_are_done) {
    weft_wait_group g = WEFT_ZERO_INIT;
    weft_wait_group made;
    weft_fiber* waits;
    weft_fiber* f[10];
    int i;
    CHECK_STATUS(weft_wait_group_wait(&g, 0), WEFT_OK); /* zeroed memory: a count of 0 */
    CHECK_STATUS(weft_wait_group_wait(&g, WEFT_FOREVER), WEFT_OK);
    weft_wait_group_add(&g, 11);
    CHECK_STATUS(weft_wait_group_wait(&g, 0), WEFT_BUSY);
    CHECK_STATUS(weft_wait_group_wait(&g, MILLISECOND), WEFT_TIMEDOUT);
    waits = check_spawn(rt, waits_for_the_group, &g);
    for (i = 0; i < 10; ++i) f[i] = check_spawn(rt, is_done, &g);
    for (i = 0; i < 10; ++i) CHECK_EQ(check_join(f[i]), 0);
    CHECK_STATUS(weft_wait_group_wait(&g, 0), WEFT_BUSY);
    CHECK(!weft_is_done(waits));
    weft_wait_group_done(&g);
    CHECK_STATUS(weft_wait_group_wait(&g, WEFT_FOREVER), WEFT_OK);
    CHECK_EQ(check_join(waits), WEFT_OK);
    CHECK_STATUS(weft_wait_group_init(&made, 2), WEFT_OK);
    weft_wait_group_add(&made, -1);
    CHECK_STATUS(weft_wait_group_wait(&made, 0), WEFT_BUSY);
    weft_wait_group_done(&made);
    CHECK_STATUS(weft_wait_group_wait(&made, 0), WEFT_OK);
    CHECK_STATUS(weft_wait_group_init(&made, -1), WEFT_EINVAL);
}

HELPER(helper_group_below_zero) {
    weft_wait_group g = WEFT_ZERO_INIT;
    weft_wait_group_done(&g);
}

TEST(a_wait_group_below_zero_stops_the_program) { check_dies("helper_group_below_zero", "weft: fatal: "); }

/* ---- event ------------------------------------------------------------------------------------------- */

static int waits_for_the_event(void* event) { return weft_event_wait((weft_event*)event, WEFT_FOREVER); }

static int how_many_are_done(weft_fiber** f, int n) {
    int done = 0;
    int i;
    for (i = 0; i < n; ++i) done += weft_is_done(f[i]) ? 1 : 0;
    return done;
}

ANYWHERE_TEST(an_event_stays_set_until_it_is_reset) {
    weft_event zeroed = WEFT_ZERO_INIT;
    weft_event made;
    weft_event* both[2];
    int k;
    weft_event_init(&made, false);
    both[0] = &zeroed;
    both[1] = &made;
    for (k = 0; k < 2; ++k) {
        weft_event* const e = both[k];
        weft_fiber* f[3];
        int i;
        CHECK_STATUS(weft_event_wait(e, 0), WEFT_BUSY);
        CHECK_STATUS(weft_event_wait(e, MILLISECOND), WEFT_TIMEDOUT);
        for (i = 0; i < 3; ++i) f[i] = check_spawn(rt, waits_for_the_event, e);
        for (i = 0; i < 3; ++i) UNTIL(check_waits(weft_fiber_id(f[i]), NULL));
        weft_event_set(e);
        weft_event_set(e);
        for (i = 0; i < 3; ++i) CHECK_EQ(check_join(f[i]), WEFT_OK);
        for (i = 0; i < 3; ++i) CHECK_STATUS(weft_event_wait(e, i == 0 ? 0 : WEFT_FOREVER), WEFT_OK);
        weft_event_reset(e);
        weft_event_reset(e);
        CHECK_STATUS(weft_event_wait(e, 0), WEFT_BUSY);
    }
}

ANYWHERE_TEST(each_set_of_an_automatic_event_ends_one_wait) {
    weft_event e;
    weft_fiber* f[3];
    int i;
    weft_event_init(&e, true);
    CHECK_STATUS(weft_event_wait(&e, 0), WEFT_BUSY);
    weft_event_set(&e);
    CHECK_STATUS(weft_event_wait(&e, 0), WEFT_OK);
    CHECK_STATUS(weft_event_wait(&e, 0), WEFT_BUSY);
    weft_event_set(&e);
    weft_event_set(&e); /* it was set */
    CHECK_STATUS(weft_event_wait(&e, WEFT_FOREVER), WEFT_OK);
    CHECK_STATUS(weft_event_wait(&e, MILLISECOND), WEFT_TIMEDOUT);
    weft_event_set(&e);
    weft_event_reset(&e);
    CHECK_STATUS(weft_event_wait(&e, 0), WEFT_BUSY);
    for (i = 0; i < 3; ++i) f[i] = check_spawn(rt, waits_for_the_event, &e);
    for (i = 0; i < 3; ++i) UNTIL(check_waits(weft_fiber_id(f[i]), NULL));
    for (i = 1; i <= 3; ++i) {
        weft_event_set(&e);
        UNTIL(how_many_are_done(f, 3) >= i);
        CHECK_EQ(how_many_are_done(f, 3), i);
    }
    for (i = 0; i < 3; ++i) CHECK_EQ(check_join(f[i]), WEFT_OK);
}
