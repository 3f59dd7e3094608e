/* scheduler_test.c - the scheduler of weft/c_scheduler.h: when coroutines begin, how they end, and that all do. */
#include "support/check.h"

#include <weft/c_scheduler.h>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static int adds_one(weft_coro* self, void* sum) {
    (void)self;
    add_to((int*)sum, 1);
    return 0;
}

static const unsigned worker_counts[] = {1, 2, 12, 0};

TEST(all_coroutines_end_before_run_returns) {
    size_t k;
    int when;
    for (k = 0; k < 4; ++k)
        for (when = WEFT_BATCH; when <= WEFT_AS_SPAWNED; ++when) {
            weft_scheduler s;
            int sum = 0;
            int i;
            CHECK_STATUS(weft_scheduler_init(&s, worker_counts[k], when), WEFT_OK);
            for (i = 0; i < 1000; ++i) CHECK_STATUS(weft_scheduler_add(&s, adds_one, &sum), WEFT_OK);
            CHECK_STATUS(weft_scheduler_run(&s), WEFT_OK);
            CHECK_EQ(get_of(&sum), 1000);
            weft_scheduler_destroy(&s);
        }
}

TEST(in_a_batch_none_begins_before_run) {
    weft_scheduler s;
    int sum = 0;
    int i;
    CHECK_STATUS(weft_scheduler_init(&s, 2, WEFT_BATCH), WEFT_OK);
    for (i = 0; i < 1000; ++i) CHECK_STATUS(weft_scheduler_add(&s, adds_one, &sum), WEFT_OK);
    CHECK_STATUS(weft_sleep(5 * MILLISECOND), WEFT_OK); /* time for a mistake; nothing depends on it */
    CHECK_EQ(get_of(&sum), 0);
    CHECK_STATUS(weft_scheduler_run(&s), WEFT_OK);
    CHECK_EQ(get_of(&sum), 1000);
    weft_scheduler_destroy(&s);
}

TEST(as_spawned_one_begins_before_the_last_is_added) {
    weft_scheduler s;
    int sum = 0;
    int added = 0;
    CHECK_STATUS(weft_scheduler_init(&s, 2, WEFT_AS_SPAWNED), WEFT_OK);
    do {
        CHECK_STATUS(weft_scheduler_add(&s, adds_one, &sum), WEFT_OK);
        ++added;
        UNTIL(added < 10 || get_of(&sum) > 0);
    } while (added < 20);
    CHECK_STATUS(weft_scheduler_run(&s), WEFT_OK);
    CHECK_EQ(get_of(&sum), added);
    weft_scheduler_destroy(&s);
}

TEST(a_scheduler_runs_again_and_with_nothing_to_run) {
    weft_scheduler s;
    int sum = 0;
    int round;
    CHECK_STATUS(weft_scheduler_init(&s, 2, WEFT_BATCH), WEFT_OK);
    CHECK_STATUS(weft_scheduler_run(&s), WEFT_OK);
    for (round = 1; round <= 5; ++round) {
        int i;
        for (i = 0; i < 10; ++i) CHECK_STATUS(weft_scheduler_add(&s, adds_one, &sum), WEFT_OK);
        CHECK_EQ(get_of(&sum), (round - 1) * 10);
        CHECK_STATUS(weft_scheduler_run(&s), WEFT_OK);
        CHECK_EQ(get_of(&sum), round * 10);
        CHECK_STATUS(weft_scheduler_run(&s), WEFT_OK);
        CHECK_EQ(get_of(&sum), round * 10);
    }
    weft_scheduler_destroy(&s);
}

struct family {
    weft_scheduler* s;
    int depth;
    int* sum;
};

static int adds_two_more(weft_coro* self, void* arg) {
    struct family* const me = (struct family*)arg;
    const struct family mine = *me;
    int i;
    free(me);
    add_to(mine.sum, 1);
    for (i = 0; i < 2 && mine.depth > 0; ++i) {
        struct family* const child = (struct family*)malloc(sizeof *child);
        CHECK(child != NULL);
        *child = mine;
        --child->depth;
        CHECK_STATUS(weft_scheduler_add(mine.s, adds_two_more, child), WEFT_OK);
        CHECK_STATUS(weft_coro_yield(self, WEFT_MAY_RESUME), WEFT_OK);
    }
    return 0;
}

TEST(coroutines_add_coroutines) {
    int when;
    for (when = WEFT_BATCH; when <= WEFT_AS_SPAWNED; ++when) {
        weft_scheduler s;
        struct family* const first = (struct family*)malloc(sizeof *first);
        int sum = 0;
        CHECK(first != NULL);
        CHECK_STATUS(weft_scheduler_init(&s, 2, when), WEFT_OK);
        first->s = &s;
        first->depth = 9;
        first->sum = &sum;
        CHECK_STATUS(weft_scheduler_add(&s, adds_two_more, first), WEFT_OK);
        CHECK_STATUS(weft_scheduler_run(&s), WEFT_OK);
        CHECK_EQ(get_of(&sum), 1023);
        weft_scheduler_destroy(&s);
    }
}

/* ---- yield ---------------------------------------------------------------------------------------- */

static int finishes_halfway(weft_coro* self, void* count) {
    int i;
    for (i = 0; i < 10; ++i) {
        add_to((int*)count, 1);
        if (i == 4) IGNORE(weft_coro_yield(self, WEFT_FINISHED));
        CHECK_STATUS(weft_coro_yield(self, WEFT_MAY_RESUME), WEFT_OK);
        CHECK(i < 4);
    }
    CHECK(i < 0); /* not reached */
    return 0;
}

TEST(finished_ends_the_coroutine_where_it_is) {
    weft_scheduler s;
    int count = 0;
    int i;
    CHECK_STATUS(weft_scheduler_init(&s, 2, WEFT_BATCH), WEFT_OK);
    for (i = 0; i < 100; ++i) CHECK_STATUS(weft_scheduler_add(&s, finishes_halfway, &count), WEFT_OK);
    CHECK_STATUS(weft_scheduler_run(&s), WEFT_OK);
    CHECK_EQ(get_of(&count), 500);
    weft_scheduler_destroy(&s);
}

static void finishes_further_down(weft_coro* self, int depth, volatile char* frame) {
    volatile char mine[256];
    mine[0] = frame[0];
    if (depth == 0) IGNORE(weft_coro_yield(self, WEFT_FINISHED));
    if (depth > 0) finishes_further_down(self, depth - 1, mine);
    CHECK(mine[0] != 1); /* not reached */
}

static int finishes_in_a_function(weft_coro* self, void* count) {
    volatile char frame[8] = {1, 0, 0, 0, 0, 0, 0, 0};
    add_to((int*)count, 1);
    finishes_further_down(self, 20, frame);
    return 0;
}

TEST(finished_ends_the_coroutine_from_a_function_it_calls) {
    weft_scheduler s;
    int count = 0;
    int i;
    CHECK_STATUS(weft_scheduler_init(&s, 2, WEFT_AS_SPAWNED), WEFT_OK);
    for (i = 0; i < 100; ++i) CHECK_STATUS(weft_scheduler_add(&s, finishes_in_a_function, &count), WEFT_OK);
    CHECK_STATUS(weft_scheduler_run(&s), WEFT_OK);
    CHECK_EQ(get_of(&count), 100);
    weft_scheduler_destroy(&s);
}

struct turns {
    int now;
    int seen_other;
};

static int takes_turns(weft_coro* self, void* arg) {
    struct turns* const t = (struct turns*)arg;
    int i;
    for (i = 0; i < 100; ++i) {
        const int mine = add_to(&t->now, 1);
        CHECK_STATUS(weft_coro_yield(self, WEFT_MAY_RESUME), WEFT_OK);
        if (get_of(&t->now) != mine) set_to(&t->seen_other, 1);
    }
    return 0;
}

TEST(may_resume_lets_others_go_first) {
    weft_scheduler s;
    struct turns t = {0, 0};
    CHECK_STATUS(weft_scheduler_init(&s, 1, WEFT_BATCH), WEFT_OK);
    CHECK_STATUS(weft_scheduler_add(&s, takes_turns, &t), WEFT_OK);
    CHECK_STATUS(weft_scheduler_add(&s, takes_turns, &t), WEFT_OK);
    CHECK_STATUS(weft_scheduler_run(&s), WEFT_OK);
    CHECK_EQ(get_of(&t.now), 200);
    CHECK_EQ(get_of(&t.seen_other), 1);
    weft_scheduler_destroy(&s);
}

static int yields_unknown_values(weft_coro* self, void* unused) {
    (void)unused;
    CHECK_STATUS(weft_coro_yield(self, 2), WEFT_EINVAL);
    CHECK_STATUS(weft_coro_yield(self, -1), WEFT_EINVAL);
    CHECK_STATUS(weft_coro_yield(NULL, WEFT_MAY_RESUME), WEFT_EINVAL);
    CHECK_STATUS(weft_coro_yield(NULL, WEFT_FINISHED), WEFT_EINVAL);
    return 0;
}

TEST(unknown_values_are_refused) {
    weft_scheduler s;
    const int bad[] = {2, -1, 100};
    size_t i;
    for (i = 0; i < 3; ++i) CHECK_STATUS(weft_scheduler_init(&s, 1, bad[i]), WEFT_EINVAL);
    CHECK_STATUS(weft_scheduler_init(&s, 1, WEFT_BATCH), WEFT_OK);
    CHECK_STATUS(weft_scheduler_add(&s, NULL, NULL), WEFT_EINVAL);
    CHECK_STATUS(weft_scheduler_add(&s, yields_unknown_values, NULL), WEFT_OK);
    CHECK_STATUS(weft_scheduler_run(&s), WEFT_OK);
    weft_scheduler_destroy(&s);
    CHECK_STATUS(weft_scheduler_add(&s, adds_one, NULL), WEFT_EINVAL); /* nothing is left of it */
    CHECK_STATUS(weft_scheduler_run(&s), WEFT_EINVAL);
    weft_scheduler_destroy(&s);
    weft_scheduler_destroy(NULL);
    CHECK_STATUS(weft_scheduler_init(NULL, 1, WEFT_BATCH), WEFT_EINVAL);
    CHECK_STATUS(weft_scheduler_add(NULL, adds_one, NULL), WEFT_EINVAL);
    CHECK_STATUS(weft_scheduler_run(NULL), WEFT_EINVAL);
}

static int finishes_under_a_deadline(weft_coro* self, void* unused) {
    weft_deadline d;
    (void)unused;
    weft_deadline_enter(&d, HOURS);
    IGNORE(weft_coro_yield(self, WEFT_FINISHED));
    IGNORE(weft_deadline_leave(&d, WEFT_OK));
    return 0;
}
static int finishes_under_a_shield(weft_coro* self, void* unused) {
    weft_shield f;
    (void)unused;
    weft_shield_enter(&f, WEFT_FOREVER);
    IGNORE(weft_coro_yield(self, WEFT_FINISHED));
    weft_shield_leave(&f);
    return 0;
}
static int finishes_under_a_pin(weft_coro* self, void* unused) {
    weft_pin p;
    (void)unused;
    weft_pin_enter(&p);
    IGNORE(weft_coro_yield(self, WEFT_FINISHED));
    weft_pin_leave(&p);
    return 0;
}

static void run_one(weft_coro_function f) {
    weft_scheduler s;
    CHECK_STATUS(weft_scheduler_init(&s, 1, WEFT_BATCH), WEFT_OK);
    CHECK_STATUS(weft_scheduler_add(&s, f, NULL), WEFT_OK);
    CHECK_STATUS(weft_scheduler_run(&s), WEFT_OK);
    weft_scheduler_destroy(&s);
}
HELPER(helper_finishes_under_a_deadline) { run_one(finishes_under_a_deadline); }
HELPER(helper_finishes_under_a_shield) { run_one(finishes_under_a_shield); }
HELPER(helper_finishes_under_a_pin) { run_one(finishes_under_a_pin); }

TEST(finished_within_a_frame_stops_the_program) {
    check_dies("helper_finishes_under_a_deadline", "WEFT_FINISHED");
    check_dies("helper_finishes_under_a_shield", "WEFT_FINISHED");
    check_dies("helper_finishes_under_a_pin", "WEFT_FINISHED");
}

/* ---- failures ----------------------------------------------------------------------------------------- */

static int fails(weft_coro* self, void* count) {
    (void)self;
    add_to((int*)count, 1);
    return weft_fail("a coroutine failed");
}

static int fails_without_words(weft_coro* self, void* count) {
    (void)self;
    add_to((int*)count, 1);
    return WEFT_EFAILED;
}

static int returns_another_value(weft_coro* self, void* count) {
    (void)self;
    add_to((int*)count, 1);
    return WEFT_ESYSTEM;
}

TEST(a_failure_is_reported_once_and_the_others_go_on) {
    int when;
    for (when = WEFT_BATCH; when <= WEFT_AS_SPAWNED; ++when) {
        weft_scheduler s;
        int count = 0;
        int i;
        CHECK_STATUS(weft_scheduler_init(&s, 2, when), WEFT_OK);
        for (i = 0; i < 100; ++i) {
            CHECK_STATUS(weft_scheduler_add(&s, i % 10 == 3 ? fails : adds_one, &count), WEFT_OK);
        }
        CHECK_STATUS(weft_scheduler_run(&s), WEFT_EFAILED);
        CHECK_CONTAINS(weft_error(), "a coroutine failed");
        CHECK_EQ(get_of(&count), 100);
        CHECK_STATUS(weft_scheduler_run(&s), WEFT_OK);
        CHECK_STATUS(weft_scheduler_add(&s, returns_another_value, &count), WEFT_OK); /* it is ignored */
        CHECK_STATUS(weft_scheduler_run(&s), WEFT_OK);
        CHECK_STATUS(weft_scheduler_add(&s, fails_without_words, &count), WEFT_OK);
        CHECK_STATUS(weft_scheduler_run(&s), WEFT_EFAILED);
        CHECK(strlen(weft_error()) > 0);
        CHECK_EQ(get_of(&count), 102);
        weft_scheduler_destroy(&s);
    }
}

/* ---- destroy --------------------------------------------------------------------------------------------- */

struct waiter {
    int began;
    int stopped;
};

static int waits_to_be_stopped(weft_coro* self, void* arg) {
    struct waiter* const w = (struct waiter*)arg;
    add_to(&w->began, 1);
    CHECK_STATUS(weft_sleep(HOURS), WEFT_CANCELED);
    CHECK_STATUS(weft_coro_yield(self, WEFT_MAY_RESUME), WEFT_CANCELED);
    add_to(&w->stopped, 1);
    return 0;
}

TEST(destroy_stops_those_that_have_begun) {
    weft_scheduler s;
    struct waiter w = {0, 0};
    int i;
    CHECK_STATUS(weft_scheduler_init(&s, 2, WEFT_AS_SPAWNED), WEFT_OK);
    for (i = 0; i < 10; ++i) CHECK_STATUS(weft_scheduler_add(&s, waits_to_be_stopped, &w), WEFT_OK);
    UNTIL(get_of(&w.began) == 10);
    weft_scheduler_destroy(&s);
    CHECK_EQ(get_of(&w.stopped), 10);
}

TEST(destroy_leaves_those_out_that_have_not_begun) {
    weft_scheduler s;
    int sum = 0;
    int i;
    CHECK_STATUS(weft_scheduler_init(&s, 2, WEFT_BATCH), WEFT_OK);
    for (i = 0; i < 10; ++i) CHECK_STATUS(weft_scheduler_add(&s, adds_one, &sum), WEFT_OK);
    weft_scheduler_destroy(&s);
    CHECK_EQ(get_of(&sum), 0);
}

/* ---- beside others ---------------------------------------------------------------------------------------- */

static int sends_one(weft_coro* self, void* ch) {
    const int v = 1;
    (void)self;
    CHECK_STATUS(weft_send((weft_channel*)ch, &v, WEFT_FOREVER), WEFT_OK);
    return 0;
}

static int receives_one(weft_coro* self, void* ch) {
    int v = 0;
    (void)self;
    CHECK_STATUS(weft_receive((weft_channel*)ch, &v, WEFT_FOREVER), WEFT_OK);
    return 0;
}

TEST(coroutines_use_all_of_weft) {
    weft_scheduler s;
    weft_channel* ch = NULL;
    int i;
    CHECK_STATUS(weft_channel_create(sizeof(int), 0, NULL, NULL, &ch), WEFT_OK);
    CHECK_STATUS(weft_scheduler_init(&s, 2, WEFT_BATCH), WEFT_OK);
    for (i = 0; i < 500; ++i) {
        CHECK_STATUS(weft_scheduler_add(&s, sends_one, ch), WEFT_OK);
        CHECK_STATUS(weft_scheduler_add(&s, receives_one, ch), WEFT_OK);
    }
    CHECK_STATUS(weft_scheduler_run(&s), WEFT_OK);
    weft_scheduler_destroy(&s);
    weft_channel_release(ch);
}

FIBER_TEST(a_fiber_of_another_runtime_runs_a_scheduler) {
    weft_scheduler s;
    int sum = 0;
    int i;
    CHECK_STATUS(weft_scheduler_init(&s, 1, WEFT_BATCH), WEFT_OK);
    for (i = 0; i < 100; ++i) CHECK_STATUS(weft_scheduler_add(&s, adds_one, &sum), WEFT_OK);
    CHECK_STATUS(weft_scheduler_run(&s), WEFT_OK);
    CHECK_EQ(get_of(&sum), 100);
    weft_scheduler_destroy(&s);
}

FIBER_TEST(a_run_that_is_interrupted_loses_no_coroutine) {
    enum { MANY = 1000 };
    weft_scheduler s;
    weft_deadline d;
    weft_status r;
    int sum = 0;
    int i;
    CHECK_STATUS(weft_scheduler_init(&s, 1, WEFT_BATCH), WEFT_OK);
    for (i = 0; i < MANY; ++i) CHECK_STATUS(weft_scheduler_add(&s, adds_one, &sum), WEFT_OK);
    weft_deadline_enter(&d, 0);
    r = weft_scheduler_run(&s);
    CHECK_STATUS(r, WEFT_CANCELED);
    CHECK_STATUS(weft_deadline_leave(&d, r), WEFT_TIMEDOUT);
    CHECK_STATUS(weft_scheduler_run(&s), WEFT_OK);
    CHECK_EQ(get_of(&sum), MANY);
    weft_scheduler_destroy(&s);
}

struct adder {
    weft_scheduler* s;
    int* sum;
};

static void* adds_from_a_thread(void* arg) {
    struct adder* const a = (struct adder*)arg;
    int i;
    for (i = 0; i < 500; ++i) CHECK_STATUS(weft_scheduler_add(a->s, adds_one, a->sum), WEFT_OK);
    return NULL;
}

TEST(as_spawned_threads_add_at_the_same_time) {
    weft_scheduler s;
    struct adder a;
    pthread_t t[3];
    int sum = 0;
    int i;
    CHECK_STATUS(weft_scheduler_init(&s, 2, WEFT_AS_SPAWNED), WEFT_OK);
    a.s = &s;
    a.sum = &sum;
    for (i = 0; i < 3; ++i) CHECK(pthread_create(&t[i], NULL, adds_from_a_thread, &a) == 0);
    for (i = 0; i < 3; ++i) CHECK(pthread_join(t[i], NULL) == 0);
    CHECK_STATUS(weft_scheduler_run(&s), WEFT_OK);
    CHECK_EQ(get_of(&sum), 1500);
    weft_scheduler_destroy(&s);
}

static int yields_and_adds_one(weft_coro* self, void* sum) {
    CHECK_STATUS(weft_coro_yield(self, WEFT_MAY_RESUME), WEFT_OK);
    add_to((int*)sum, 1);
    return 0;
}

TEST(a_hundred_thousand_coroutines) {
    const int n = SCALED(100000);
    weft_scheduler s;
    int sum = 0;
    int i;
    CHECK_STATUS(weft_scheduler_init(&s, 0, WEFT_BATCH), WEFT_OK);
    for (i = 0; i < n; ++i) CHECK_STATUS(weft_scheduler_add(&s, yields_and_adds_one, &sum), WEFT_OK);
    CHECK_STATUS(weft_scheduler_run(&s), WEFT_OK);
    CHECK_EQ(get_of(&sum), n);
    weft_scheduler_destroy(&s);
}

static int stays_in_a_deadline(weft_coro* self, void* frame) {
    (void)self;
    weft_deadline_enter((weft_deadline*)frame, HOURS);
    return 0;
}
static int finishes_in_a_scope(weft_coro* self, void* out) {
    CHECK_STATUS(weft_scope_open(NULL, NULL, (weft_scope**)out), WEFT_OK);
    IGNORE(weft_coro_yield(self, WEFT_FINISHED));
    return 0;
}
static void run_one_with(weft_coro_function f, void* arg) {
    weft_scheduler s;
    CHECK_STATUS(weft_scheduler_init(&s, 1, WEFT_BATCH), WEFT_OK);
    CHECK_STATUS(weft_scheduler_add(&s, f, arg), WEFT_OK);
    IGNORE(weft_scheduler_run(&s));
}
HELPER(helper_stays_in_a_deadline) {
    static weft_deadline frame;
    run_one_with(stays_in_a_deadline, &frame);
}
HELPER(helper_finishes_in_a_scope) {
    static weft_scope* scope;
    run_one_with(finishes_in_a_scope, &scope);
}
TEST(a_coroutine_that_ends_within_a_frame_stops_the_program) {
    check_dies("helper_stays_in_a_deadline", "weft: fatal: a body has returned");
    check_dies("helper_finishes_in_a_scope", "WEFT_FINISHED inside a shield, deadline, pin, scope");
}

static void* runs_it(void* s) {
    CHECK_STATUS(weft_scheduler_run((weft_scheduler*)s), WEFT_OK);
    return NULL;
}
TEST(of_two_runs_at_once_one_takes_the_batch) {
    weft_scheduler s;
    int round, i;
    CHECK_STATUS(weft_scheduler_init(&s, 2, WEFT_BATCH), WEFT_OK);
    for (round = 0; round < SCALED(50); ++round) {
        pthread_t other;
        int sum = 0;
        for (i = 0; i < 1000; ++i) CHECK_STATUS(weft_scheduler_add(&s, adds_one, &sum), WEFT_OK);
        CHECK(pthread_create(&other, NULL, runs_it, &s) == 0);
        CHECK_STATUS(weft_scheduler_run(&s), WEFT_OK);
        CHECK(pthread_join(other, NULL) == 0);
        CHECK_EQ(get_of(&sum), 1000);
    }
    weft_scheduler_destroy(&s);
}

struct itself {
    weft_scheduler* s;
    weft_status status;
    uint64_t workers;
};
static int runs_itself(weft_coro* self, void* arg) {
    struct itself* const me = (struct itself*)arg;
    weft_stats stats;
    (void)self;
    me->status = weft_scheduler_run(me->s);
    weft_stats_init(&stats);
    CHECK(weft_scheduler_runtime(me->s) == weft_runtime_current());
    CHECK_STATUS(weft_runtime_stats(weft_scheduler_runtime(me->s), &stats), WEFT_OK);
    me->workers = stats.workers;
    return 0;
}
TEST(a_coroutine_cannot_run_its_own_scheduler) {
    weft_scheduler s;
    struct itself me;
    CHECK_STATUS(weft_scheduler_init(&s, 2, WEFT_BATCH), WEFT_OK);
    me.s = &s;
    CHECK_STATUS(weft_scheduler_add(&s, runs_itself, &me), WEFT_OK);
    CHECK_STATUS(weft_scheduler_run(&s), WEFT_OK);
    CHECK_STATUS(me.status, WEFT_ESTATE);
    CHECK_EQ(me.workers, 2);
    weft_scheduler_destroy(&s);
    CHECK(weft_scheduler_runtime(&s) == NULL);
}

struct late {
    int is_destroyed;
    int begun_late;
};
static int counts_if_late(weft_coro* self, void* arg) {
    struct late* const l = (struct late*)arg;
    (void)self;
    if (get_of(&l->is_destroyed)) add_to(&l->begun_late, 1);
    return 0;
}
TEST(destroy_begins_none) {
    int least = 4000;
    int round, i;
    /* Between the note and the call the thread may lose its CPU, and any number may begin: best of some rounds. */
    for (round = 0; round < 50 && least > 4; ++round) {
        weft_scheduler s;
        struct late l;
        memset(&l, 0, sizeof l);
        CHECK_STATUS(weft_scheduler_init(&s, 1, WEFT_AS_SPAWNED), WEFT_OK);
        for (i = 0; i < 4000; ++i) CHECK_STATUS(weft_scheduler_add(&s, counts_if_late, &l), WEFT_OK);
        set_to(&l.is_destroyed, 1);
        weft_scheduler_destroy(&s);
        if (l.begun_late < least) least = l.begun_late;
    }
    CHECK(least <= 4);
}

TEST(a_forked_child_leaves_the_schedulers_of_its_parent) {
    weft_scheduler batch, at_once;
    int sum = 0;
    int ended = 0;
    pid_t child;
    if (UNDER_TSAN) return; /* which allows no new threads in the child of several threads */
    CHECK_STATUS(weft_scheduler_init(&batch, 1, WEFT_BATCH), WEFT_OK);
    CHECK_STATUS(weft_scheduler_init(&at_once, 1, WEFT_AS_SPAWNED), WEFT_OK);
    CHECK_STATUS(weft_scheduler_add(&batch, adds_one, &sum), WEFT_OK);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK_STATUS(weft_scheduler_run(&batch), WEFT_ESTATE);
        CHECK_STATUS(weft_scheduler_add(&at_once, adds_one, &sum), WEFT_ESTATE);
        CHECK_STATUS(weft_scheduler_run(&at_once), WEFT_ESTATE);
        weft_scheduler_destroy(&batch);
        weft_scheduler_destroy(&at_once);
        _exit(0);
    }
    CHECK(waitpid(child, &ended, 0) == child);
    CHECK_EQ(ended, 0);
    CHECK_STATUS(weft_scheduler_run(&batch), WEFT_OK);
    CHECK_EQ(get_of(&sum), 1);
    weft_scheduler_destroy(&batch);
    weft_scheduler_destroy(&at_once);
}
