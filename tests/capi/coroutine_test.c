/* coroutine_test.c - coroutines: values both ways, their end, and what destroying a suspended one does. */
#include "support/check.h"

#include <pthread.h>

static char things[16]; /* whose addresses are the values */

static int index_of(const void* thing) { return (int)((const char*)thing - things); }

/* Yields three things, and expects others. */
static void* yields_three(weft_coroutine* self, void* first, void* arg) {
    void* in = NULL;
    CHECK(first == &things[0]);
    CHECK(arg == &things[9]);
    CHECK_STATUS(weft_coroutine_yield(self, &things[10], &in), WEFT_OK);
    CHECK(in == &things[1]);
    CHECK_STATUS(weft_coroutine_yield(self, &things[11], NULL), WEFT_OK);
    CHECK_STATUS(weft_coroutine_yield(self, NULL, &in), WEFT_OK);
    CHECK(in == &things[3]);
    return &things[12];
}

ANYWHERE_TEST(values_go_both_ways) {
    weft_coroutine* c = NULL;
    void* out = NULL;
    CHECK_STATUS(weft_coroutine_create(yields_three, &things[9], 0, &c), WEFT_OK);
    CHECK(!weft_coroutine_is_done(c));
    CHECK_STATUS(weft_coroutine_call(c, &things[0], &out), WEFT_OK);
    CHECK_EQ(index_of(out), 10);
    CHECK_STATUS(weft_coroutine_call(c, &things[1], &out), WEFT_OK);
    CHECK_EQ(index_of(out), 11);
    CHECK_STATUS(weft_coroutine_call(c, &things[2], &out), WEFT_OK);
    CHECK(out == NULL);
    CHECK(!weft_coroutine_is_done(c));
    CHECK_STATUS(weft_coroutine_call(c, &things[3], &out), WEFT_DONE);
    CHECK_EQ(index_of(out), 12);
    CHECK(weft_coroutine_is_done(c));
    CHECK_STATUS(weft_coroutine_call(c, &things[4], &out), WEFT_DONE);
    CHECK(out == NULL);
    CHECK_STATUS(weft_coroutine_call(c, &things[4], NULL), WEFT_DONE);
    weft_coroutine_destroy(c);
}

static void* ends_at_once(weft_coroutine* self, void* first, void* arg) {
    (void)self;
    add_to((int*)arg, 1);
    return first;
}

ANYWHERE_TEST(a_body_need_not_yield) {
    weft_coroutine* c = NULL;
    void* out = NULL;
    int ran = 0;
    CHECK_STATUS(weft_coroutine_create(ends_at_once, &ran, 0, &c), WEFT_OK);
    CHECK_EQ(ran, 0); /* not before the first call */
    CHECK_STATUS(weft_coroutine_call(c, &things[5], &out), WEFT_DONE);
    CHECK_EQ(ran, 1);
    CHECK_EQ(index_of(out), 5);
    weft_coroutine_destroy(c);
}

ANYWHERE_TEST(a_coroutine_that_was_never_called_does_not_run) {
    weft_coroutine* c = NULL;
    int ran = 0;
    CHECK_STATUS(weft_coroutine_create(ends_at_once, &ran, 0, &c), WEFT_OK);
    weft_coroutine_destroy(c);
    CHECK_EQ(ran, 0);
}

static void* cleans_up(weft_coroutine* self, void* first, void* cleaned) {
    void* in = first;
    int i;
    while (weft_coroutine_yield(self, in, &in) == WEFT_OK) {}
    for (i = 0; i < 3; ++i) {
        void* const before = in;
        CHECK_STATUS(weft_coroutine_yield(self, &things[1], &in), WEFT_CANCELED); /* again and again */
        CHECK(in == before);
    }
    CHECK_STATUS(weft_yield(), WEFT_OK); /* its caller was not stopped */
    add_to((int*)cleaned, 1);
    return &things[2];
}

ANYWHERE_TEST(to_destroy_a_suspended_one_runs_it_to_its_end) {
    int calls;
    for (calls = 1; calls <= 3; ++calls) {
        weft_coroutine* c = NULL;
        int cleaned = 0;
        int i;
        CHECK_STATUS(weft_coroutine_create(cleans_up, &cleaned, 0, &c), WEFT_OK);
        for (i = 0; i < calls; ++i) {
            void* out = NULL;
            CHECK_STATUS(weft_coroutine_call(c, &things[i], &out), WEFT_OK);
            CHECK_EQ(index_of(out), i);
        }
        CHECK_EQ(cleaned, 0);
        weft_coroutine_destroy(c);
        CHECK_EQ(cleaned, 1);
    }
}

/* ---- nested ---------------------------------------------------------------------------------------- */

struct level {
    int depth;
    int* cleaned;
};

static void* passes_on(weft_coroutine* self, void* first, void* arg) {
    const struct level* const me = (const struct level*)arg;
    weft_coroutine* below = NULL;
    struct level next;
    void* in = first;
    next.depth = me->depth - 1;
    next.cleaned = me->cleaned;
    if (next.depth > 0) CHECK_STATUS(weft_coroutine_create(passes_on, &next, 0, &below), WEFT_OK);
    for (;;) {
        void* out = in;
        if (below != NULL) CHECK_STATUS(weft_coroutine_call(below, in, &out), WEFT_OK);
        if (weft_coroutine_yield(self, (char*)out + 1, &in) == WEFT_CANCELED) break;
    }
    weft_coroutine_destroy(below);
    add_to(me->cleaned, 1);
    return NULL;
}

ANYWHERE_TEST(coroutines_nest) {
    weft_coroutine* c = NULL;
    struct level top;
    int cleaned = 0;
    int i;
    top.depth = 8;
    top.cleaned = &cleaned;
    CHECK_STATUS(weft_coroutine_create(passes_on, &top, 0, &c), WEFT_OK);
    for (i = 0; i < 5; ++i) {
        void* out = NULL;
        CHECK_STATUS(weft_coroutine_call(c, &things[i], &out), WEFT_OK);
        CHECK_EQ(index_of(out), i + 8);
    }
    weft_coroutine_destroy(c);
    CHECK_EQ(cleaned, 8);
}

static void* yields_once(weft_coroutine* self, void* first, void* arg) {
    (void)first;
    CHECK(!weft_coroutine_is_done(self));
    CHECK_STATUS(weft_coroutine_yield(self, arg, NULL), WEFT_OK);
    return arg;
}

/* ---- threads and fibers ---------------------------------------------------------------------------- */

static void* calls_once(void* c) {
    void* out = NULL;
    CHECK_STATUS(weft_coroutine_call((weft_coroutine*)c, NULL, &out), WEFT_OK);
    CHECK_EQ(index_of(out), 6);
    return NULL;
}

TEST(another_thread_can_go_on_with_it) {
    weft_coroutine* c = NULL;
    pthread_t t;
    void* out = NULL;
    CHECK_STATUS(weft_coroutine_create(yields_once, &things[6], 0, &c), WEFT_OK);
    CHECK(pthread_create(&t, NULL, calls_once, c) == 0);
    CHECK(pthread_join(t, NULL) == 0);
    CHECK_STATUS(weft_coroutine_call(c, NULL, &out), WEFT_DONE);
    CHECK_EQ(index_of(out), 6);
    weft_coroutine_destroy(c);
}

static void* receives_and_yields(weft_coroutine* self, void* first, void* ch) {
    void* v = NULL;
    weft_status s;
    (void)first;
    while ((s = weft_receive((weft_channel*)ch, &v, WEFT_FOREVER)) == WEFT_OK)
        if (weft_coroutine_yield(self, v, NULL) != WEFT_OK) return NULL;
    CHECK_STATUS(s, WEFT_CLOSED);
    return NULL;
}

static int sends_things(void* ch) {
    int i;
    for (i = 0; i < 16; ++i) {
        void* const v = &things[i];
        CHECK_STATUS(weft_send((weft_channel*)ch, &v, WEFT_FOREVER), WEFT_OK);
        CHECK_STATUS(weft_sleep(10 * MICROSECOND), WEFT_OK);
    }
    weft_close((weft_channel*)ch);
    return 0;
}

ANYWHERE_TEST(a_body_may_park) {
    weft_coroutine* c = NULL;
    weft_channel* ch = NULL;
    weft_fiber* f;
    void* out = NULL;
    int i;
    CHECK_STATUS(weft_channel_create(sizeof(void*), 0, NULL, NULL, &ch), WEFT_OK);
    CHECK_STATUS(weft_coroutine_create(receives_and_yields, ch, 0, &c), WEFT_OK);
    f = check_spawn(rt, sends_things, ch);
    for (i = 0; i < 16; ++i) {
        CHECK_STATUS(weft_coroutine_call(c, NULL, &out), WEFT_OK);
        CHECK_EQ(index_of(out), i);
    }
    CHECK_STATUS(weft_coroutine_call(c, NULL, &out), WEFT_DONE);
    CHECK_EQ(check_join(f), 0);
    weft_coroutine_destroy(c);
    weft_channel_release(ch);
}

static void* is_stopped_inside(weft_coroutine* self, void* began, void* arg) {
    (void)arg;
    set_to((int*)began, 1);
    CHECK_STATUS(weft_sleep(HOURS), WEFT_CANCELED);
    CHECK_STATUS(weft_coroutine_yield(self, &things[7], NULL), WEFT_OK); /* this is no park point */
    CHECK_STATUS(weft_sleep(HOURS), WEFT_CANCELED);
    return &things[8];
}

static int calls_and_is_stopped(void* began) {
    weft_coroutine* c = NULL;
    void* out = NULL;
    CHECK_STATUS(weft_coroutine_create(is_stopped_inside, NULL, 0, &c), WEFT_OK);
    CHECK_STATUS(weft_coroutine_call(c, began, &out), WEFT_OK);
    CHECK_EQ(index_of(out), 7);
    CHECK_STATUS(weft_coroutine_call(c, NULL, &out), WEFT_DONE);
    CHECK_EQ(index_of(out), 8);
    weft_coroutine_destroy(c);
    CHECK_STATUS(weft_yield(), WEFT_CANCELED);
    return 5;
}

ANYWHERE_TEST(a_stop_of_the_caller_reaches_the_body) {
    int began = 0;
    weft_fiber* const f = check_spawn(rt, calls_and_is_stopped, &began);
    UNTIL(get_of(&began));
    CHECK(weft_request_stop(f));
    CHECK_EQ(check_join(f), 5);
}

struct passed_on {
    weft_coroutine* c;
    int cleaned;
};

static int makes_one(void* arg) {
    struct passed_on* const p = (struct passed_on*)arg;
    CHECK_STATUS(weft_coroutine_create(cleans_up, &p->cleaned, 0, &p->c), WEFT_OK);
    CHECK_STATUS(weft_coroutine_call(p->c, &things[0], NULL), WEFT_OK);
    return 0;
}

static int goes_on(void* c) {
    void* out = NULL;
    CHECK_STATUS(weft_coroutine_call((weft_coroutine*)c, &things[1], &out), WEFT_OK);
    return index_of(out);
}

FIBER_TEST(fibers_can_pass_one_on) {
    struct passed_on p = {NULL, 0};
    CHECK_EQ(check_join(check_spawn(rt, makes_one, &p)), 0);
    CHECK_EQ(check_join(check_spawn(rt, goes_on, p.c)), 1);
    CHECK_EQ(p.cleaned, 0);
    weft_coroutine_destroy(p.c);
    CHECK_EQ(p.cleaned, 1);
}

static void* uses_its_stack(weft_coroutine* self, void* first, void* arg) {
    volatile char on_the_stack[400 * 1024];
    size_t i;
    (void)arg;
    for (i = 0; i < sizeof on_the_stack; i += 1024) on_the_stack[i] = (char)i;
    CHECK_STATUS(weft_coroutine_yield(self, first, NULL), WEFT_OK);
    for (i = 0; i < sizeof on_the_stack; i += 1024) CHECK_EQ(on_the_stack[i], (char)i);
    return first;
}

ANYWHERE_TEST(the_stack_can_be_large) {
    weft_coroutine* c = NULL;
    CHECK_STATUS(weft_coroutine_create(uses_its_stack, NULL, 1024 * 1024, &c), WEFT_OK);
    CHECK_STATUS(weft_coroutine_call(c, NULL, NULL), WEFT_OK);
    CHECK_STATUS(weft_coroutine_call(c, NULL, NULL), WEFT_DONE);
    weft_coroutine_destroy(c);
}

TEST(a_stack_out_of_range_is_refused) {
    const size_t bad[] = {SIZE_MAX, (size_t)1 << 50};
    size_t i;
    for (i = 0; i < 2; ++i) {
        weft_coroutine* c = NULL;
        const weft_status s = weft_coroutine_create(yields_three, NULL, bad[i], &c);
        CHECK(s == WEFT_EINVAL || s == WEFT_ENOMEM);
        CHECK(c == NULL);
    }
}

TEST(many_coroutines) {
    enum { MANY = 1000 };
    static weft_coroutine* c[MANY];
    const int n = SCALED(MANY);
    int cleaned = 0;
    int i;
    for (i = 0; i < n; ++i) CHECK_STATUS(weft_coroutine_create(cleans_up, &cleaned, 0, &c[i]), WEFT_OK);
    for (i = 0; i < n; ++i) CHECK_STATUS(weft_coroutine_call(c[i], NULL, NULL), WEFT_OK);
    for (i = 0; i < n; ++i) weft_coroutine_destroy(c[i]);
    CHECK_EQ(cleaned, n);
}

static void* ends_within_a_deadline(weft_coroutine* self, void* first, void* frame) {
    (void)self;
    (void)first;
    weft_deadline_enter((weft_deadline*)frame, HOURS);
    return NULL;
}
HELPER(helper_coroutine_ends_within_a_deadline) {
    static weft_deadline frame;
    weft_coroutine* c = NULL;
    CHECK_STATUS(weft_coroutine_create(ends_within_a_deadline, &frame, 0, &c), WEFT_OK);
    IGNORE(weft_coroutine_call(c, NULL, NULL));
}
TEST(a_coroutine_that_ends_within_a_deadline_of_its_own_stops_the_program) {
    check_dies("helper_coroutine_ends_within_a_deadline", "within a deadline of its own");
}
