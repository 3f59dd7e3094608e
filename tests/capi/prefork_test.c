/* prefork_test.c - processes that share a port, from C. */
#include "support/check.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#include <weft/c_prefork.h>

/* ---- a program whose workers answer with a word, and whose master asks one and ends it all ---- */

typedef struct worker_place {
    weft_listener* listener;
    int stops;
} worker_place;

static int answer_all(void* arg) {
    worker_place* const p = (worker_place*)arg;
    for (;;) {
        weft_stream* s;
        if (weft_accept(p->listener, WEFT_FOREVER, &s) != WEFT_OK) return 0;
        CHECK_STATUS(weft_write(s, "hello", 5, HOURS, NULL), WEFT_OK);
        weft_stream_destroy(s);
    }
}

static void stop_answering(bool program_ends, void* arg) {
    worker_place* const p = (worker_place*)arg;
    ++p->stops;
    if (program_ends) weft_listener_close(p->listener);
}

static int work(weft_prefork_worker* w, void* arg) {
    worker_place p = {NULL, 0};
    weft_listener* twice;
    int result = -1;
    CHECK(*(const int*)arg == 7);
    CHECK_EQ(weft_prefork_grace(w), 20 * SECOND);
    CHECK_STATUS(weft_prefork_listener(w, NULL), WEFT_EINVAL);
    CHECK_STATUS(weft_prefork_listener(w, &p.listener), WEFT_OK);
    CHECK(weft_prefork_listener(w, &twice) != WEFT_OK);
    CHECK_STATUS(weft_prefork_serve(w, NULL, stop_answering, &p, NULL), WEFT_EINVAL);
    CHECK_STATUS(weft_prefork_serve(w, answer_all, NULL, &p, NULL), WEFT_EINVAL);
    CHECK_STATUS(weft_prefork_serve(w, answer_all, stop_answering, &p, &result), WEFT_OK);
    CHECK_EQ(result, 0);
    CHECK(p.stops >= 1);
    weft_listener_destroy(p.listener);
    return 0;
}

static char address[64];
static void* ask_and_end(void* unused) {
    char word[8] = "";
    weft_stream* s;
    (void)unused;
    CHECK_STATUS(weft_connect(address, HOURS, &s), WEFT_OK);
    CHECK_STATUS(weft_read_exact(s, word, 5, HOURS, NULL), WEFT_OK);
    CHECK_CONTAINS(word, "hello");
    weft_stream_destroy(s);
    kill(getpid(), SIGTERM);
    return NULL;
}

static pthread_t asker;
static void begin_to_ask(const char* at, void* user) {
    CHECK(*(const int*)user == 8);
    snprintf(address, sizeof address, "%s", at);
    CHECK(pthread_create(&asker, NULL, ask_and_end, NULL) == 0);
}

HELPER(a_program_of_two_processes) {
    const bool is_worker = weft_prefork_is_worker();
    char self[] = "/proc/self/exe", name[] = "a_program_of_two_processes";
    char* arguments[] = {self, name, NULL};
    int seven = 7, eight = 8, code = -1;
    weft_prefork_options o;
    weft_prefork_options_init(&o);
    o.at = "127.0.0.1:0";
    o.processes = 2;
    o.workers = 1;
    o.grace_ns = 20 * SECOND;
    o.on_ready = begin_to_ask;
    o.user = &eight;
    CHECK_STATUS(weft_prefork_run(2, arguments, &o, work, &seven, &code), WEFT_OK);
    CHECK_EQ(code, 0);
    if (!is_worker) {
        CHECK(pthread_join(asker, NULL) == 0);
        fprintf(stderr, "the master has ended\n");
    }
}

TEST(workers_answer_and_end_with_their_master) {
    char text[16384];
    check_runs("a_program_of_two_processes", text, sizeof text);
    CHECK_CONTAINS(text, "the master has ended");
}

/* ---- bad input ---- */

static int no_work(weft_prefork_worker* w, void* arg) {
    (void)w, (void)arg;
    return 0;
}

TEST(bad_input_is_named) {
    weft_prefork_options o;
    weft_listener* l;
    int code = -1;
    weft_prefork_options_init(&o);
    CHECK(!weft_prefork_is_worker());
    CHECK_STATUS(weft_prefork_run(0, NULL, NULL, no_work, NULL, &code), WEFT_EINVAL);
    CHECK_STATUS(weft_prefork_run(0, NULL, &o, no_work, NULL, &code), WEFT_EINVAL);
    CHECK_CONTAINS(weft_error(), "at is null");
    o.at = "no port";
    CHECK_STATUS(weft_prefork_run(0, NULL, &o, no_work, NULL, &code), WEFT_EINVAL);
    o.at = "127.0.0.1:0";
    CHECK_STATUS(weft_prefork_run(0, NULL, &o, NULL, NULL, &code), WEFT_EINVAL);
    CHECK_STATUS(weft_prefork_run(0, NULL, &o, no_work, NULL, NULL), WEFT_EINVAL);
    CHECK_STATUS(weft_prefork_run(1, NULL, &o, no_work, NULL, &code), WEFT_EINVAL);
    o.grace_ns = -1;
    CHECK_STATUS(weft_prefork_run(0, NULL, &o, no_work, NULL, &code), WEFT_EINVAL);
    CHECK_CONTAINS(weft_error(), "grace_ns is negative");
    o.size = 8;
    CHECK_STATUS(weft_prefork_run(0, NULL, &o, no_work, NULL, &code), WEFT_EINVAL);
    CHECK_STATUS(weft_prefork_listener(NULL, &l), WEFT_EINVAL);
    CHECK_STATUS(weft_prefork_descriptor(NULL, &code), WEFT_EINVAL);
    CHECK_STATUS(weft_prefork_serve(NULL, answer_all, stop_answering, NULL, NULL), WEFT_EINVAL);
    CHECK_EQ(weft_prefork_grace(NULL), 0);
}

FIBER_TEST(a_fiber_cannot_be_the_master) {
    weft_prefork_options o;
    int code = -1;
    weft_prefork_options_init(&o);
    o.at = "127.0.0.1:0";
    CHECK_STATUS(weft_prefork_run(0, NULL, &o, no_work, NULL, &code), WEFT_ESTATE);
}
