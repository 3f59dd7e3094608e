/* fiber_test.c - fibers: spawn, join, detach, stop, attributes, limits, and how bodies fail. */
#include "support/check.h"

#include <pthread.h>
#include <unistd.h>

static int returns(void* number) { return *(int*)number; }

static int waits_for_an_event(void* event) {
    const weft_status s = weft_event_wait((weft_event*)event, WEFT_FOREVER);
    return s == WEFT_CANCELED ? 1 : (int)s;
}

static int raises(void* flag) {
    set_to((int*)flag, 1);
    return 0;
}

ANYWHERE_TEST(join_gives_what_the_body_returned) {
    const int values[] = {0, 1, -1, 7, 19, INT32_MAX, INT32_MIN}; /* 19: WEFT_ESYSTEM is only a value here */
    size_t i;
    for (i = 0; i < sizeof values / sizeof *values; ++i) {
        int v = values[i];
        CHECK_EQ(check_join(check_spawn(rt, returns, &v)), values[i]);
    }
}

ANYWHERE_TEST(the_result_of_join_may_be_ignored) {
    int v = 3;
    CHECK_STATUS(weft_join(check_spawn(rt, returns, &v), WEFT_FOREVER, NULL), WEFT_OK);
}

FIBER_TEST(spawn_without_a_runtime_takes_that_of_the_caller) {
    int v = 4;
    CHECK_EQ(check_join(check_spawn(NULL, returns, &v)), 4);
}

TEST(spawn_without_a_runtime_on_a_thread_is_refused) {
    weft_fiber* f = NULL;
    int v = 5;
    CHECK_STATUS(weft_spawn(NULL, returns, &v, NULL, &f), WEFT_ENOFIBER);
    CHECK(f == NULL);
    CHECK(strlen(weft_error()) > 0);
}

ANYWHERE_TEST(a_detached_fiber_runs) {
    int flag = 0;
    CHECK_STATUS(weft_spawn(rt, raises, &flag, NULL, NULL), WEFT_OK);
    UNTIL(get_of(&flag));
}

ANYWHERE_TEST(a_handle_can_be_detached) {
    int flag = 0;
    weft_detach(check_spawn(rt, raises, &flag));
    UNTIL(get_of(&flag));
}

ANYWHERE_TEST(a_handle_that_was_not_joined_in_time_is_good) {
    weft_event e = WEFT_ZERO_INIT;
    weft_fiber* const f = check_spawn(rt, waits_for_an_event, &e);
    int result = 99;
    int i;
    UNTIL(check_waits(weft_fiber_id(f), NULL));
    for (i = 0; i < 3; ++i) {
        CHECK_STATUS(weft_join(f, 0, &result), WEFT_BUSY);
        CHECK_STATUS(weft_join(f, -1, &result), WEFT_BUSY);
        CHECK_STATUS(weft_join(f, MILLISECOND, &result), WEFT_TIMEDOUT);
    }
    CHECK_EQ(result, 99);
    CHECK(!weft_is_done(f));
    weft_event_set(&e);
    CHECK_EQ(check_join(f), 0);
}

ANYWHERE_TEST(a_join_of_a_fiber_that_has_ended_does_not_wait) {
    int v = 6;
    int result = 0;
    weft_fiber* const f = check_spawn(rt, returns, &v);
    UNTIL(weft_is_done(f));
    CHECK_STATUS(weft_join(f, 0, &result), WEFT_OK);
    CHECK_EQ(result, 6);
}

ANYWHERE_TEST(run_is_spawn_and_join) {
    int v = 8;
    int result = 0;
    CHECK_STATUS(weft_run(rt, returns, &v, &result), WEFT_OK);
    CHECK_EQ(result, 8);
    CHECK_STATUS(weft_run(rt, returns, &v, NULL), WEFT_OK);
}

/* ---- failures --------------------------------------------------------------------------------- */

static int fails_with_words(void* words) { return weft_fail((const char*)words); }

static int fails_without_words(void* unused) {
    (void)unused;
    return WEFT_EFAILED;
}

static int returns_a_failure_after_waiting(void* words) {
    int i;
    const weft_status s = weft_fail((const char*)words);
    for (i = 0; i < 5; ++i) IGNORE(weft_yield());
    return s;
}

ANYWHERE_TEST(join_reports_a_failure_and_its_words) {
    char words[] = "no such account";
    int result = 99;
    CHECK_STATUS(weft_join(check_spawn(rt, fails_with_words, words), WEFT_FOREVER, &result), WEFT_EFAILED);
    CHECK_EQ(result, 99);
    CHECK_CONTAINS(weft_error(), "no such account");
    CHECK_EQ(weft_error_errno(), 0);
    CHECK_STATUS(weft_join(check_spawn(rt, returns_a_failure_after_waiting, words), WEFT_FOREVER, NULL), WEFT_EFAILED);
    CHECK_CONTAINS(weft_error(), "no such account");
    CHECK_STATUS(weft_run(rt, fails_with_words, words, &result), WEFT_EFAILED);
    CHECK_CONTAINS(weft_error(), "no such account");
    CHECK_EQ(result, 99);
}

ANYWHERE_TEST(a_failure_without_words_has_some) {
    CHECK_EQ(weft_fail("of the joiner"), WEFT_EFAILED);
    CHECK_STATUS(weft_join(check_spawn(rt, fails_without_words, NULL), WEFT_FOREVER, NULL), WEFT_EFAILED);
    CHECK(strcmp(weft_error(), "of the joiner") != 0);
}

static int joins_and_passes_on(void* words) {
    int result = 0;
    const weft_status s = weft_join(check_spawn(NULL, fails_with_words, words), WEFT_FOREVER, &result);
    return s == WEFT_OK ? result : (int)s;
}

ANYWHERE_TEST(words_are_passed_on_through_two_joins) {
    char words[] = "at the bottom";
    CHECK_STATUS(weft_run(rt, joins_and_passes_on, words, NULL), WEFT_EFAILED);
    CHECK_CONTAINS(weft_error(), "at the bottom");
}

/* ---- stop --------------------------------------------------------------------------------------- */

static int is_stopped_again_and_again(void* began) {
    int i;
    CHECK_STATUS(weft_check_canceled(), WEFT_OK);
    CHECK(!weft_stop_requested());
    set_to((int*)began, 1);
    CHECK_STATUS(weft_sleep(HOURS), WEFT_CANCELED);
    for (i = 0; i < 3; ++i) {
        CHECK_STATUS(weft_sleep(HOURS), WEFT_CANCELED);
        CHECK_STATUS(weft_yield(), WEFT_CANCELED);
        CHECK_STATUS(weft_check_canceled(), WEFT_CANCELED);
        CHECK(weft_stop_requested());
    }
    return 42;
}

ANYWHERE_TEST(a_stop_interrupts_again_and_again_and_the_body_returns) {
    int began = 0;
    weft_fiber* const f = check_spawn(rt, is_stopped_again_and_again, &began);
    UNTIL(get_of(&began));
    CHECK(weft_request_stop(f));
    CHECK(!weft_request_stop(f));
    CHECK_EQ(check_join(f), 42);
}

static int expects_to_be_stopped(void* ran) {
    set_to((int*)ran, 1);
    CHECK_STATUS(weft_yield(), WEFT_CANCELED);
    return 43;
}

static int makes_and_stops(void* unused) {
    int ran = 0;
    weft_fiber* const f = check_spawn(NULL, expects_to_be_stopped, &ran);
    (void)unused;
    CHECK_EQ(get_of(&ran), 0); /* the only worker is the caller's */
    CHECK(weft_request_stop(f));
    CHECK_EQ(check_join(f), 43);
    CHECK_EQ(get_of(&ran), 1);
    return 0;
}

TEST(a_fiber_that_is_stopped_before_it_begins_learns_of_it_at_its_first_wait) {
    weft_runtime_options o;
    weft_runtime* r = NULL;
    weft_runtime_options_init(&o);
    o.workers = 1;
    o.time_slice_ns = -1; /* nothing takes the worker away */
    CHECK_STATUS(weft_runtime_create(&o, &r), WEFT_OK);
    CHECK_STATUS(weft_run(r, makes_and_stops, NULL, NULL), WEFT_OK);
    weft_runtime_destroy(r);
}

FIBER_TEST(a_stop_of_the_joiner_leaves_the_handle_good) {
    weft_event e = WEFT_ZERO_INIT;
    weft_fiber* const f = check_spawn(rt, waits_for_an_event, &e);
    weft_deadline d;
    weft_status s;
    UNTIL(check_waits(weft_fiber_id(f), NULL)); /* so that the joiner does not run it in place */
    weft_deadline_enter(&d, 0);
    s = weft_join(f, WEFT_FOREVER, NULL);
    CHECK_STATUS(s, WEFT_CANCELED);
    CHECK_STATUS(weft_deadline_leave(&d, s), WEFT_TIMEDOUT);
    CHECK(!weft_is_done(f));
    weft_event_set(&e);
    CHECK_EQ(check_join(f), 0);
}

TEST(a_thread_is_never_stopped) {
    CHECK(!weft_stop_requested());
    CHECK_STATUS(weft_check_canceled(), WEFT_OK);
    CHECK_STATUS(weft_yield(), WEFT_OK);
    CHECK_STATUS(weft_sleep(0), WEFT_OK);
    CHECK_STATUS(weft_sleep(-1), WEFT_OK);
    CHECK_STATUS(weft_sleep(1), WEFT_OK);
}

/* ---- identity ------------------------------------------------------------------------------------ */

static int reports_its_id(void* id) {
    *(uint64_t*)id = weft_self_id();
    return 0;
}

ANYWHERE_TEST(a_fiber_has_a_number_of_its_own) {
    uint64_t seen[20];
    int i;
    int k;
    for (i = 0; i < 20; ++i) {
        weft_fiber* const f = check_spawn(rt, reports_its_id, &seen[i]);
        const uint64_t id = weft_fiber_id(f);
        CHECK_EQ(check_join(f), 0);
        CHECK(id != 0);
        CHECK(id == seen[i]);
        for (k = 0; k < i; ++k) CHECK(seen[k] != seen[i]);
    }
    CHECK_EQ(weft_fiber_id(NULL), 0);
}

TEST(a_thread_has_no_number_and_no_stack_of_a_fiber) {
    void* low = &low;
    void* high = &high;
    CHECK_EQ(weft_self_id(), 0);
    CHECK_EQ(weft_stack_remaining(), 0);
    weft_stack_bounds(&low, &high);
    CHECK(low == NULL);
    CHECK(high == NULL);
    weft_set_name("no effect");
}

static int looks_at_its_stack(void* bytes) {
    void* low = NULL;
    void* high = NULL;
    const char* const here = (const char*)&low;
    const size_t asked = *(size_t*)bytes;
    size_t all;
    weft_stack_bounds(&low, &high);
    CHECK(low != NULL);
    all = (size_t)((char*)high - (char*)low);
    CHECK(all >= asked / 2);
    if (!UNDER_ASAN) { /* which may keep variables elsewhere */
        CHECK(here > (const char*)low);
        CHECK(here < (const char*)high);
    }
    CHECK(weft_stack_remaining() > 0);
    CHECK(weft_stack_remaining() < all);
    return 0;
}

ANYWHERE_TEST(a_fiber_knows_its_stack) {
    const size_t sizes[] = {16 * 1024, 64 * 1024, 1024 * 1024, 64 * 1024 * 1024};
    size_t i;
    for (i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        weft_attributes a;
        weft_fiber* f = NULL;
        size_t bytes = sizes[i];
        weft_attributes_init(&a);
        a.stack_bytes = bytes;
        CHECK_STATUS(weft_spawn(rt, looks_at_its_stack, &bytes, &a, &f), WEFT_OK);
        CHECK_EQ(check_join(f), 0);
    }
}

static int uses(void* bytes) {
    volatile char on_the_stack[200 * 1024];
    size_t i;
    for (i = 0; i < sizeof on_the_stack; i += 1024) on_the_stack[i] = 1;
    on_the_stack[sizeof on_the_stack - 1] = 2;
    return on_the_stack[sizeof on_the_stack - 1] + (bytes != NULL ? 1 : 0);
}

ANYWHERE_TEST(a_large_stack_can_be_used) {
    weft_attributes a;
    weft_fiber* f = NULL;
    weft_attributes_init(&a);
    a.stack_bytes = 1024 * 1024;
    CHECK_STATUS(weft_spawn(rt, uses, NULL, &a, &f), WEFT_OK);
    CHECK_EQ(check_join(f), 2);
}

/* ---- attributes ------------------------------------------------------------------------------------ */

ANYWHERE_TEST(attributes_out_of_range_are_refused) {
    weft_attributes a;
    weft_fiber* f = NULL;
    int v = 1;
    const size_t stacks[] = {1, 16 * 1024 - 1, (size_t)1024 * 1024 * 1024 + 1, SIZE_MAX};
    const int32_t kinds[] = {-1, 4, 1000, INT32_MIN};
    size_t i;
    for (i = 0; i < 4; ++i) {
        weft_attributes_init(&a);
        a.stack_bytes = stacks[i];
        CHECK_STATUS(weft_spawn(rt, returns, &v, &a, &f), WEFT_EINVAL);
        weft_attributes_init(&a);
        a.migrate = kinds[i];
        CHECK_STATUS(weft_spawn(rt, returns, &v, &a, &f), WEFT_EINVAL);
        weft_attributes_init(&a);
        a.priority = kinds[i];
        CHECK_STATUS(weft_spawn(rt, returns, &v, &a, &f), WEFT_EINVAL);
    }
    CHECK(f == NULL);
}

ANYWHERE_TEST(attributes_of_another_size) {
    struct {
        weft_attributes known;
        uint64_t later;
    } newer;
    weft_fiber* f = NULL;
    int v = 2;
    memset(&newer, 0, sizeof newer);
    newer.known.size = 0;
    CHECK_STATUS(weft_spawn(rt, returns, &v, &newer.known, &f), WEFT_EINVAL);
    newer.known.size = 8;
    CHECK_STATUS(weft_spawn(rt, returns, &v, &newer.known, &f), WEFT_EINVAL);
    newer.known.size = sizeof newer;
    CHECK_STATUS(weft_spawn(rt, returns, &v, &newer.known, &f), WEFT_OK);
    CHECK_EQ(check_join(f), 2);
    f = NULL;
    newer.later = 1; /* what this library does not know is not ignored */
    CHECK_STATUS(weft_spawn(rt, returns, &v, &newer.known, &f), WEFT_EINVAL);
    CHECK(f == NULL);
}

static int threads_of(void* unused) {
    const pthread_t mine = check_thread();
    int i;
    (void)unused;
    for (i = 0; i < 200; ++i) {
        IGNORE(weft_yield());
        if (!pthread_equal(mine, check_thread())) return 1;
    }
    return 0;
}

TEST(migrate_says_which_threads_run_a_fiber) {
    weft_runtime_options o;
    weft_runtime* r = NULL;
    int32_t kind;
    weft_runtime_options_init(&o);
    o.workers = 2;
    o.torture_migration = true;
    CHECK_STATUS(weft_runtime_create(&o, &r), WEFT_OK);
    for (kind = WEFT_MIGRATE_ALWAYS; kind <= WEFT_MIGRATE_OWN_CARRIER; ++kind) {
        weft_attributes a;
        weft_fiber* f = NULL;
        int moved;
        weft_attributes_init(&a);
        a.migrate = kind;
        CHECK_STATUS(weft_spawn(r, threads_of, NULL, &a, &f), WEFT_OK);
        moved = check_join(f);
        if (kind != WEFT_MIGRATE_ALWAYS) CHECK_EQ(moved, 0);
        if (kind == WEFT_MIGRATE_ALWAYS) CHECK_EQ(moved, 1);
    }
    weft_runtime_destroy(r);
}

enum { LINE = 3 };
struct places {
    int next;
    int order[LINE];
};
struct runner {
    struct places* places;
    int number;
};

static int takes_a_place(void* arg) {
    struct runner* const me = (struct runner*)arg;
    me->places->order[me->places->next++] = me->number;
    return 0;
}

static int spawns_by_priority(void* unused) {
    const int32_t priorities[LINE] = {WEFT_PRIORITY_LOW, WEFT_PRIORITY_NORMAL, WEFT_PRIORITY_HIGH};
    struct places places = {0, {0, 0, 0}};
    struct runner runners[LINE];
    weft_fiber* f[LINE];
    int i;
    (void)unused;
    for (i = 0; i < LINE; ++i) {
        weft_attributes a;
        weft_attributes_init(&a);
        a.priority = priorities[i];
        runners[i].places = &places;
        runners[i].number = i;
        CHECK_STATUS(weft_spawn(NULL, takes_a_place, &runners[i], &a, &f[i]), WEFT_OK);
    }
    UNTIL(weft_is_done(f[0]) && weft_is_done(f[1]) && weft_is_done(f[2]));
    for (i = 0; i < LINE; ++i) CHECK_EQ(check_join(f[i]), 0);
    CHECK_EQ(places.order[0], 2); /* the high one before both others */
    return 0;
}

TEST(a_fiber_of_high_priority_goes_first) {
    weft_runtime* const r = check_make_runtime(1);
    CHECK_STATUS(weft_run(r, spawns_by_priority, NULL, NULL), WEFT_OK);
    weft_runtime_destroy(r);
}

static int spawns_at_once(void* ignored) {
    weft_attributes a;
    weft_fiber* f = NULL;
    int flag = 0;
    weft_attributes_init(&a);
    a.run_now = true;
    CHECK_STATUS(weft_spawn(NULL, raises, &flag, &a, &f), WEFT_OK);
    CHECK_EQ(get_of(&flag), 1);
    CHECK_EQ(check_join(f), 0);
    (void)ignored;
    return 0;
}

/* One worker and no time slice: otherwise another worker may take the spawner before. */
TEST(run_now_begins_before_spawn_returns) {
    weft_runtime_options o;
    weft_runtime* r = NULL;
    weft_runtime_options_init(&o);
    o.workers = 1;
    o.time_slice_ns = -1;
    CHECK_STATUS(weft_runtime_create(&o, &r), WEFT_OK);
    CHECK_STATUS(weft_run(r, spawns_at_once, NULL, NULL), WEFT_OK);
    weft_runtime_destroy(r);
}

ANYWHERE_TEST(a_fiber_that_is_not_preempted_runs) {
    weft_attributes a;
    weft_fiber* f = NULL;
    int v = 9;
    weft_attributes_init(&a);
    a.no_preempt = true;
    a.name = "quiet";
    a.priority = WEFT_PRIORITY_NORMAL;
    CHECK_STATUS(weft_spawn(rt, returns, &v, &a, &f), WEFT_OK);
    CHECK_EQ(check_join(f), 9);
}

static int renames_itself(void* event) {
    weft_set_name("renamed by itself");
    return waits_for_an_event(event);
}

struct found {
    char text[200000];
    size_t n;
};

static void keep(void* user, const char* piece, size_t n) {
    struct found* const to = (struct found*)user;
    if (to->n + n >= sizeof to->text) n = sizeof to->text - 1 - to->n;
    memcpy(to->text + to->n, piece, n);
    to->n += n;
    to->text[to->n] = '\0';
}

TEST(names_are_in_dumps) {
    static struct found seen;
    weft_runtime* const r = check_make_runtime(1);
    weft_event e = WEFT_ZERO_INIT;
    weft_attributes a;
    weft_fiber* named = NULL;
    weft_fiber* renamed = NULL;
    char name[] = "of an attribute";
    weft_attributes_init(&a);
    a.name = name;
    CHECK_STATUS(weft_spawn(r, waits_for_an_event, &e, &a, &named), WEFT_OK);
    CHECK_STATUS(weft_spawn(r, renames_itself, &e, &a, &renamed), WEFT_OK);
    name[0] = '?'; /* it was copied */
    UNTIL(check_waits(weft_fiber_id(named), NULL) && check_waits(weft_fiber_id(renamed), NULL));
    seen.n = 0;
    CHECK_STATUS(weft_dump(WEFT_DUMP_TEXT, keep, &seen), WEFT_OK);
    CHECK_CONTAINS(seen.text, "of an attribute");
    CHECK_CONTAINS(seen.text, "renamed by itself");
    CHECK(weft_request_stop(named));
    CHECK(weft_request_stop(renamed));
    CHECK_EQ(check_join(named), 1);
    CHECK_EQ(check_join(renamed), 1);
    weft_runtime_destroy(r);
}

ANYWHERE_TEST(a_long_name_is_cut) {
    weft_attributes a;
    weft_fiber* f = NULL;
    char name[1001];
    int v = 10;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    weft_attributes_init(&a);
    a.name = name;
    CHECK_STATUS(weft_spawn(rt, returns, &v, &a, &f), WEFT_OK);
    CHECK_EQ(check_join(f), 10);
    weft_set_name(name);
    weft_set_name("");
    weft_set_name(NULL);
}

/* ---- limits --------------------------------------------------------------------------------------- */

static weft_runtime* limited(size_t fibers, int32_t at_limit) {
    weft_runtime_options o;
    weft_runtime* r = NULL;
    weft_runtime_options_init(&o);
    o.workers = 2;
    o.max_fibers = fibers;
    o.at_limit = at_limit;
    CHECK_STATUS(weft_runtime_create(&o, &r), WEFT_OK);
    return r;
}

TEST(at_the_limit_spawn_fails) {
    weft_runtime* const r = limited(2, WEFT_AT_LIMIT_FAIL);
    weft_event e = WEFT_ZERO_INIT;
    weft_fiber* const a = check_spawn(r, waits_for_an_event, &e);
    weft_fiber* const b = check_spawn(r, waits_for_an_event, &e);
    weft_fiber* c = NULL;
    int v = 11;
    weft_stats stats;
    CHECK_STATUS(weft_spawn(r, returns, &v, NULL, &c), WEFT_ELIMIT);
    CHECK(c == NULL);
    CHECK(strlen(weft_error()) > 0);
    CHECK_STATUS(weft_spawn(r, returns, &v, NULL, NULL), WEFT_ELIMIT);
    CHECK_STATUS(weft_run(r, returns, &v, NULL), WEFT_ELIMIT);
    weft_stats_init(&stats);
    CHECK_STATUS(weft_runtime_stats(r, &stats), WEFT_OK);
    CHECK_EQ(stats.refused, 3);
    weft_event_set(&e);
    CHECK_EQ(check_join(a), 0);
    CHECK_EQ(check_join(b), 0);
    UNTIL(weft_spawn(r, returns, &v, NULL, &c) == WEFT_OK);
    CHECK_EQ(check_join(c), 11);
    weft_runtime_destroy(r);
}

struct setter {
    weft_runtime* r;
    weft_event* e;
    int spawned;
};

static void* spawns_beyond(void* arg) {
    struct setter* const s = (struct setter*)arg;
    int v = 12;
    weft_fiber* const f = check_spawn(s->r, returns, &v);
    set_to(&s->spawned, 1);
    CHECK_EQ(check_join(f), 12);
    return NULL;
}

TEST(at_the_limit_spawn_waits) {
    struct setter s;
    weft_event e = WEFT_ZERO_INIT;
    weft_fiber* f;
    pthread_t t;
    s.r = limited(1, WEFT_AT_LIMIT_PARK);
    s.e = &e;
    s.spawned = 0;
    f = check_spawn(s.r, waits_for_an_event, &e);
    CHECK(pthread_create(&t, NULL, spawns_beyond, &s) == 0);
    CHECK_STATUS(weft_sleep(5 * MILLISECOND), WEFT_OK); /* time for a mistake; nothing depends on it */
    CHECK_EQ(get_of(&s.spawned), 0);
    weft_event_set(&e);
    CHECK_EQ(check_join(f), 0);
    CHECK(pthread_join(t, NULL) == 0);
    CHECK_EQ(s.spawned, 1);
    weft_runtime_destroy(s.r);
}

static int spawns_inline(void* unused) {
    int flag = 0;
    weft_fiber* f;
    (void)unused;
    f = check_spawn(NULL, raises, &flag);
    CHECK_EQ(get_of(&flag), 1); /* there is no place for another, so it has run */
    CHECK_EQ(check_join(f), 0);
    return 0;
}

TEST(at_the_limit_spawn_runs_the_body_in_place) {
    weft_runtime* const r = limited(1, WEFT_AT_LIMIT_RUN_INLINE);
    CHECK_STATUS(weft_run(r, spawns_inline, NULL, NULL), WEFT_OK);
    weft_runtime_destroy(r);
}

/* ---- many ----------------------------------------------------------------------------------------- */

static int adds_one(void* sum) {
    add_to((int*)sum, 1);
    return 0;
}

ANYWHERE_TEST(many_fibers_run) {
    enum { MANY = 10000 };
    static weft_fiber* f[MANY];
    const int n = SCALED(MANY);
    int sum = 0;
    int i;
    for (i = 0; i < n; ++i) f[i] = check_spawn(rt, adds_one, &sum);
    for (i = 0; i < n; ++i) CHECK_EQ(check_join(f[i]), 0);
    CHECK_EQ(get_of(&sum), n);
}

static int stops_itself_through(void* handle) {
    /* The handle may not be there yet. */
    weft_fiber* f;
    while ((f = __atomic_load_n((weft_fiber**)handle, __ATOMIC_SEQ_CST)) == NULL) IGNORE(weft_sleep(MICROSECOND));
    CHECK(weft_request_stop(f));
    CHECK_STATUS(weft_sleep(HOURS), WEFT_CANCELED);
    return 44;
}

ANYWHERE_TEST(a_fiber_can_stop_itself) {
    weft_fiber* shared = NULL;
    weft_fiber* const f = check_spawn(rt, stops_itself_through, &shared);
    __atomic_store_n(&shared, f, __ATOMIC_SEQ_CST);
    CHECK_EQ(check_join(f), 44);
}

static int sleeps_a_little(void* unused) {
    (void)unused;
    CHECK_STATUS(weft_sleep(2 * MILLISECOND), WEFT_OK);
    return 0;
}

ANYWHERE_TEST(sleep_sleeps_at_least_as_long) {
    const int64_t begin = check_now();
    CHECK_EQ(check_join(check_spawn(rt, sleeps_a_little, NULL)), 0);
    CHECK(check_now() - begin >= 2 * MILLISECOND);
}
