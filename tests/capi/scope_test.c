/* scope_test.c - scopes: children end before the scope does, and the first failure stops the rest. */
#include "support/check.h"

static int adds_one(void* sum) {
    add_to((int*)sum, 1);
    return 0;
}

struct child {
    int began;
    int stopped;
    weft_event go;
};

static void begin(struct child* c) {
    weft_event_init(&c->go, false);
    c->began = 0;
    c->stopped = 0;
}

/* Ends when it is stopped, or by `go`. */
static int waits(void* arg) {
    struct child* const c = (struct child*)arg;
    set_to(&c->began, 1);
    if (weft_event_wait(&c->go, WEFT_FOREVER) == WEFT_CANCELED) set_to(&c->stopped, 1);
    return 0;
}

static int fails(void* words) { return weft_fail((const char*)words); }

/* Fails once another has begun. */
static int fails_after(void* began) {
    UNTIL(get_of((int*)began));
    return weft_fail("the first failure");
}

ANYWHERE_TEST(close_waits_for_all_children) {
    weft_scope* s = NULL;
    int sum = 0;
    int i;
    CHECK_STATUS(weft_scope_open(rt, NULL, &s), WEFT_OK);
    for (i = 0; i < 100; ++i) CHECK_STATUS(weft_scope_spawn(s, adds_one, &sum, NULL), WEFT_OK);
    CHECK_STATUS(weft_scope_close(s), WEFT_OK);
    CHECK_EQ(sum, 100);
}

ANYWHERE_TEST(a_scope_may_be_empty) {
    weft_scope* s = NULL;
    CHECK_STATUS(weft_scope_open(rt, NULL, &s), WEFT_OK);
    CHECK_STATUS(weft_scope_close(s), WEFT_OK);
}

FIBER_TEST(a_scope_without_a_runtime_is_in_that_of_the_caller) {
    weft_scope* s = NULL;
    int sum = 0;
    CHECK_STATUS(weft_scope_open(NULL, NULL, &s), WEFT_OK);
    CHECK_STATUS(weft_scope_spawn(s, adds_one, &sum, NULL), WEFT_OK);
    CHECK_STATUS(weft_scope_close(s), WEFT_OK);
    CHECK_EQ(sum, 1);
}

TEST(a_scope_without_a_runtime_on_a_thread_is_refused) {
    weft_scope* s = NULL;
    CHECK_STATUS(weft_scope_open(NULL, NULL, &s), WEFT_ENOFIBER);
    CHECK(s == NULL);
}

ANYWHERE_TEST(the_first_failure_stops_the_others_and_is_reported) {
    weft_scope* s = NULL;
    struct child c[3];
    int i;
    for (i = 0; i < 3; ++i) begin(&c[i]);
    CHECK_STATUS(weft_scope_open(rt, NULL, &s), WEFT_OK);
    for (i = 0; i < 3; ++i) CHECK_STATUS(weft_scope_spawn(s, waits, &c[i], NULL), WEFT_OK);
    CHECK_STATUS(weft_scope_spawn(s, fails_after, &c[0].began, NULL), WEFT_OK);
    CHECK_STATUS(weft_scope_close(s), WEFT_EFAILED);
    CHECK_CONTAINS(weft_error(), "the first failure");
    for (i = 0; i < 3; ++i) CHECK_EQ(c[i].stopped, 1);
}

FIBER_TEST(the_first_failure_stops_the_opener_until_it_closes_the_scope) {
    weft_scope* s = NULL;
    char words[] = "stops the opener";
    CHECK_STATUS(weft_scope_open(NULL, NULL, &s), WEFT_OK);
    CHECK_STATUS(weft_scope_spawn(s, fails, words, NULL), WEFT_OK);
    CHECK_STATUS(weft_sleep(HOURS), WEFT_CANCELED);
    CHECK_STATUS(weft_sleep(HOURS), WEFT_CANCELED);
    CHECK_STATUS(weft_yield(), WEFT_CANCELED);
    CHECK_STATUS(weft_check_canceled(), WEFT_CANCELED);
    CHECK_STATUS(weft_scope_close(s), WEFT_EFAILED);
    CHECK_CONTAINS(weft_error(), "stops the opener");
    CHECK_STATUS(weft_yield(), WEFT_OK);
    CHECK_STATUS(weft_check_canceled(), WEFT_OK);
}

FIBER_TEST(a_child_that_comes_after_a_failure_runs_stopped) {
    weft_scope* s = NULL;
    struct child late;
    weft_status spawned;
    char words[] = "early";
    begin(&late);
    CHECK_STATUS(weft_scope_open(NULL, NULL, &s), WEFT_OK);
    CHECK_STATUS(weft_scope_spawn(s, fails, words, NULL), WEFT_OK);
    CHECK_STATUS(weft_sleep(HOURS), WEFT_CANCELED);
    spawned = weft_scope_spawn(s, waits, &late, NULL);
    CHECK(spawned == WEFT_OK || spawned == WEFT_CANCELED);
    CHECK_STATUS(weft_scope_close(s), WEFT_EFAILED);
    CHECK_EQ(late.stopped, spawned == WEFT_OK ? 1 : 0);
}

/* ---- keep_going ----------------------------------------------------------------------------------- */

struct failures {
    int n;
    char words[256];
};

static void counts_failures(void* user, const weft_fiber_info* fiber, weft_status s, const char* words) {
    struct failures* const to = (struct failures*)user;
    CHECK(fiber != NULL);
    CHECK(fiber->id != 0);
    CHECK_STATUS(s, WEFT_EFAILED);
    snprintf(to->words, sizeof to->words, "%s", words);
    add_to(&to->n, 1);
}

TEST(with_keep_going_a_failure_stops_no_other) {
    static struct failures seen;
    weft_runtime_options o;
    weft_runtime* r = NULL;
    weft_scope_options so;
    weft_scope* s = NULL;
    struct child c;
    char words[] = "goes to on_unhandled";
    memset(&seen, 0, sizeof seen);
    begin(&c);
    weft_runtime_options_init(&o);
    o.workers = 2;
    o.user = &seen;
    o.on_unhandled = counts_failures;
    CHECK_STATUS(weft_runtime_create(&o, &r), WEFT_OK);
    weft_scope_options_init(&so);
    so.keep_going = true;
    CHECK_STATUS(weft_scope_open(r, &so, &s), WEFT_OK);
    CHECK_STATUS(weft_scope_spawn(s, waits, &c, NULL), WEFT_OK);
    CHECK_STATUS(weft_scope_spawn(s, fails, words, NULL), WEFT_OK);
    UNTIL(get_of(&seen.n) == 1);
    CHECK_CONTAINS(seen.words, "goes to on_unhandled");
    weft_event_set(&c.go);
    CHECK_STATUS(weft_scope_close(s), WEFT_OK);
    CHECK_EQ(c.stopped, 0);
    CHECK_EQ(get_of(&seen.n), 1);
    weft_runtime_destroy(r);
}

/* ---- limit ---------------------------------------------------------------------------------------- */

struct crowd {
    int now;
    int most;
    int ran;
};

static int is_one_of_few(void* arg) {
    struct crowd* const c = (struct crowd*)arg;
    const int n = add_to(&c->now, 1);
    if (n > get_of(&c->most)) set_to(&c->most, n);
    CHECK_STATUS(weft_yield(), WEFT_OK);
    add_to(&c->now, -1);
    add_to(&c->ran, 1);
    return 0;
}

ANYWHERE_TEST(no_more_children_at_once_than_the_limit) {
    size_t limit;
    for (limit = 1; limit <= 3; ++limit) {
        weft_scope_options o;
        weft_scope* s = NULL;
        struct crowd c = {0, 0, 0};
        int i;
        weft_scope_options_init(&o);
        o.limit = limit;
        CHECK_STATUS(weft_scope_open(rt, &o, &s), WEFT_OK);
        for (i = 0; i < 50; ++i) CHECK_STATUS(weft_scope_spawn(s, is_one_of_few, &c, NULL), WEFT_OK);
        CHECK_STATUS(weft_scope_close(s), WEFT_OK);
        CHECK_EQ(c.ran, 50);
        CHECK(c.most <= (int)limit);
    }
}

/* ---- stop ----------------------------------------------------------------------------------------- */

FIBER_TEST(request_stop_stops_children_and_the_opener) {
    weft_scope* s = NULL;
    struct child c;
    struct child late;
    weft_status spawned;
    begin(&c);
    begin(&late);
    CHECK_STATUS(weft_scope_open(NULL, NULL, &s), WEFT_OK);
    CHECK_STATUS(weft_scope_spawn(s, waits, &c, NULL), WEFT_OK);
    UNTIL(get_of(&c.began));
    weft_scope_request_stop(s);
    weft_scope_request_stop(s);
    CHECK_STATUS(weft_sleep(HOURS), WEFT_CANCELED);
    CHECK_STATUS(weft_yield(), WEFT_CANCELED);
    spawned = weft_scope_spawn(s, waits, &late, NULL);
    CHECK(spawned == WEFT_OK || spawned == WEFT_CANCELED);
    CHECK_STATUS(weft_scope_close(s), WEFT_OK); /* no stop of the caller, and no child failed */
    CHECK_EQ(c.stopped, 1);
    CHECK_EQ(late.stopped, spawned == WEFT_OK ? 1 : 0);
    CHECK_STATUS(weft_yield(), WEFT_OK);
}

static int stops_its_scope(void* scope) {
    weft_scope_request_stop((weft_scope*)scope);
    CHECK_STATUS(weft_yield(), WEFT_CANCELED);
    return 0;
}

ANYWHERE_TEST(a_child_can_stop_its_scope) {
    weft_scope* s = NULL;
    struct child c;
    begin(&c);
    CHECK_STATUS(weft_scope_open(rt, NULL, &s), WEFT_OK);
    CHECK_STATUS(weft_scope_spawn(s, waits, &c, NULL), WEFT_OK);
    CHECK_STATUS(weft_scope_spawn(s, stops_its_scope, s, NULL), WEFT_OK);
    CHECK_STATUS(weft_scope_close(s), WEFT_OK);
    CHECK_EQ(c.stopped, 1);
}

static int is_stopped_while_it_closes(void* arg) {
    weft_scope* s = NULL;
    weft_status closed;
    CHECK_STATUS(weft_scope_open(NULL, NULL, &s), WEFT_OK);
    CHECK_STATUS(weft_scope_spawn(s, waits, arg, NULL), WEFT_OK);
    closed = weft_scope_close(s);
    CHECK_STATUS(closed, WEFT_CANCELED);
    CHECK_STATUS(weft_yield(), WEFT_CANCELED);
    return 1;
}

ANYWHERE_TEST(close_passes_a_stop_on) {
    struct child c;
    weft_fiber* f;
    begin(&c);
    f = check_spawn(rt, is_stopped_while_it_closes, &c);
    UNTIL(get_of(&c.began));
    CHECK(weft_request_stop(f));
    CHECK_EQ(check_join(f), 1);
    CHECK_EQ(c.stopped, 1);
}

FIBER_TEST(close_passes_a_deadline_on) {
    struct child c;
    weft_scope* s = NULL;
    weft_deadline d;
    weft_status closed;
    begin(&c);
    weft_deadline_enter(&d, MILLISECOND);
    CHECK_STATUS(weft_scope_open(NULL, NULL, &s), WEFT_OK);
    CHECK_STATUS(weft_scope_spawn(s, waits, &c, NULL), WEFT_OK);
    closed = weft_scope_close(s);
    CHECK_STATUS(closed, WEFT_CANCELED);
    CHECK_EQ(c.stopped, 1);
    CHECK_STATUS(weft_deadline_leave(&d, closed), WEFT_TIMEDOUT);
    CHECK_STATUS(weft_yield(), WEFT_OK);
}

FIBER_TEST(a_deadline_inside_a_scope_ends_before_it) {
    weft_scope* s = NULL;
    weft_deadline d;
    int sum = 0;
    CHECK_STATUS(weft_scope_open(NULL, NULL, &s), WEFT_OK);
    CHECK_STATUS(weft_scope_spawn(s, adds_one, &sum, NULL), WEFT_OK);
    weft_deadline_enter(&d, MILLISECOND);
    CHECK_STATUS(weft_sleep(HOURS), WEFT_CANCELED);
    CHECK_STATUS(weft_deadline_leave(&d, WEFT_CANCELED), WEFT_TIMEDOUT);
    CHECK_STATUS(weft_scope_close(s), WEFT_OK);
    CHECK_EQ(sum, 1);
}

/* ---- nested, children of children ------------------------------------------------------------------ */

struct branch {
    int depth;
    int* leaves;
};

static int grows(void* arg) {
    const struct branch* const b = (const struct branch*)arg;
    if (b->depth == 0) {
        add_to(b->leaves, 1);
    } else {
        struct branch below;
        weft_scope* s = NULL;
        below.depth = b->depth - 1;
        below.leaves = b->leaves;
        CHECK_STATUS(weft_scope_open(NULL, NULL, &s), WEFT_OK);
        CHECK_STATUS(weft_scope_spawn(s, grows, &below, NULL), WEFT_OK);
        CHECK_STATUS(weft_scope_spawn(s, grows, &below, NULL), WEFT_OK);
        CHECK_STATUS(weft_scope_close(s), WEFT_OK);
    }
    return 0;
}

ANYWHERE_TEST(scopes_nest) {
    int leaves = 0;
    struct branch root;
    weft_scope* s = NULL;
    root.depth = 6;
    root.leaves = &leaves;
    CHECK_STATUS(weft_scope_open(rt, NULL, &s), WEFT_OK);
    CHECK_STATUS(weft_scope_spawn(s, grows, &root, NULL), WEFT_OK);
    CHECK_STATUS(weft_scope_close(s), WEFT_OK);
    CHECK_EQ(leaves, 64);
}

struct parent {
    weft_scope* s;
    int* sum;
};

static int spawns_siblings(void* arg) {
    struct parent* const p = (struct parent*)arg;
    int i;
    for (i = 0; i < 10; ++i) CHECK_STATUS(weft_scope_spawn(p->s, adds_one, p->sum, NULL), WEFT_OK);
    return 0;
}

ANYWHERE_TEST(a_child_can_spawn_into_its_scope) {
    struct parent p;
    int sum = 0;
    int i;
    p.s = NULL;
    p.sum = &sum;
    CHECK_STATUS(weft_scope_open(rt, NULL, &p.s), WEFT_OK);
    for (i = 0; i < 5; ++i) CHECK_STATUS(weft_scope_spawn(p.s, spawns_siblings, &p, NULL), WEFT_OK);
    CHECK_STATUS(weft_scope_close(p.s), WEFT_OK);
    CHECK_EQ(sum, 50);
}

FIBER_TEST(scopes_of_one_fiber_close_in_reverse_order) {
    weft_scope* outer = NULL;
    weft_scope* inner = NULL;
    char words[] = "of the inner scope";
    int sum = 0;
    CHECK_STATUS(weft_scope_open(NULL, NULL, &outer), WEFT_OK);
    CHECK_STATUS(weft_scope_open(NULL, NULL, &inner), WEFT_OK);
    CHECK_STATUS(weft_scope_spawn(outer, adds_one, &sum, NULL), WEFT_OK);
    CHECK_STATUS(weft_scope_spawn(inner, fails, words, NULL), WEFT_OK);
    CHECK_STATUS(weft_sleep(HOURS), WEFT_CANCELED);
    CHECK_STATUS(weft_scope_close(inner), WEFT_EFAILED);
    CHECK_CONTAINS(weft_error(), "of the inner scope");
    CHECK_STATUS(weft_yield(), WEFT_OK);
    CHECK_STATUS(weft_scope_close(outer), WEFT_OK);
    CHECK_EQ(sum, 1);
}

ANYWHERE_TEST(attributes_of_children_are_looked_at) {
    weft_scope* s = NULL;
    weft_attributes a;
    int sum = 0;
    CHECK_STATUS(weft_scope_open(rt, NULL, &s), WEFT_OK);
    weft_attributes_init(&a);
    a.name = "child";
    a.stack_bytes = 64 * 1024;
    a.priority = WEFT_PRIORITY_LOW;
    CHECK_STATUS(weft_scope_spawn(s, adds_one, &sum, &a), WEFT_OK);
    a.priority = 17;
    CHECK_STATUS(weft_scope_spawn(s, adds_one, &sum, &a), WEFT_EINVAL);
    CHECK_STATUS(weft_scope_close(s), WEFT_OK);
    CHECK_EQ(sum, 1);
}

ANYWHERE_TEST(options_of_another_size) {
    weft_scope_options o;
    struct {
        weft_scope_options known;
        uint64_t later;
    } newer;
    weft_scope* s = NULL;
    weft_scope_options_init(&o);
    o.size = 0;
    CHECK_STATUS(weft_scope_open(rt, &o, &s), WEFT_EINVAL);
    o.size = 8;
    CHECK_STATUS(weft_scope_open(rt, &o, &s), WEFT_EINVAL);
    memset(&newer, 0, sizeof newer);
    newer.known.size = sizeof newer;
    newer.later = 1;
    CHECK_STATUS(weft_scope_open(rt, &newer.known, &s), WEFT_EINVAL);
    CHECK(s == NULL);
    newer.later = 0;
    CHECK_STATUS(weft_scope_open(rt, &newer.known, &s), WEFT_OK);
    CHECK_STATUS(weft_scope_close(s), WEFT_OK);
}
