/* blocking_test.c - weft_blocking(), weft_await_callback() and weft_wait_fd(). */
#include "support/check.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

/* ---- blocking ---------------------------------------------------------------------------------- */

struct call {
    pthread_t thread;
    int result;
};

static int notes_its_thread(void* arg) {
    struct call* const c = (struct call*)arg;
    c->thread = pthread_self();
    CHECK_EQ(weft_self_id(), 0); /* a plain thread, or in place on one */
    return c->result;
}

FIBER_TEST(a_blocking_call_runs_on_a_thread_of_its_own) {
    struct call c;
    int result = 0;
    c.result = 17;
    CHECK_STATUS(weft_blocking(notes_its_thread, &c, &result), WEFT_OK);
    CHECK_EQ(result, 17);
    CHECK(!pthread_equal(c.thread, pthread_self()));
    CHECK_STATUS(weft_blocking(notes_its_thread, &c, NULL), WEFT_OK);
}

TEST(on_a_thread_a_blocking_call_runs_in_place) {
    struct call c;
    int result = 0;
    c.result = 18;
    CHECK_STATUS(weft_blocking(notes_its_thread, &c, &result), WEFT_OK);
    CHECK_EQ(result, 18);
    CHECK(pthread_equal(c.thread, pthread_self()));
}

static int fails(void* words) { return words == NULL ? (int)WEFT_EFAILED : weft_fail((const char*)words); }

ANYWHERE_TEST(a_blocking_call_can_fail) {
    char words[] = "no such file";
    int result = 99;
    CHECK_STATUS(weft_blocking(fails, words, &result), WEFT_EFAILED);
    CHECK_CONTAINS(weft_error(), "no such file");
    CHECK_EQ(result, 99);
    CHECK_STATUS(weft_blocking(fails, NULL, &result), WEFT_EFAILED);
    CHECK(strstr(weft_error(), "no such file") == NULL);
}

struct state_of_a_thread {
    pthread_t self;
};

static int is_a_thread(void* state) {
    struct state_of_a_thread* s = (struct state_of_a_thread*)state;
    s->self = pthread_self();
    errno = EDOM;
    IGNORE(weft_yield());
    CHECK_EQ(errno, EDOM);
    CHECK(pthread_equal(s->self, pthread_self()));
    return 19;
}

ANYWHERE_TEST(a_call_as_a_thread_keeps_what_is_per_thread) {
    struct state_of_a_thread s;
    int result = 0;
    CHECK_STATUS(weft_as_thread(is_a_thread, &s, &result), WEFT_OK);
    CHECK_EQ(result, 19);
    CHECK_STATUS(weft_as_thread(is_a_thread, &s, NULL), WEFT_OK);
}

FIBER_TEST(a_fiber_is_a_thread_for_its_life) {
    struct state_of_a_thread s;
    weft_attributes a;
    weft_fiber* f = NULL;
    weft_attributes_init(&a);
    a.as_thread = true;
    CHECK_STATUS(weft_spawn(NULL, is_a_thread, &s, &a, &f), WEFT_OK);
    CHECK_EQ(check_join(f), 19);
}

ANYWHERE_TEST(a_call_as_a_thread_can_fail) {
    char words[] = "no such row";
    CHECK_STATUS(weft_as_thread(fails, words, NULL), WEFT_EFAILED);
    CHECK_CONTAINS(weft_error(), "no such row");
}

static int blocks(void* pipe_end) {
    char byte = 0;
    CHECK_EQ(read(*(int*)pipe_end, &byte, 1), 1);
    return byte;
}

static int calls_what_blocks(void* pipe_end) {
    int result = 0;
    CHECK_STATUS(weft_blocking(blocks, pipe_end, &result), WEFT_OK);
    return result;
}

TEST(other_fibers_run_beside_a_blocking_call) {
    weft_runtime* const r = check_make_runtime(1);
    weft_fiber* f[3];
    int ends[2];
    int i;
    CHECK(pipe(ends) == 0);
    for (i = 0; i < 3; ++i) f[i] = check_spawn(r, calls_what_blocks, &ends[0]);
    for (i = 0; i < 3; ++i) UNTIL(check_waits(weft_fiber_id(f[i]), NULL));
    CHECK_EQ(write(ends[1], "aaa", 3), 3);
    for (i = 0; i < 3; ++i) CHECK_EQ(check_join(f[i]), 'a');
    close(ends[0]);
    close(ends[1]);
    weft_runtime_destroy(r);
}

struct begun {
    int pipe_end;
    int has_begun;
    int has_ended;
};

static int begins_and_blocks(void* arg) {
    struct begun* const b = (struct begun*)arg;
    int result;
    set_to(&b->has_begun, 1);
    result = blocks(&b->pipe_end);
    set_to(&b->has_ended, 1);
    return result;
}

static int is_stopped_in_a_blocking_call(void* arg) {
    struct begun* const b = (struct begun*)arg;
    int result = 99;
    CHECK_STATUS(weft_blocking(begins_and_blocks, b, &result), WEFT_CANCELED);
    CHECK_EQ(get_of(&b->has_ended), 1);
    CHECK_STATUS(weft_yield(), WEFT_CANCELED);
    return result;
}

FIBER_TEST(a_blocking_call_that_has_begun_is_waited_for) {
    struct begun b = {0, 0, 0};
    weft_fiber* f;
    int ends[2];
    CHECK(pipe(ends) == 0);
    b.pipe_end = ends[0];
    f = check_spawn(rt, is_stopped_in_a_blocking_call, &b);
    UNTIL(get_of(&b.has_begun));
    CHECK(weft_request_stop(f));
    CHECK_STATUS(weft_join(f, 2 * MILLISECOND, NULL), WEFT_TIMEDOUT);
    CHECK_EQ(write(ends[1], "b", 1), 1);
    CHECK_EQ(check_join(f), 99);
    close(ends[0]);
    close(ends[1]);
}

/* ---- await_callback ---------------------------------------------------------------------------- */

struct work {
    weft_resume* resume;
    int started;
    int canceled;
    weft_status status;
    void* value;
};

static void resumes_at_once(void* arg, weft_resume* r) {
    struct work* const w = (struct work*)arg;
    weft_resume_with(r, w->status, w->value);
}

static void keeps(void* arg, weft_resume* r) {
    struct work* const w = (struct work*)arg;
    w->resume = r;
    set_to(&w->started, 1);
}

static void* resumes_later(void* arg) {
    struct work* const w = (struct work*)arg;
    UNTIL(get_of(&w->started));
    weft_resume_with(w->resume, w->status, w->value);
    return NULL;
}

static void drops(void* arg, weft_resume* r) {
    (void)arg;
    weft_resume_drop(r);
}

static void* drops_later(void* arg) {
    struct work* const w = (struct work*)arg;
    UNTIL(get_of(&w->started));
    weft_resume_drop(w->resume);
    return NULL;
}

static void notes_the_cancel(void* arg) {
    struct work* const w = (struct work*)arg;
    CHECK_STATUS(weft_yield(), WEFT_OK); /* under a shield */
    add_to(&w->canceled, 1);
}

static struct work make_work(weft_status s, void* value) {
    struct work w;
    memset(&w, 0, sizeof w);
    w.status = s;
    w.value = value;
    return w;
}

ANYWHERE_TEST(a_callback_can_come_during_start) {
    int thing = 0;
    struct work w = make_work(WEFT_OK, &thing);
    void* value = NULL;
    CHECK_STATUS(weft_await_callback(resumes_at_once, notes_the_cancel, &w, &value), WEFT_OK);
    CHECK(value == &thing);
    CHECK_STATUS(weft_await_callback(resumes_at_once, NULL, &w, NULL), WEFT_OK);
    w.value = NULL;
    CHECK_STATUS(weft_await_callback(resumes_at_once, NULL, &w, &value), WEFT_OK);
    CHECK(value == NULL);
    CHECK_EQ(w.canceled, 0);
}

ANYWHERE_TEST(a_callback_can_come_from_a_thread) {
    int i;
    for (i = 0; i < 20; ++i) {
        int thing = 0;
        struct work w = make_work(WEFT_OK, &thing);
        void* value = NULL;
        pthread_t t;
        CHECK(pthread_create(&t, NULL, resumes_later, &w) == 0);
        CHECK_STATUS(weft_await_callback(keeps, notes_the_cancel, &w, &value), WEFT_OK);
        CHECK(value == &thing);
        CHECK(pthread_join(t, NULL) == 0);
        CHECK_EQ(w.canceled, 0);
    }
}

ANYWHERE_TEST(a_callback_can_bring_any_status) {
    const weft_status all[] = {WEFT_TIMEDOUT, WEFT_BUSY, WEFT_CLOSED, WEFT_EINVAL, WEFT_ESYSTEM, WEFT_EFAILED, 4711};
    size_t i;
    for (i = 0; i < sizeof all / sizeof *all; ++i) {
        int thing = 0;
        int other = 0;
        struct work w = make_work(all[i], &thing);
        void* value = &other;
        CHECK_STATUS(weft_await_callback(resumes_at_once, NULL, &w, &value), all[i]);
        CHECK(value == &other); /* it comes with WEFT_OK only */
    }
}

ANYWHERE_TEST(an_outcome_that_a_callback_brings_leaves_the_words_alone) {
    struct work w = make_work(WEFT_CLOSED, NULL);
    CHECK_EQ(weft_fail("before"), WEFT_EFAILED);
    CHECK_STATUS(weft_await_callback(resumes_at_once, NULL, &w, NULL), WEFT_CLOSED);
    CHECK(strcmp(weft_error(), "before") == 0);
}

static void fails_in_start(void* arg, weft_resume* r) { weft_resume_with(r, weft_fail((const char*)arg), NULL); }

ANYWHERE_TEST(a_failure_that_a_callback_brings_has_words) {
    char words[] = "of start";
    struct work w = make_work(WEFT_EFAILED, NULL);
    CHECK_STATUS(weft_await_callback(fails_in_start, NULL, words, NULL), WEFT_EFAILED);
    CHECK(strcmp(weft_error(), words) == 0);
    CHECK_STATUS(weft_await_callback(resumes_at_once, NULL, &w, NULL), WEFT_EFAILED);
    CHECK(strcmp(weft_error(), words) != 0); /* those are of another failure */
    CHECK(strlen(weft_error()) > 0);
}

ANYWHERE_TEST(a_callback_that_will_not_come_is_a_failure) {
    struct work w = make_work(WEFT_OK, NULL);
    void* value = &w;
    pthread_t t;
    CHECK_STATUS(weft_await_callback(drops, NULL, &w, &value), WEFT_EFAILED);
    CHECK(strlen(weft_error()) > 0);
    CHECK(pthread_create(&t, NULL, drops_later, &w) == 0);
    CHECK_STATUS(weft_await_callback(keeps, NULL, &w, &value), WEFT_EFAILED);
    CHECK(value == &w);
    CHECK(pthread_join(t, NULL) == 0);
}

static int awaits(void* arg) {
    void* value = arg;
    CHECK_STATUS(weft_await_callback(keeps, notes_the_cancel, arg, &value), WEFT_CANCELED);
    CHECK(value == arg);
    CHECK_STATUS(weft_yield(), WEFT_CANCELED);
    return 3;
}

ANYWHERE_TEST(a_stop_cancels_and_a_late_callback_has_no_effect) {
    int way;
    for (way = 0; way < 2; ++way) {
        struct work w = make_work(WEFT_OK, NULL);
        weft_fiber* const f = check_spawn(rt, awaits, &w);
        UNTIL(get_of(&w.started));
        CHECK(weft_request_stop(f));
        CHECK_EQ(check_join(f), 3);
        CHECK_EQ(get_of(&w.canceled), 1);
        if (way == 0)
            weft_resume_with(w.resume, WEFT_OK, &w);
        else
            weft_resume_drop(w.resume);
    }
}

static void resumes_because_of_the_cancel(void* arg) {
    struct work* const w = (struct work*)arg;
    add_to(&w->canceled, 1);
    weft_resume_with(w->resume, WEFT_CLOSED, NULL);
}

static int awaits_what_ends_on_cancel(void* arg) { return weft_await_callback(keeps, resumes_because_of_the_cancel, arg, NULL); }

ANYWHERE_TEST(the_work_may_resume_from_on_cancel) {
    struct work w = make_work(WEFT_OK, NULL);
    weft_fiber* const f = check_spawn(rt, awaits_what_ends_on_cancel, &w);
    UNTIL(get_of(&w.started));
    CHECK(weft_request_stop(f));
    CHECK_EQ(check_join(f), WEFT_CANCELED);
    CHECK_EQ(get_of(&w.canceled), 1);
}

FIBER_TEST(a_deadline_cancels_a_callback) {
    struct work w = make_work(WEFT_OK, NULL);
    weft_deadline d;
    weft_status s;
    weft_deadline_enter(&d, MILLISECOND);
    s = weft_await_callback(keeps, notes_the_cancel, &w, NULL);
    CHECK_STATUS(s, WEFT_CANCELED);
    CHECK_STATUS(weft_deadline_leave(&d, s), WEFT_TIMEDOUT);
    CHECK_EQ(w.canceled, 1);
    weft_resume_with(w.resume, WEFT_OK, NULL);
}

/* ---- wait_fd ------------------------------------------------------------------------------------- */

static int waits_to_read(void* fd) { return weft_wait_fd(*(int*)fd, WEFT_READ, WEFT_FOREVER); }

ANYWHERE_TEST(a_pipe_becomes_readable) {
    int ends[2];
    char byte = 0;
    weft_fiber* f;
    CHECK(pipe(ends) == 0);
    CHECK_STATUS(weft_wait_fd(ends[0], WEFT_READ, 0), WEFT_BUSY);
    CHECK_STATUS(weft_wait_fd(ends[0], WEFT_READ, MILLISECOND), WEFT_TIMEDOUT);
    CHECK_STATUS(weft_wait_fd(ends[1], WEFT_WRITE, 0), WEFT_OK);
    CHECK_STATUS(weft_wait_fd(ends[1], WEFT_WRITE, WEFT_FOREVER), WEFT_OK);
    f = check_spawn(rt, waits_to_read, &ends[0]);
    UNTIL(check_waits(weft_fiber_id(f), NULL));
    CHECK_EQ(write(ends[1], "x", 1), 1);
    CHECK_EQ(check_join(f), WEFT_OK);
    CHECK_STATUS(weft_wait_fd(ends[0], WEFT_READ, 0), WEFT_OK);
    CHECK_STATUS(weft_wait_fd(ends[0], WEFT_READ, HOURS), WEFT_OK);
    CHECK_EQ(read(ends[0], &byte, 1), 1);
    CHECK_STATUS(weft_wait_fd(ends[0], WEFT_READ, 0), WEFT_BUSY);
    close(ends[1]);
    CHECK_STATUS(weft_wait_fd(ends[0], WEFT_READ, WEFT_FOREVER), WEFT_OK); /* its end can be read */
    close(ends[0]);
}

ANYWHERE_TEST(a_full_pipe_becomes_writable) {
    static char bytes[4096];
    int ends[2];
    char drained[4096];
    CHECK(pipe(ends) == 0);
    CHECK(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
    while (write(ends[1], bytes, sizeof bytes) > 0) {}
    CHECK_EQ(errno, EAGAIN);
    CHECK_STATUS(weft_wait_fd(ends[1], WEFT_WRITE, 0), WEFT_BUSY);
    CHECK_STATUS(weft_wait_fd(ends[1], WEFT_WRITE, MILLISECOND), WEFT_TIMEDOUT);
    while (read(ends[0], drained, sizeof drained) == (ssize_t)sizeof drained)
        if (weft_wait_fd(ends[0], WEFT_READ, 0) != WEFT_OK) break;
    CHECK_STATUS(weft_wait_fd(ends[1], WEFT_WRITE, WEFT_FOREVER), WEFT_OK);
    close(ends[0]);
    close(ends[1]);
}

ANYWHERE_TEST(a_regular_file_cannot_be_waited_for) {
    const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_STATUS(weft_wait_fd(fd, WEFT_READ, WEFT_FOREVER), WEFT_ESYSTEM);
    CHECK_EQ(weft_error_errno(), EINVAL);
    CHECK_STATUS(weft_wait_fd(fd, WEFT_WRITE, 0), WEFT_ESYSTEM);
    close(fd);
}

ANYWHERE_TEST(bad_descriptors_and_kinds_are_refused) {
    const int bad_kinds[] = {0, 3, 4, -1};
    int ends[2];
    size_t i;
    CHECK(pipe(ends) == 0);
    for (i = 0; i < 4; ++i) CHECK_STATUS(weft_wait_fd(ends[0], bad_kinds[i], 0), WEFT_EINVAL);
    close(ends[0]);
    close(ends[1]);
    CHECK_STATUS(weft_wait_fd(ends[0], WEFT_READ, 0), WEFT_ESYSTEM);
    CHECK_EQ(weft_error_errno(), EBADF);
    CHECK_STATUS(weft_wait_fd(-1, WEFT_WRITE, WEFT_FOREVER), WEFT_ESYSTEM);
    CHECK_EQ(weft_error_errno(), EBADF);
}

FIBER_TEST(the_descriptor_stays_the_callers) {
    int ends[2];
    int i;
    CHECK(pipe(ends) == 0);
    for (i = 0; i < 10; ++i) {
        char byte = 0;
        CHECK_EQ(write(ends[1], "x", 1), 1);
        CHECK_STATUS(weft_wait_fd(ends[0], WEFT_READ, WEFT_FOREVER), WEFT_OK);
        CHECK_EQ(read(ends[0], &byte, 1), 1);
        CHECK_STATUS(weft_wait_fd(ends[0], WEFT_READ, MICROSECOND), WEFT_TIMEDOUT);
    }
    CHECK(close(ends[0]) == 0);
    CHECK(close(ends[1]) == 0);
}

static void notes_start(void* arg, weft_resume* r) {
    ((int*)arg)[0] = 1;
    weft_resume_with(r, WEFT_OK, NULL);
}
static void notes_cancel(void* arg) { ((int*)arg)[1] = 1; }
FIBER_TEST(a_fiber_that_is_stopped_already_starts_nothing) {
    int called[2] = {0, 0};
    weft_deadline d;
    weft_deadline_enter(&d, 0);
    CHECK_STATUS(weft_await_callback(notes_start, notes_cancel, called, NULL), WEFT_CANCELED);
    CHECK_STATUS(weft_deadline_leave(&d, WEFT_CANCELED), WEFT_TIMEDOUT);
    CHECK(called[0] == 0 && called[1] == 0);
}
