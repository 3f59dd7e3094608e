/* runtime_test.c - runtimes: each option, shutdown, a forked child, counts, dumps, and the callbacks. */
#include "support/check.h"

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static int returns_7(void* unused) {
    (void)unused;
    return 7;
}

static weft_runtime_options defaults(void) {
    weft_runtime_options o;
    weft_runtime_options_init(&o);
    return o;
}

static weft_runtime* make(const weft_runtime_options* o) {
    weft_runtime* r = NULL;
    CHECK_STATUS(weft_runtime_create(o, &r), WEFT_OK);
    CHECK(r != NULL);
    return r;
}

static void works(weft_runtime* r) {
    int result = 0;
    CHECK_STATUS(weft_run(r, returns_7, NULL, &result), WEFT_OK);
    CHECK_EQ(result, 7);
}

static void refused(const weft_runtime_options* o) {
    weft_runtime* r = NULL;
    CHECK_STATUS(weft_runtime_create(o, &r), WEFT_EINVAL);
    CHECK(r == NULL);
    CHECK(strlen(weft_error()) > 0);
}

static weft_stats stats_of(weft_runtime* r) {
    weft_stats s;
    weft_stats_init(&s);
    CHECK_STATUS(weft_runtime_stats(r, &s), WEFT_OK);
    return s;
}

/* ---- options ------------------------------------------------------------------------------------- */

TEST(the_options_may_be_left_out) {
    weft_runtime* const r = make(NULL);
    works(r);
    CHECK(stats_of(r).workers >= 1);
    weft_runtime_destroy(r);
}

TEST(options_that_are_all_zero_are_the_defaults) {
    const weft_runtime_options o = defaults();
    weft_runtime* const r = make(&o);
    works(r);
    weft_runtime_destroy(r);
}

TEST(options_that_are_too_small_are_refused) {
    weft_runtime_options o = defaults();
    const size_t sizes[] = {0, 1, 8, 16};
    size_t i;
    for (i = 0; i < 4; ++i) {
        o.size = sizes[i];
        refused(&o);
    }
}

struct newer_options {
    weft_runtime_options known;
    unsigned char later[64];
};

TEST(options_of_a_later_version) {
    struct newer_options o;
    weft_runtime* r;
    size_t i;
    memset(&o, 0, sizeof o);
    o.known.size = sizeof o;
    o.known.workers = 3;
    r = make(&o.known);
    CHECK_EQ(stats_of(r).workers, 3);
    weft_runtime_destroy(r);
    for (i = 0; i < sizeof o.later; i += 21) {
        o.later[i] = 1; /* what this library does not know is not ignored */
        refused(&o.known);
        o.later[i] = 0;
    }
}

TEST(so_many_workers) {
    const uint32_t counts[] = {1, 2, 5};
    size_t i;
    for (i = 0; i < 3; ++i) {
        weft_runtime_options o = defaults();
        weft_runtime* r;
        o.workers = counts[i];
        r = make(&o);
        works(r);
        CHECK_EQ(stats_of(r).workers, counts[i]);
        CHECK(stats_of(r).carriers >= 1);
        weft_runtime_destroy(r);
    }
}

struct stack {
    size_t bytes;
};

static int measures_its_stack(void* arg) {
    void* low = NULL;
    void* high = NULL;
    weft_stack_bounds(&low, &high);
    ((struct stack*)arg)->bytes = (size_t)((char*)high - (char*)low);
    return 0;
}

TEST(stacks_of_so_many_bytes) {
    const size_t good[] = {16 * 1024, 64 * 1024, 1 << 20};
    const size_t bad[] = {1, 16 * 1024 - 1, ((size_t)1 << 30) + 1, SIZE_MAX};
    size_t i;
    for (i = 0; i < 3; ++i) {
        weft_runtime_options o = defaults();
        weft_runtime* r;
        struct stack s = {0};
        o.workers = 1;
        o.stack_bytes = good[i];
        r = make(&o);
        CHECK_STATUS(weft_run(r, measures_its_stack, &s, NULL), WEFT_OK);
        CHECK(s.bytes >= good[i] / 2);
        CHECK(s.bytes <= good[i] + 64 * 1024);
        weft_runtime_destroy(r);
    }
    for (i = 0; i < 4; ++i) {
        weft_runtime_options o = defaults();
        o.stack_bytes = bad[i];
        refused(&o);
    }
}

TEST(numbers_and_choices_out_of_range_are_refused) {
    weft_runtime_options o = defaults();
    o.at_limit = 3;
    refused(&o);
    o.at_limit = -1;
    refused(&o);
    o = defaults();
    o.hog_nice = 20;
    refused(&o);
    o.hog_nice = -1;
    refused(&o);
    o = defaults();
    o.dump_signal = 1000;
    refused(&o);
    o.dump_signal = -1;
    refused(&o);
    o.dump_signal = SIGKILL;
    refused(&o);
    o = defaults();
    o.timer_slack_ns = 2 * SECOND;
    refused(&o);
    o = defaults();
    o.max_carriers = 65537;
    refused(&o);
    o = defaults();
    o.blocking_threads = 65537;
    refused(&o);
}

TEST(times_may_be_given_or_switched_off) {
    const int64_t slices[] = {-1, MILLISECOND, SECOND};
    const int64_t slacks[] = {-1, 1, MILLISECOND};
    size_t i;
    for (i = 0; i < 3; ++i) {
        weft_runtime_options o = defaults();
        weft_runtime* r;
        o.workers = 1;
        o.time_slice_ns = slices[i];
        o.timer_slack_ns = slacks[i];
        o.hog_nice = 5;
        r = make(&o);
        works(r);
        weft_runtime_destroy(r);
    }
}

struct inside {
    int now;
    int most;
};

static int is_inside(void* arg) {
    struct inside* const at = (struct inside*)arg;
    const int n = add_to(&at->now, 1);
    if (n > get_of(&at->most)) set_to(&at->most, n);
    usleep(1000); /* time for a mistake; nothing depends on it */
    add_to(&at->now, -1);
    return 0;
}

static int calls_blocking(void* arg) { return weft_blocking(is_inside, arg, NULL); }

TEST(so_many_blocking_threads) {
    weft_runtime_options o = defaults();
    weft_runtime* r;
    weft_fiber* f[8];
    struct inside at = {0, 0};
    int i;
    o.workers = 2;
    o.blocking_threads = 1;
    r = make(&o);
    for (i = 0; i < 8; ++i) f[i] = check_spawn(r, calls_blocking, &at);
    for (i = 0; i < 8; ++i) CHECK_EQ(check_join(f[i]), WEFT_OK);
    CHECK_EQ(at.most, 1);
    CHECK(stats_of(r).blocking_threads <= 1);
    weft_runtime_destroy(r);
}

/* Whether a thread of this process has a name that begins so. */
static bool a_thread_is_called(const char* begin) {
    char path[300];
    char name[64];
    bool found = false;
    struct dirent* e;
    DIR* d = opendir("/proc/self/task");
    CHECK(d != NULL);
    while ((e = readdir(d)) != NULL) {
        FILE* f;
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", e->d_name);
        f = fopen(path, "r");
        if (f == NULL) continue;
        if (fgets(name, sizeof name, f) != NULL && strncmp(name, begin, strlen(begin)) == 0) found = true;
        fclose(f);
    }
    closedir(d);
    return found;
}

TEST(its_threads_have_its_name) {
    weft_runtime_options o = defaults();
    weft_runtime* r;
    char name[] = "loom";
    o.workers = 1;
    o.name = name;
    r = make(&o);
    name[0] = '?'; /* it was copied */
    UNTIL(a_thread_is_called("loom"));
    weft_runtime_destroy(r);
    o.name = "a name that is much longer than that of a thread may be";
    r = make(&o);
    UNTIL(a_thread_is_called("a name"));
    weft_runtime_destroy(r);
}

static int moves(void* unused) {
    const pid_t mine = gettid();
    int i;
    (void)unused;
    for (i = 0; i < 1000; ++i) {
        IGNORE(weft_yield());
        if (gettid() != mine) return 1;
    }
    return 0;
}

TEST(with_torture_migration_fibers_move) {
    weft_runtime_options o = defaults();
    weft_runtime* r;
    int result = 0;
    o.workers = 2;
    o.torture_migration = true;
    r = make(&o);
    CHECK_STATUS(weft_run(r, moves, NULL, &result), WEFT_OK);
    CHECK_EQ(result, 1);
    weft_runtime_destroy(r);
}

HELPER(helper_dump_by_signal) {
    weft_runtime_options o = defaults();
    weft_runtime* r;
    weft_event e = WEFT_ZERO_INIT;
    o.workers = 1;
    o.dump_signal = SIGUSR1;
    o.inspect = true;
    o.name = "dumped";
    r = make(&o);
    CHECK(raise(SIGUSR1) == 0);
    CHECK_STATUS(weft_event_wait(&e, 500 * MILLISECOND), WEFT_TIMEDOUT);
    weft_runtime_destroy(r);
}

TEST(a_signal_writes_a_dump) {
    /* The dump is written by another thread, some time after the signal. */
    char text[16384];
    int tries = 10;
    do check_runs("helper_dump_by_signal", text, sizeof text);
    while (strstr(text, "dumped") == NULL && --tries > 0);
    CHECK_CONTAINS(text, "dumped");
}

/* ---- callbacks -------------------------------------------------------------------------------------- */

struct failures {
    int n;
    int detached;
    char words[100];
    char name[100];
};

static void counts_failures(void* user, const weft_fiber_info* fiber, weft_status s, const char* words) {
    struct failures* const to = (struct failures*)user;
    CHECK_STATUS(s, WEFT_EFAILED);
    CHECK(fiber->id != 0);
    CHECK(fiber->state != NULL && fiber->waits_for != NULL);
    to->detached = fiber->detached ? 1 : 0;
    snprintf(to->words, sizeof to->words, "%s", words);
    snprintf(to->name, sizeof to->name, "%s", fiber->name);
    add_to(&to->n, 1);
}

static int fails(void* words) { return weft_fail((const char*)words); }

static int fails_when_told(void* event) {
    CHECK_STATUS(weft_event_wait((weft_event*)event, WEFT_FOREVER), WEFT_OK);
    return weft_fail("nobody joins");
}

TEST(a_failure_that_no_join_takes_is_reported) {
    weft_runtime_options o = defaults();
    weft_runtime* r;
    weft_attributes a;
    struct failures seen;
    weft_event e = WEFT_ZERO_INIT;
    char words[] = "detached and failed";
    weft_fiber* f;
    memset(&seen, 0, sizeof seen);
    o.workers = 2;
    o.user = &seen;
    o.on_unhandled = counts_failures;
    r = make(&o);
    weft_attributes_init(&a);
    a.name = "the one that fails";
    CHECK_STATUS(weft_spawn(r, fails, words, &a, NULL), WEFT_OK);
    UNTIL(get_of(&seen.n) == 1);
    CHECK(strcmp(seen.words, words) == 0);
    CHECK(strcmp(seen.name, a.name) == 0);
    CHECK_EQ(seen.detached, 1);
    f = check_spawn(r, fails_when_told, &e);
    weft_detach(f);
    weft_event_set(&e);
    UNTIL(get_of(&seen.n) == 2);
    CHECK(strcmp(seen.words, "nobody joins") == 0);
    /* Detached after its end: reported where the handle is dropped. */
    f = check_spawn(r, fails, words);
    UNTIL(weft_is_done(f));
    CHECK_EQ(get_of(&seen.n), 2);
    weft_detach(f);
    UNTIL(get_of(&seen.n) == 3);
    /* A join takes it. */
    CHECK_STATUS(weft_join(check_spawn(r, fails, words), WEFT_FOREVER, NULL), WEFT_EFAILED);
    weft_runtime_destroy(r);
    CHECK_EQ(get_of(&seen.n), 3);
}

HELPER(helper_unhandled) {
    char words[] = "these words are on stderr";
    weft_event e = WEFT_ZERO_INIT;
    weft_runtime* const r = check_make_runtime(1);
    CHECK_STATUS(weft_spawn(r, fails, words, NULL, NULL), WEFT_OK);
    CHECK_STATUS(weft_event_wait(&e, WEFT_FOREVER), WEFT_OK);
}

TEST(without_a_callback_an_unhandled_failure_ends_the_program) { check_dies("helper_unhandled", "these words are on stderr"); }

struct hogs {
    int n;
    int computes;
    int64_t held_ns;
    char name[100];
};

static void notes_hogs(void* user, const weft_hog* hog) {
    struct hogs* const h = (struct hogs*)user;
    if (strcmp(hog->fiber.name, "hog") != 0 || get_of(&h->n) > 0) return;
    CHECK(hog->fiber.id != 0);
    CHECK(hog->thread > 0);
    CHECK(hog->blocked_in != NULL);
    h->computes = hog->what == WEFT_HOG_COMPUTES || hog->what == WEFT_HOG_BLOCKS;
    h->held_ns = hog->held_ns;
    set_to(&h->n, 1);
}

static int computes_until(void* seen) {
    const int64_t limit = check_now() + 60 * SECOND;
    while (get_of((int*)seen) == 0 && check_now() < limit) {}
    return get_of((int*)seen);
}

static int yields_until(void* seen) {
    while (get_of((int*)seen) == 0) IGNORE(weft_yield());
    return 0;
}

TEST(a_hog_is_reported) {
    weft_runtime_options o = defaults();
    weft_runtime* r;
    weft_attributes a;
    struct hogs seen;
    weft_fiber* hog = NULL;
    weft_fiber* other;
    memset(&seen, 0, sizeof seen);
    o.workers = 1;
    o.time_slice_ns = MILLISECOND;
    o.user = &seen;
    o.on_hog = notes_hogs;
    r = make(&o);
    weft_attributes_init(&a);
    a.name = "hog";
    CHECK_STATUS(weft_spawn(r, computes_until, &seen.n, &a, &hog), WEFT_OK);
    other = check_spawn(r, yields_until, &seen.n);
    CHECK_EQ(check_join(hog), 1);
    CHECK_EQ(check_join(other), 0);
    CHECK_EQ(seen.computes, 1);
    CHECK(seen.held_ns >= MILLISECOND);
    weft_runtime_destroy(r);
}

/* ---- life ------------------------------------------------------------------------------------------- */

static int is_in(void* r) { return weft_runtime_current() == (weft_runtime*)r; }

TEST(each_fiber_knows_its_runtime) {
    weft_runtime* const a = check_make_runtime(1);
    weft_runtime* const b = check_make_runtime(1);
    CHECK(weft_runtime_current() == NULL);
    CHECK_EQ(check_join(check_spawn(a, is_in, a)), 1);
    CHECK_EQ(check_join(check_spawn(b, is_in, b)), 1);
    CHECK_EQ(check_join(check_spawn(b, is_in, a)), 0);
    weft_runtime_destroy(a);
    weft_runtime_destroy(b);
}

TEST(runtimes_come_and_go) {
    int i;
    for (i = 0; i < 50; ++i) {
        weft_runtime* const r = check_make_runtime(2);
        works(r);
        weft_runtime_destroy(r);
    }
}

struct waiter {
    int began;
    int stopped;
    int shielded;
    weft_event go;
};

static int waits_to_be_stopped(void* arg) {
    struct waiter* const w = (struct waiter*)arg;
    add_to(&w->began, 1);
    CHECK_STATUS(weft_sleep(HOURS), WEFT_CANCELED);
    add_to(&w->stopped, 1);
    return 0;
}

TEST(destroy_stops_fibers_and_waits_for_them) {
    weft_runtime* const r = check_make_runtime(2);
    struct waiter w;
    int i;
    memset(&w, 0, sizeof w);
    for (i = 0; i < 10; ++i) CHECK_STATUS(weft_spawn(r, waits_to_be_stopped, &w, NULL, NULL), WEFT_OK);
    UNTIL(get_of(&w.began) == 10);
    weft_runtime_destroy(r);
    CHECK_EQ(w.stopped, 10);
}

static int ends_when_told(void* arg) {
    struct waiter* const w = (struct waiter*)arg;
    weft_shield none;
    weft_shield_enter(&none, WEFT_FOREVER);
    set_to(&w->began, 1);
    CHECK_STATUS(weft_event_wait(&w->go, WEFT_FOREVER), WEFT_OK);
    weft_shield_leave(&none);
    CHECK_STATUS(weft_yield(), WEFT_CANCELED);
    return 0;
}

static int begins_stopped(void* arg) {
    set_to((int*)arg, 1);
    CHECK_STATUS(weft_yield(), WEFT_CANCELED);
    return 3;
}

TEST(shutdown_waits_no_longer_than_its_grace) {
    weft_runtime* const r = check_make_runtime(2);
    struct waiter w;
    struct waiter soft;
    int ran = 0;
    weft_fiber* f;
    memset(&w, 0, sizeof w);
    memset(&soft, 0, sizeof soft);
    f = check_spawn(r, ends_when_told, &w);
    CHECK_STATUS(weft_spawn(r, waits_to_be_stopped, &soft, NULL, NULL), WEFT_OK);
    UNTIL(get_of(&w.began) && get_of(&soft.began));
    CHECK_STATUS(weft_runtime_shutdown(r, 5 * MILLISECOND), WEFT_TIMEDOUT);
    CHECK_STATUS(weft_runtime_shutdown(r, 0), WEFT_TIMEDOUT);
    UNTIL(get_of(&soft.stopped) == 1);
    CHECK(!weft_is_done(f));
    CHECK_EQ(check_join(check_spawn(r, begins_stopped, &ran)), 3); /* the runtime remains */
    CHECK_EQ(ran, 1);
    weft_event_set(&w.go);
    CHECK_STATUS(weft_runtime_shutdown(r, WEFT_FOREVER), WEFT_OK);
    CHECK_EQ(check_join(f), 0);
    CHECK_STATUS(weft_runtime_shutdown(r, 0), WEFT_OK);
    weft_runtime_destroy(r);
}

/* In the child of a fork. A failure there ends the child with another code than 0. */
static void in_the_child(weft_runtime* r) {
    int result = 0;
    weft_fiber* f = NULL;
    CHECK_STATUS(weft_run(r, returns_7, NULL, &result), WEFT_ESTATE);
    CHECK_STATUS(weft_spawn(r, returns_7, NULL, NULL, &f), WEFT_ESTATE);
    CHECK(f == NULL);
    CHECK_STATUS(weft_runtime_restart(r), WEFT_OK);
    CHECK_STATUS(weft_runtime_restart(r), WEFT_ESTATE);
    CHECK_EQ(stats_of(r).fibers, 0);
    works(r);
    weft_runtime_destroy(r);
    r = check_make_runtime(1);
    works(r);
    weft_runtime_destroy(r);
    _exit(0);
}

TEST(a_forked_child_begins_anew) {
    weft_runtime* r;
    struct waiter w;
    int status = 0;
    pid_t child;
    if (UNDER_TSAN) return; /* it lets no thread begin in such a child */
    r = check_make_runtime(2);
    memset(&w, 0, sizeof w);
    CHECK_STATUS(weft_runtime_restart(r), WEFT_ESTATE); /* it runs in this process */
    CHECK_STATUS(weft_spawn(r, waits_to_be_stopped, &w, NULL, NULL), WEFT_OK);
    UNTIL(get_of(&w.began) == 1);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) in_the_child(r);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_EQ(status, 0);
    works(r); /* the parent goes on */
    weft_runtime_destroy(r);
    CHECK_EQ(w.stopped, 1);
}

/* ---- looking inside ------------------------------------------------------------------------------------ */

TEST(stats_count) {
    weft_runtime* const r = check_make_runtime(2);
    struct waiter w;
    weft_stats before;
    weft_stats s;
    int i;
    memset(&w, 0, sizeof w);
    before = stats_of(r);
    CHECK_EQ(before.workers, 2);
    CHECK_EQ(before.size, sizeof before);
    for (i = 0; i < 10; ++i) CHECK_STATUS(weft_spawn(r, waits_to_be_stopped, &w, NULL, NULL), WEFT_OK);
    UNTIL(stats_of(r).parks >= before.parks + 10);
    s = stats_of(r);
    CHECK_EQ(s.spawned - before.spawned, 10);
    CHECK_EQ(s.fibers, 10);
    CHECK(s.stacks_in_use >= 10);
    CHECK(s.switches >= 10);
    CHECK_EQ(s.refused, 0);
    weft_runtime_destroy(r);
}

TEST(stats_of_another_size) {
    weft_runtime* const r = check_make_runtime(1);
    struct {
        weft_stats known;
        uint64_t later;
    } newer;
    weft_stats s;
    memset(&newer, 0, sizeof newer);
    newer.known.size = sizeof newer;
    CHECK_STATUS(weft_runtime_stats(r, &newer.known), WEFT_OK);
    CHECK_EQ(newer.known.workers, 1);
    CHECK_EQ(newer.later, 0);
    CHECK_STATUS(weft_runtime_stats(r, &newer.known), WEFT_OK);
    weft_stats_init(&s);
    s.size = 8;
    CHECK_STATUS(weft_runtime_stats(r, &s), WEFT_EINVAL);
    s.size = 0;
    CHECK_STATUS(weft_runtime_stats(r, &s), WEFT_EINVAL);
    CHECK_EQ(s.workers, 0);
    weft_runtime_destroy(r);
}

struct text {
    char bytes[100000];
    size_t n;
    int pieces;
};

static void append(void* user, const char* piece, size_t n) {
    struct text* const t = (struct text*)user;
    CHECK(n > 0);
    CHECK(t->n + n < sizeof t->bytes);
    memcpy(t->bytes + t->n, piece, n);
    t->n += n;
    t->bytes[t->n] = '\0';
    ++t->pieces;
}

TEST(a_dump_is_text_or_json) {
    static struct text t;
    weft_runtime_options o = defaults();
    weft_runtime* r;
    struct waiter w;
    int i;
    size_t k;
    int depth = 0;
    bool quoted = false;
    const int bad[] = {2, -1, 100};
    memset(&w, 0, sizeof w);
    o.name = "looked at";
    o.workers = 2;
    r = make(&o);
    for (i = 0; i < 5; ++i) CHECK_STATUS(weft_spawn(r, waits_to_be_stopped, &w, NULL, NULL), WEFT_OK);
    UNTIL(get_of(&w.began) == 5);
    memset(&t, 0, sizeof t);
    CHECK_STATUS(weft_dump(WEFT_DUMP_TEXT, append, &t), WEFT_OK);
    CHECK_CONTAINS(t.bytes, "looked at");
    memset(&t, 0, sizeof t);
    CHECK_STATUS(weft_dump(WEFT_DUMP_JSON, append, &t), WEFT_OK);
    CHECK_CONTAINS(t.bytes, "\"looked at\"");
    CHECK(t.pieces >= 1);
    CHECK_EQ(t.bytes[0], '{');
    for (k = 0; k < t.n; ++k) {
        const char c = t.bytes[k];
        if (c == '\\')
            ++k;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '{' || c == '['))
            ++depth;
        else if (!quoted && (c == '}' || c == ']'))
            --depth;
    }
    CHECK_EQ(depth, 0);
    for (k = 0; k < 3; ++k) CHECK_STATUS(weft_dump(bad[k], append, &t), WEFT_EINVAL);
    weft_runtime_destroy(r);
}
