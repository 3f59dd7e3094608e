/* frames_test.c - shield, deadline and pin: what holds between enter and leave, nested and in each order. */
#include "support/check.h"

#include <pthread.h>

/* A fiber that can be stopped by another, which learns when it may. */
struct victim {
    int ready;
    int stopped;
};

static void wait_to_be_stopped(struct victim* v) {
    set_to(&v->ready, 1);
    UNTIL(get_of(&v->stopped));
}

static int play(weft_body body) {
    struct victim v = {0, 0};
    weft_fiber* const f = check_spawn(rt, body, &v);
    UNTIL(get_of(&v.ready));
    CHECK(weft_request_stop(f));
    set_to(&v.stopped, 1);
    return check_join(f);
}

/* ---- shield ------------------------------------------------------------------------------------ */

static int is_shielded(void* arg) {
    weft_shield none;
    wait_to_be_stopped((struct victim*)arg);
    weft_shield_enter(&none, WEFT_FOREVER);
    CHECK_STATUS(weft_check_canceled(), WEFT_OK);
    CHECK(weft_stop_requested()); /* shields do not count */
    CHECK_STATUS(weft_sleep(MILLISECOND), WEFT_OK);
    CHECK_STATUS(weft_yield(), WEFT_OK);
    weft_shield_leave(&none);
    CHECK_STATUS(weft_check_canceled(), WEFT_CANCELED);
    CHECK_STATUS(weft_yield(), WEFT_CANCELED);
    return 1;
}

FIBER_TEST(a_shield_keeps_a_stop_away) { CHECK_EQ(play(is_shielded), 1); }

static int is_shielded_twice(void* arg) {
    weft_shield outer;
    weft_shield inner;
    wait_to_be_stopped((struct victim*)arg);
    weft_shield_enter(&outer, WEFT_FOREVER);
    weft_shield_enter(&inner, WEFT_FOREVER);
    CHECK_STATUS(weft_sleep(MICROSECOND), WEFT_OK);
    weft_shield_leave(&inner);
    CHECK_STATUS(weft_sleep(MICROSECOND), WEFT_OK);
    weft_shield_leave(&outer);
    CHECK_STATUS(weft_sleep(MICROSECOND), WEFT_CANCELED);
    return 2;
}

FIBER_TEST(shields_nest) { CHECK_EQ(play(is_shielded_twice), 2); }

static int is_shielded_for_a_time(void* arg) {
    weft_shield none;
    wait_to_be_stopped((struct victim*)arg);
    weft_shield_enter(&none, 5 * MILLISECOND);
    CHECK_STATUS(weft_sleep(HOURS), WEFT_CANCELED);
    CHECK_STATUS(weft_yield(), WEFT_CANCELED);
    weft_shield_leave(&none);
    CHECK_STATUS(weft_yield(), WEFT_CANCELED);
    return 3;
}

FIBER_TEST(the_limit_of_a_shield_ends_it) { CHECK_EQ(play(is_shielded_for_a_time), 3); }

static int is_shielded_for_no_time(void* arg) {
    weft_shield none;
    wait_to_be_stopped((struct victim*)arg);
    weft_shield_enter(&none, 0);
    CHECK_STATUS(weft_sleep(HOURS), WEFT_CANCELED);
    weft_shield_leave(&none);
    weft_shield_enter(&none, -1);
    CHECK_STATUS(weft_sleep(HOURS), WEFT_CANCELED);
    weft_shield_leave(&none);
    return 4;
}

FIBER_TEST(a_shield_of_no_time_protects_from_nothing) { CHECK_EQ(play(is_shielded_for_no_time), 4); }

ANYWHERE_TEST(a_shield_keeps_a_deadline_away) {
    weft_deadline d;
    weft_shield none;
    weft_deadline_enter(&d, 0);
    weft_shield_enter(&none, WEFT_FOREVER);
    CHECK_STATUS(weft_sleep(MICROSECOND), WEFT_OK);
    weft_shield_leave(&none);
    CHECK_STATUS(weft_deadline_leave(&d, WEFT_OK), WEFT_OK);
    CHECK_STATUS(weft_yield(), WEFT_OK);
}

/* ---- deadline ----------------------------------------------------------------------------------- */

FIBER_TEST(a_deadline_interrupts_and_is_converted) {
    weft_deadline d;
    weft_status s;
    weft_deadline_enter(&d, MILLISECOND);
    s = weft_sleep(HOURS);
    CHECK_STATUS(s, WEFT_CANCELED);
    CHECK_STATUS(weft_yield(), WEFT_CANCELED);
    CHECK_STATUS(weft_check_canceled(), WEFT_CANCELED);
    CHECK(!weft_stop_requested());
    CHECK_STATUS(weft_deadline_leave(&d, s), WEFT_TIMEDOUT);
    CHECK_STATUS(weft_yield(), WEFT_OK);
    CHECK_STATUS(weft_check_canceled(), WEFT_OK);
}

FIBER_TEST(a_deadline_that_has_passed_at_its_beginning) {
    weft_deadline d;
    const int64_t passed[] = {0, -1, INT64_MIN};
    size_t i;
    for (i = 0; i < 3; ++i) {
        weft_deadline_enter(&d, passed[i]);
        CHECK_STATUS(weft_yield(), WEFT_CANCELED);
        CHECK_STATUS(weft_deadline_leave(&d, WEFT_CANCELED), WEFT_TIMEDOUT);
    }
}

FIBER_TEST(a_deadline_that_has_not_passed_changes_nothing) {
    const weft_status all[] = {WEFT_OK, WEFT_BUSY, WEFT_CLOSED, WEFT_TIMEDOUT, WEFT_EFAILED, WEFT_CANCELED, 1234};
    const int64_t limits[] = {HOURS, WEFT_FOREVER};
    size_t i;
    size_t k;
    for (i = 0; i < 7; ++i)
        for (k = 0; k < 2; ++k) {
            weft_deadline d;
            weft_deadline_enter(&d, limits[k]);
            CHECK_STATUS(weft_sleep(1), WEFT_OK);
            CHECK_STATUS(weft_deadline_leave(&d, all[i]), all[i]);
        }
}

FIBER_TEST(a_deadline_that_has_passed_converts_nothing_but_a_cancel) {
    const weft_status all[] = {WEFT_OK, WEFT_BUSY, WEFT_CLOSED, WEFT_TIMEDOUT, WEFT_EFAILED};
    size_t i;
    for (i = 0; i < 5; ++i) {
        weft_deadline d;
        weft_deadline_enter(&d, 0);
        CHECK_STATUS(weft_sleep(HOURS), WEFT_CANCELED);
        CHECK_STATUS(weft_deadline_leave(&d, all[i]), all[i]);
    }
}

FIBER_TEST(of_nested_deadlines_the_inner_can_be_the_first) {
    weft_deadline outer;
    weft_deadline inner;
    weft_status s;
    weft_deadline_enter(&outer, HOURS);
    weft_deadline_enter(&inner, MILLISECOND);
    s = weft_sleep(2 * HOURS);
    CHECK_STATUS(s, WEFT_CANCELED);
    s = weft_deadline_leave(&inner, s);
    CHECK_STATUS(s, WEFT_TIMEDOUT);
    CHECK_STATUS(weft_yield(), WEFT_OK); /* the outer one has not passed */
    CHECK_STATUS(weft_deadline_leave(&outer, s), WEFT_TIMEDOUT);
    CHECK_STATUS(weft_yield(), WEFT_OK);
}

FIBER_TEST(of_nested_deadlines_the_outer_can_be_the_first) {
    weft_deadline outer;
    weft_deadline inner;
    weft_status s;
    weft_deadline_enter(&outer, MILLISECOND);
    weft_deadline_enter(&inner, HOURS);
    s = weft_sleep(2 * HOURS);
    CHECK_STATUS(s, WEFT_CANCELED);
    s = weft_deadline_leave(&inner, s);
    CHECK_STATUS(s, WEFT_CANCELED); /* not of the inner one's making */
    CHECK_STATUS(weft_yield(), WEFT_CANCELED);
    CHECK_STATUS(weft_deadline_leave(&outer, s), WEFT_TIMEDOUT);
    CHECK_STATUS(weft_yield(), WEFT_OK);
}

FIBER_TEST(many_deadlines_nest) {
    enum { DEPTH = 50, PASSED = 20 };
    static weft_deadline d[DEPTH];
    weft_status s;
    int i;
    for (i = 0; i < DEPTH; ++i) weft_deadline_enter(&d[i], i == PASSED ? MILLISECOND : HOURS);
    s = weft_sleep(2 * HOURS);
    CHECK_STATUS(s, WEFT_CANCELED);
    for (i = DEPTH - 1; i >= 0; --i) {
        s = weft_deadline_leave(&d[i], s);
        CHECK_STATUS(s, i > PASSED ? WEFT_CANCELED : WEFT_TIMEDOUT);
    }
    CHECK_STATUS(weft_yield(), WEFT_OK);
}

FIBER_TEST(a_deadline_does_not_end_with_its_first_interruption) {
    weft_deadline d;
    int i;
    weft_deadline_enter(&d, 0);
    for (i = 0; i < 10; ++i) CHECK_STATUS(weft_sleep(HOURS), WEFT_CANCELED);
    CHECK_STATUS(weft_deadline_leave(&d, WEFT_CANCELED), WEFT_TIMEDOUT);
}

static int has_a_long_deadline(void* arg) {
    weft_deadline d;
    weft_status s;
    weft_deadline_enter(&d, HOURS);
    wait_to_be_stopped((struct victim*)arg);
    s = weft_sleep(2 * HOURS);
    CHECK_STATUS(s, WEFT_CANCELED);
    CHECK_STATUS(weft_deadline_leave(&d, s), WEFT_CANCELED); /* a stop is none of a deadline's making */
    CHECK_STATUS(weft_yield(), WEFT_CANCELED);
    return 5;
}

FIBER_TEST(a_stop_is_not_converted_by_a_deadline_that_has_not_passed) { CHECK_EQ(play(has_a_long_deadline), 5); }

static int has_a_deadline_that_passed_first(void* arg) {
    weft_deadline d;
    weft_status s;
    weft_deadline_enter(&d, 0);
    s = weft_sleep(HOURS);
    CHECK_STATUS(s, WEFT_CANCELED);
    s = weft_deadline_leave(&d, s);
    CHECK_STATUS(s, WEFT_TIMEDOUT);
    wait_to_be_stopped((struct victim*)arg);
    CHECK_STATUS(weft_yield(), WEFT_CANCELED);
    return 6;
}

FIBER_TEST(a_stop_after_a_deadline_is_a_stop) { CHECK_EQ(play(has_a_deadline_that_passed_first), 6); }

static int has_both_at_once(void* arg) {
    weft_deadline d;
    weft_status s;
    wait_to_be_stopped((struct victim*)arg);
    weft_deadline_enter(&d, 0);
    s = weft_sleep(HOURS);
    CHECK_STATUS(s, WEFT_CANCELED);
    CHECK_STATUS(weft_deadline_leave(&d, s), WEFT_CANCELED); /* the stop comes before a deadline */
    CHECK_STATUS(weft_yield(), WEFT_CANCELED);
    return 7;
}

FIBER_TEST(a_stop_counts_more_than_a_deadline) { CHECK_EQ(play(has_both_at_once), 7); }

FIBER_TEST(a_timeout_of_a_call_within_a_deadline_is_its_own) {
    weft_deadline d;
    weft_event e = WEFT_ZERO_INIT;
    weft_status s;
    weft_deadline_enter(&d, HOURS);
    s = weft_event_wait(&e, MILLISECOND);
    CHECK_STATUS(s, WEFT_TIMEDOUT);
    CHECK_STATUS(weft_event_wait(&e, 0), WEFT_BUSY);
    CHECK_STATUS(weft_deadline_leave(&d, s), WEFT_TIMEDOUT);
    weft_deadline_enter(&d, MILLISECOND);
    s = weft_event_wait(&e, HOURS);
    CHECK_STATUS(s, WEFT_CANCELED); /* a loop that waits again after WEFT_TIMEDOUT would not end */
    CHECK_STATUS(weft_deadline_leave(&d, s), WEFT_TIMEDOUT);
}

static int inherits_nothing(void* unused) {
    (void)unused;
    CHECK_STATUS(weft_check_canceled(), WEFT_OK);
    return 8;
}

FIBER_TEST(a_deadline_is_not_that_of_a_spawned_fiber) {
    weft_deadline d;
    weft_fiber* f;
    weft_deadline_enter(&d, 0);
    f = check_spawn(NULL, inherits_nothing, NULL);
    UNTIL(weft_is_done(f));
    CHECK_STATUS(weft_deadline_leave(&d, WEFT_OK), WEFT_OK);
    CHECK_EQ(check_join(f), 8);
}

/* ---- pin ------------------------------------------------------------------------------------------ */

static int stays_while_pinned(void* unused) {
    weft_pin pin;
    weft_pin inner;
    int i;
    int moved = 0;
    (void)unused;
    for (i = 0; i < 20; ++i) {
        pthread_t mine;
        int k;
        weft_pin_enter(&pin);
        mine = check_thread();
        for (k = 0; k < 10; ++k) {
            CHECK_STATUS(k % 2 == 0 ? weft_yield() : weft_sleep(MICROSECOND), WEFT_OK);
            CHECK(pthread_equal(mine, check_thread()));
            if (k == 5) {
                weft_pin_enter(&inner);
                CHECK_STATUS(weft_yield(), WEFT_OK);
                weft_pin_leave(&inner);
            }
        }
        CHECK_STATUS(weft_yield(), WEFT_OK);
        CHECK(pthread_equal(mine, check_thread()));
        weft_pin_leave(&pin);
        for (k = 0; k < 10; ++k) {
            IGNORE(weft_yield());
            moved += pthread_equal(mine, check_thread()) ? 0 : 1;
        }
    }
    return moved;
}

TEST(a_pin_keeps_the_thread) {
    weft_runtime_options o;
    weft_runtime* r = NULL;
    weft_fiber* f[4];
    int moved = 0;
    int i;
    weft_runtime_options_init(&o);
    o.workers = 2;
    o.torture_migration = true;
    CHECK_STATUS(weft_runtime_create(&o, &r), WEFT_OK);
    for (i = 0; i < 4; ++i) f[i] = check_spawn(r, stays_while_pinned, NULL);
    for (i = 0; i < 4; ++i) moved += check_join(f[i]);
    CHECK(moved > 0); /* without a pin it does move */
    weft_runtime_destroy(r);
}

TEST(frames_on_a_thread) {
    weft_shield s;
    weft_deadline d;
    weft_pin p;
    weft_pin_enter(&p);
    weft_shield_enter(&s, WEFT_FOREVER);
    CHECK_STATUS(weft_yield(), WEFT_OK);
    weft_shield_leave(&s);
    weft_pin_leave(&p);
    weft_deadline_enter(&d, HOURS);
    CHECK_STATUS(weft_sleep(MICROSECOND), WEFT_OK);
    CHECK_STATUS(weft_deadline_leave(&d, WEFT_OK), WEFT_OK);
}

/* ---- frames left out of turn ------------------------------------------------------------------------ */

static int leaves_shields_out_of_turn(void* unused) {
    weft_shield outer;
    weft_shield inner;
    (void)unused;
    weft_shield_enter(&outer, WEFT_FOREVER);
    weft_shield_enter(&inner, WEFT_FOREVER);
    weft_shield_leave(&outer);
    weft_shield_leave(&inner);
    return 0;
}
static int leaves_deadlines_out_of_turn(void* unused) {
    weft_deadline outer;
    weft_deadline inner;
    (void)unused;
    weft_deadline_enter(&outer, HOURS);
    weft_deadline_enter(&inner, HOURS);
    IGNORE(weft_deadline_leave(&outer, WEFT_OK));
    IGNORE(weft_deadline_leave(&inner, WEFT_OK));
    return 0;
}

HELPER(helper_shields_out_of_turn) {
    rt = check_make_runtime(1);
    IGNORE(weft_run(rt, leaves_shields_out_of_turn, NULL, NULL));
}
HELPER(helper_deadlines_out_of_turn) {
    rt = check_make_runtime(1);
    IGNORE(weft_run(rt, leaves_deadlines_out_of_turn, NULL, NULL));
}

static int returns_within_a_shield(void* frame) {
    weft_shield_enter((weft_shield*)frame, WEFT_FOREVER);
    return 0;
}
static int returns_within_a_deadline(void* frame) {
    weft_deadline_enter((weft_deadline*)frame, HOURS);
    return 0;
}

HELPER(helper_returns_within_a_shield) {
    static weft_shield frame;
    rt = check_make_runtime(1);
    IGNORE(weft_run(rt, returns_within_a_shield, &frame, NULL));
}
HELPER(helper_returns_within_a_deadline) {
    static weft_deadline frame;
    rt = check_make_runtime(1);
    IGNORE(weft_run(rt, returns_within_a_deadline, &frame, NULL));
}

TEST(a_body_that_returns_within_a_frame_stops_the_program) {
    check_dies("helper_returns_within_a_shield", "weft: fatal: a body has returned");
    check_dies("helper_returns_within_a_deadline", "weft: fatal: a body has returned");
}

TEST(a_frame_that_is_left_out_of_turn_stops_the_program) {
    check_dies("helper_shields_out_of_turn", "weft: fatal: ");
    check_dies("helper_deadlines_out_of_turn", "weft: fatal: ");
}

static int returns_within_a_pin(void* frame) {
    weft_pin_enter((weft_pin*)frame);
    return 0;
}
static int returns_within_a_scope(void* out) {
    CHECK_STATUS(weft_scope_open(NULL, NULL, (weft_scope**)out), WEFT_OK);
    return 0;
}

HELPER(helper_returns_within_a_pin) {
    static weft_pin frame;
    rt = check_make_runtime(1);
    IGNORE(weft_run(rt, returns_within_a_pin, &frame, NULL));
}
HELPER(helper_returns_within_a_scope) {
    static weft_scope* scope;
    rt = check_make_runtime(1);
    IGNORE(weft_run(rt, returns_within_a_scope, &scope, NULL));
}
HELPER(helper_blocks_within_a_deadline) {
    static weft_deadline frame;
    IGNORE(weft_blocking(returns_within_a_deadline, &frame, NULL));
}

TEST(a_body_that_returns_within_a_pin_or_scope_stops_the_program) {
    check_dies("helper_returns_within_a_pin", "weft: fatal: a body has returned");
    check_dies("helper_returns_within_a_scope", "weft: fatal: a body has returned");
    check_dies("helper_blocks_within_a_deadline", "weft: fatal: a body has returned");
}
