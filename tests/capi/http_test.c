/* http_test.c - the HTTP server of C: routes, requests, bodies in both ways, answers that fail, the end. */
#include "support/check.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <weft/c_http.h>

static const weft_http_field plain = {"Content-Type", 12, "text/plain", 10};

/* ---- a server on a fiber, and a client of few words ---- */

typedef struct place {
    weft_http_server* server;
    weft_fiber* serving;
    char at[64];
} place;

static int serve_it(void* arg) { return weft_http_serve((weft_http_server*)arg); }

static void make(place* p, const weft_http_options* o) { CHECK_STATUS(weft_http_create(o, &p->server), WEFT_OK); }

static void start(place* p) {
    CHECK_STATUS(weft_http_listen(p->server, "127.0.0.1:0"), WEFT_OK);
    CHECK_STATUS(weft_http_local(p->server, p->at, sizeof p->at), WEFT_OK);
    CHECK_STATUS(weft_spawn(rt, serve_it, p->server, NULL, &p->serving), WEFT_OK);
}

static void end(place* p) {
    int result = -1;
    weft_http_stop(p->server, 10 * SECOND);
    CHECK_STATUS(weft_join(p->serving, HOURS, &result), WEFT_OK);
    CHECK_EQ(result, WEFT_OK);
    weft_http_destroy(p->server);
}

/* Sends `words` and reads until the other end closes. */
static const char* ask(const place* p, const char* words) {
    static char answer[400000];
    weft_stream* s;
    size_t n = 0;
    CHECK_STATUS(weft_connect(p->at, HOURS, &s), WEFT_OK);
    CHECK_STATUS(weft_write(s, words, strlen(words), HOURS, NULL), WEFT_OK);
    for (;;) {
        size_t got;
        if (weft_read(s, answer + n, sizeof answer - 1 - n, HOURS, &got) != WEFT_OK || got == 0) break;
        n += got;
    }
    answer[n] = '\0';
    weft_stream_destroy(s);
    return answer;
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

static int hello(weft_http_request* q, void* user) {
    const char* const words = user ? (const char*)user : "hello\n";
    return weft_http_answer(q, 200, &plain, 1, words, strlen(words));
}

/* ---- requests ---- */

static int has(weft_piece text, const char* words) {
    return text.data && text.size == strlen(words) && memcmp(text.data, words, text.size) == 0;
}

static int look(weft_http_request* q, void* user) {
    const weft_http_field first = weft_http_header_at(q, 0);
    (void)user;
    CHECK(has(weft_http_method(q), "GET"));
    CHECK(has(weft_http_target(q), "/users/a%20b?x=1&y=2"));
    CHECK(has(weft_http_path(q), "/users/a%20b"));
    CHECK(has(weft_http_query(q), "x=1&y=2"));
    CHECK(has(weft_http_path_parameter(q, "id"), "a b"));
    CHECK(weft_http_path_parameter(q, "other").data == NULL);
    CHECK(has(weft_http_header(q, "hOST"), "x"));
    CHECK(weft_http_header(q, "Accept").data == NULL);
    CHECK_EQ(weft_http_header_count(q), 2);
    CHECK(first.name_size == 4 && memcmp(first.name, "Host", 4) == 0 && first.value_size == 1);
    CHECK(weft_http_header_at(q, 2).name == NULL);
    CHECK(weft_http_head(q).size > 44 && memcmp(weft_http_head(q).data, "GET /users/a%20b?x=1&y=2 HTTP/1.1\r\nHost: x\r\n", 44) == 0);
    CHECK_EQ(weft_http_minor_version(q), 1);
    CHECK_EQ(weft_http_body_left(q), 0);
    CHECK(has(weft_http_peer_host(q), "127.0.0.1"));
    CHECK(weft_http_peer_port(q) != 0);
    return hello(q, NULL);
}

FIBER_TEST(a_request_is_seen_as_it_was_sent) {
    place p;
    make(&p, NULL);
    CHECK_STATUS(weft_http_route(p.server, "GET", "/users/{id}", look, NULL), WEFT_OK);
    start(&p);
    CHECK_CONTAINS(ask(&p, GET("/users/a%20b?x=1&y=2")), "HTTP/1.1 200 OK");
    end(&p);
}

FIBER_TEST(routes_constants_files_and_what_is_not_there) {
    place p;
    char folder[] = P_tmpdir "/weft_http_XXXXXX", path[64];
    weft_http_files_options o;
    int fd;
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/a.txt", folder);
    fd = open(path, O_CREAT | O_WRONLY, 0600);
    CHECK(fd >= 0 && write(fd, "a file", 6) == 6);
    close(fd);
    weft_http_files_options_init(&o);
    o.cache_ns = 60 * SECOND;
    make(&p, NULL);
    CHECK_STATUS(weft_http_route(p.server, NULL, "/{path...}", hello, (void*)"everything else"), WEFT_OK);
    CHECK_STATUS(weft_http_constant(p.server, "/health", "text/plain", "well", 4), WEFT_OK);
    CHECK_STATUS(weft_http_files(p.server, "/static", folder, &o), WEFT_OK);
    start(&p);
    CHECK_CONTAINS(ask(&p, GET("/a/b/c")), "everything else");
    CHECK_CONTAINS(ask(&p, "DELETE / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"), "everything else");
    CHECK_CONTAINS(ask(&p, GET("/health")), "\r\n\r\nwell");
    CHECK_CONTAINS(ask(&p, GET("/static/a.txt")), "a file");
    CHECK_CONTAINS(ask(&p, GET("/static/a.txt")), "max-age=60");
    CHECK_CONTAINS(ask(&p, GET("/static/b.txt")), "404 Not Found");
    CHECK_CONTAINS(ask(&p, "GET /health HTTP/1.1\r\n\r\n"), "400 Bad Request"); /* no Host */
    end(&p);
    unlink(path);
    rmdir(folder);
}

/* ---- bodies ---- */

/* Answers with how many bytes it has read. */
static int count(weft_http_request* q, void* user) {
    char piece[1000], words[32];
    size_t all = 0, got;
    weft_status s;
    (void)user;
    while ((s = weft_http_read(q, piece, sizeof piece, &got)) == WEFT_OK && got != 0) all += got;
    if (s != WEFT_OK) return s;
    snprintf(words, sizeof words, "%d bytes", (int)all);
    return weft_http_answer(q, 200, &plain, 1, words, strlen(words));
}

static int ignore_failure(weft_http_request* q, void* user) {
    char piece[1000];
    size_t got;
    (void)user;
    while (weft_http_read(q, piece, sizeof piece, &got) == WEFT_OK && got != 0) continue;
    return weft_http_answer(q, 200, NULL, 0, "all is well", 11);
}

FIBER_TEST(bodies_are_read_and_limited) {
    place p;
    weft_http_options o;
    weft_http_options_init(&o);
    o.max_body_bytes = 10;
    make(&p, &o);
    CHECK_STATUS(weft_http_route(p.server, "POST", "/", count, NULL), WEFT_OK);
    CHECK_STATUS(weft_http_route(p.server, "POST", "/ignore", ignore_failure, NULL), WEFT_OK);
    start(&p);
    CHECK_CONTAINS(ask(&p, "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 10\r\n\r\n0123456789"),
                   "10 bytes");
    CHECK_CONTAINS(ask(&p, "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 11\r\n\r\n0123456789a"), "413 ");
    CHECK_CONTAINS(ask(&p,
                       "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: "
                       "chunked\r\n\r\n5\r\n01234\r\n5\r\n56789\r\n0\r\n\r\n"),
                   "10 bytes");
    CHECK_CONTAINS(
        ask(&p,
            "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n0123456789a\r\n0\r\n\r\n"),
        "413 ");
    CHECK_CONTAINS(ask(&p, "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
                   "400 ");
    CHECK_CONTAINS(ask(&p, "POST /ignore HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
                   "400 ");
    end(&p);
}

static int ends; /* of streamed answers */
static void count_end(void* user) {
    (void)user;
    __atomic_fetch_add(&ends, 1, __ATOMIC_RELAXED);
}
static int count_of_ends(void) { return __atomic_load_n(&ends, __ATOMIC_RELAXED); }

static int write_pieces(weft_http_body* out, void* user) {
    weft_status s;
    (void)user;
    CHECK(weft_http_request_of(out) != NULL);
    CHECK(has(weft_http_method(weft_http_request_of(out)), "GET"));
    CHECK(!weft_http_stopping(out));
    if ((s = weft_http_write(out, "one ", 4)) != WEFT_OK) return s;
    if ((s = weft_http_flush(out)) != WEFT_OK) return s;
    if ((s = weft_yield()) != WEFT_OK) return s;
    return weft_http_write(out, "two", 3);
}
static int write_too_little(weft_http_body* out, void* user) {
    (void)user;
    return weft_http_write(out, "one ", 4);
}
static int write_and_fail(weft_http_body* out, void* user) {
    (void)user;
    CHECK_STATUS(weft_http_write(out, "one ", 4), WEFT_OK);
    return weft_fail("no two");
}
static int write_a_file(weft_http_body* out, void* user) { return weft_http_write_file(out, *(const int*)user, 2, 4); }

static int stream(weft_http_request* q, void* user) {
    (void)user;
    return weft_http_stream(q, 200, &plain, 1, -1, write_pieces, count_end, NULL);
}
static int stream_of_seven(weft_http_request* q, void* user) {
    (void)user;
    return weft_http_stream(q, 200, &plain, 1, 7, write_pieces, count_end, NULL);
}
static int stream_of_eight(weft_http_request* q, void* user) {
    (void)user;
    return weft_http_stream(q, 200, &plain, 1, 8, write_too_little, count_end, NULL);
}
static int stream_that_fails(weft_http_request* q, void* user) {
    (void)user;
    return weft_http_stream(q, 200, &plain, 1, -1, write_and_fail, count_end, NULL);
}
static int stream_and_fail(weft_http_request* q, void* user) {
    (void)user;
    CHECK_STATUS(weft_http_stream(q, 200, &plain, 1, -1, write_pieces, count_end, NULL), WEFT_OK);
    return weft_fail("on second thoughts");
}
static int stream_of_a_file(weft_http_request* q, void* user) {
    return weft_http_stream(q, 200, &plain, 1, 4, write_a_file, count_end, user);
}

static char last_failure[256];
static void keep_failure(const weft_http_failure* f, void* user) {
    CHECK_EQ(*(const int*)user, 7);
    snprintf(last_failure, sizeof last_failure, "%s %s: %s", f->method, f->target, f->words);
}

FIBER_TEST(answers_are_written_piece_by_piece) {
    place p;
    weft_http_options o;
    char file[] = P_tmpdir "/weft_http_XXXXXX";
    int seven = 7, fd = mkstemp(file);
    CHECK(fd >= 0 && write(fd, "0123456789", 10) == 10);
    weft_http_options_init(&o);
    o.on_error = keep_failure;
    o.user = &seven;
    make(&p, &o);
    CHECK_STATUS(weft_http_route(p.server, "GET", "/chunks", stream, NULL), WEFT_OK);
    CHECK_STATUS(weft_http_route(p.server, "GET", "/seven", stream_of_seven, NULL), WEFT_OK);
    CHECK_STATUS(weft_http_route(p.server, "GET", "/eight", stream_of_eight, NULL), WEFT_OK);
    CHECK_STATUS(weft_http_route(p.server, "GET", "/fails", stream_that_fails, NULL), WEFT_OK);
    CHECK_STATUS(weft_http_route(p.server, "GET", "/before", stream_and_fail, NULL), WEFT_OK);
    CHECK_STATUS(weft_http_route(p.server, "GET", "/file", stream_of_a_file, &fd), WEFT_OK);
    start(&p);
    ends = 0;
    CHECK_CONTAINS(ask(&p, GET("/chunks")), "4\r\none \r\n3\r\ntwo\r\n0\r\n\r\n");
    CHECK_EQ(count_of_ends(), 1);
    CHECK_CONTAINS(ask(&p, "GET /chunks HTTP/1.0\r\nHost: x\r\n\r\n"), "\r\n\r\none two");
    CHECK_CONTAINS(ask(&p, GET("/seven")), "Content-Length: 7\r\n");
    CHECK_CONTAINS(ask(&p, GET("/seven")), "\r\n\r\none two");
    CHECK_EQ(count_of_ends(), 4);
    CHECK_CONTAINS(ask(&p, "HEAD /seven HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"), "Content-Length: 7\r\n");
    CHECK_EQ(count_of_ends(), 5);
    CHECK_CONTAINS(ask(&p, GET("/file")), "\r\n\r\n2345");
    ask(&p, GET("/eight"));
    CHECK_CONTAINS(last_failure, "GET /eight: ");
    ask(&p, GET("/fails"));
    CHECK_CONTAINS(last_failure, "GET /fails: ");
    CHECK_CONTAINS(last_failure, "no two");
    CHECK_EQ(count_of_ends(), 8);
    CHECK_CONTAINS(ask(&p, GET("/before")), "500 Internal Server Error");
    CHECK_CONTAINS(last_failure, "on second thoughts");
    CHECK_EQ(count_of_ends(), 9);
    end(&p);
    close(fd);
    unlink(file);
}

/* ---- answers that fail ---- */

static int no_answer(weft_http_request* q, void* user) {
    (void)q, (void)user;
    return WEFT_OK;
}
static int canceled_for_nothing(weft_http_request* q, void* user) {
    (void)q, (void)user;
    return WEFT_CANCELED;
}
static int bad_answers(weft_http_request* q, void* user) {
    const weft_http_field forged = {"X", 1, "a\r\nSet-Cookie: b", 16}, no_name = {NULL, 0, "a", 1}, no_token = {"a b", 3, "c", 1};
    (void)user;
    CHECK_STATUS(weft_http_answer(q, 100, NULL, 0, "", 0), WEFT_EINVAL);
    CHECK_STATUS(weft_http_answer(q, 1000, NULL, 0, "", 0), WEFT_EINVAL);
    CHECK_STATUS(weft_http_answer(q, 200, NULL, 1, "", 0), WEFT_EINVAL);
    CHECK_STATUS(weft_http_answer(q, 200, NULL, 0, NULL, 1), WEFT_EINVAL);
    CHECK_STATUS(weft_http_answer(q, 200, &forged, 1, "", 0), WEFT_EINVAL);
    CHECK_STATUS(weft_http_answer(q, 200, &no_name, 1, "", 0), WEFT_EINVAL);
    CHECK_STATUS(weft_http_answer(q, 200, &no_token, 1, "", 0), WEFT_EINVAL);
    CHECK_STATUS(weft_http_stream(q, 200, NULL, 0, -2, write_pieces, NULL, NULL), WEFT_EINVAL);
    CHECK_STATUS(weft_http_stream(q, 200, NULL, 0, -1, NULL, NULL, NULL), WEFT_EINVAL);
    CHECK_STATUS(weft_http_answer(q, 204, NULL, 0, NULL, 0), WEFT_OK);
    CHECK_STATUS(weft_http_answer(q, 200, NULL, 0, "twice", 5), WEFT_ESTATE);
    CHECK_STATUS(weft_http_stream(q, 200, NULL, 0, -1, write_pieces, NULL, NULL), WEFT_ESTATE);
    return WEFT_OK;
}
static int sleep_long(weft_http_request* q, void* user) {
    const weft_status s = weft_sleep(HOURS);
    (void)user;
    return s != WEFT_OK ? s : weft_http_answer(q, 200, NULL, 0, "", 0);
}

FIBER_TEST(handlers_that_fail) {
    place p;
    weft_http_options o;
    int seven = 7;
    weft_http_options_init(&o);
    o.on_error = keep_failure;
    o.user = &seven;
    o.request_timeout_ns = 50 * MILLISECOND;
    make(&p, &o);
    CHECK_STATUS(weft_http_route(p.server, "GET", "/none", no_answer, NULL), WEFT_OK);
    CHECK_STATUS(weft_http_route(p.server, "GET", "/canceled", canceled_for_nothing, NULL), WEFT_OK);
    CHECK_STATUS(weft_http_route(p.server, "GET", "/bad", bad_answers, NULL), WEFT_OK);
    CHECK_STATUS(weft_http_route(p.server, "GET", "/long", sleep_long, NULL), WEFT_OK);
    start(&p);
    CHECK_CONTAINS(ask(&p, GET("/none")), "500 Internal Server Error");
    CHECK_CONTAINS(last_failure, "GET /none: ");
    CHECK_CONTAINS(last_failure, "without an answer");
    CHECK_CONTAINS(ask(&p, GET("/canceled")), "500 Internal Server Error");
    CHECK_CONTAINS(last_failure, "WEFT_CANCELED");
    CHECK_CONTAINS(ask(&p, GET("/bad")), "204 No Content");
    CHECK_CONTAINS(ask(&p, GET("/long")), "503 Service Unavailable");
    end(&p);
}

FIBER_TEST(an_access_log_has_a_line_for_each_answer) {
    place p;
    int ends_of_pipe[2];
    char line[300];
    ssize_t n;
    CHECK(pipe(ends_of_pipe) == 0);
    make(&p, NULL);
    CHECK_STATUS(weft_http_log_access(p.server, ends_of_pipe[1], 3), WEFT_EINVAL);
    CHECK_STATUS(weft_http_log_access(p.server, -1, WEFT_HTTP_LOG_JSON), WEFT_ESYSTEM);
    CHECK_STATUS(weft_http_log_access(p.server, ends_of_pipe[1], WEFT_HTTP_LOG_COMMON), WEFT_OK);
    CHECK_STATUS(weft_http_route(p.server, "GET", "/", hello, NULL), WEFT_OK);
    start(&p);
    ask(&p, GET("/"));
    end(&p);
    n = read(ends_of_pipe[0], line, sizeof line - 1);
    CHECK(n > 0);
    line[n > 0 ? n : 0] = '\0';
    CHECK_CONTAINS(line, "\"GET / HTTP/1.1\" 200 6\n");
    close(ends_of_pipe[0]);
    close(ends_of_pipe[1]);
}

/* ---- the end ---- */

static weft_event has_begun;
static int announce_and_sleep(weft_http_request* q, void* user) {
    (void)q, (void)user;
    weft_event_set(&has_begun);
    CHECK_STATUS(weft_sleep(HOURS), WEFT_CANCELED);
    return WEFT_CANCELED;
}
static int ask_long(void* arg) {
    ask((const place*)arg, GET("/long"));
    return 0;
}

FIBER_TEST(the_end_of_the_grace_stops_a_handler) {
    place p;
    weft_fiber* client;
    int result = -1;
    weft_event_init(&has_begun, false);
    make(&p, NULL);
    CHECK_STATUS(weft_http_route(p.server, "GET", "/long", announce_and_sleep, NULL), WEFT_OK);
    start(&p);
    CHECK_STATUS(weft_spawn(rt, ask_long, &p, NULL, &client), WEFT_OK);
    CHECK_STATUS(weft_event_wait(&has_begun, HOURS), WEFT_OK);
    weft_http_drain(p.server, HOURS);
    weft_http_stop(p.server, 0);
    CHECK_STATUS(weft_join(p.serving, HOURS, &result), WEFT_OK);
    CHECK_EQ(result, WEFT_OK);
    CHECK_STATUS(weft_join(client, HOURS, NULL), WEFT_OK);
    weft_http_destroy(p.server);
}

FIBER_TEST(a_listener_of_the_program) {
    place p;
    weft_listener* l;
    make(&p, NULL);
    CHECK_STATUS(weft_http_route(p.server, "GET", "/", hello, NULL), WEFT_OK);
    CHECK_STATUS(weft_listen("127.0.0.1:0", NULL, &l), WEFT_OK);
    CHECK_STATUS(weft_http_listen_on(p.server, l), WEFT_OK);
    CHECK_STATUS(weft_http_local(p.server, p.at, sizeof p.at), WEFT_OK);
    CHECK_STATUS(weft_spawn(rt, serve_it, p.server, NULL, &p.serving), WEFT_OK);
    CHECK_CONTAINS(ask(&p, GET("/")), "hello");
    end(&p);
}

FIBER_TEST(a_descriptor_of_the_program) {
    place p;
    weft_listener* l;
    make(&p, NULL);
    CHECK_STATUS(weft_http_route(p.server, "GET", "/", hello, NULL), WEFT_OK);
    CHECK_STATUS(weft_listen("127.0.0.1:0", NULL, &l), WEFT_OK);
    CHECK_STATUS(weft_http_listen_descriptor(p.server, dup(weft_listener_fd(l))), WEFT_OK);
    CHECK_STATUS(weft_http_local(p.server, p.at, sizeof p.at), WEFT_OK);
    weft_listener_destroy(l);
    CHECK_STATUS(weft_spawn(rt, serve_it, p.server, NULL, &p.serving), WEFT_OK);
    CHECK_CONTAINS(ask(&p, GET("/")), "hello");
    end(&p);
}

/* ---- a Unix socket ---- */

static struct sockaddr_un address_of(const char* path) {
    struct sockaddr_un at;
    memset(&at, 0, sizeof at);
    at.sun_family = AF_UNIX;
    snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    return at;
}

static int ask_by_path(void* path) {
    static const char words[] = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    const struct sockaddr_un at = address_of((const char*)path);
    const int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char answer[4096];
    size_t used = 0;
    ssize_t n;
    CHECK(connect(s, (const struct sockaddr*)&at, sizeof at) == 0);
    CHECK(write(s, words, sizeof words - 1) == (ssize_t)sizeof words - 1);
    while ((n = read(s, answer + used, sizeof answer - 1 - used)) > 0) used += (size_t)n;
    answer[used] = 0;
    close(s);
    CHECK_CONTAINS(answer, "hello");
    return 0;
}

FIBER_TEST(a_unix_socket) {
    char at[64], path[48];
    struct sockaddr_un name;
    int opened;
    place p;
    snprintf(path, sizeof path, "/tmp/weft-capi-%d", (int)getpid());
    snprintf(at, sizeof at, "unix:%s", path);

    make(&p, NULL);
    CHECK_STATUS(weft_http_route(p.server, "GET", "/", hello, NULL), WEFT_OK);
    CHECK_STATUS(weft_http_listen(p.server, at), WEFT_OK);
    CHECK_STATUS(weft_http_local(p.server, p.at, sizeof p.at), WEFT_OK);
    CHECK_CONTAINS(p.at, at);
    CHECK_STATUS(weft_spawn(rt, serve_it, p.server, NULL, &p.serving), WEFT_OK);
    CHECK_STATUS(weft_blocking(ask_by_path, path, NULL), WEFT_OK);
    end(&p);
    CHECK(access(path, F_OK) != 0);

    name = address_of(path);
    opened = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(bind(opened, (struct sockaddr*)&name, sizeof name) == 0);
    CHECK(listen(opened, 5) == 0);
    make(&p, NULL);
    CHECK_STATUS(weft_http_route(p.server, "GET", "/", hello, NULL), WEFT_OK);
    CHECK_STATUS(weft_http_listen_descriptor(p.server, opened), WEFT_OK);
    CHECK_STATUS(weft_http_local(p.server, p.at, sizeof p.at), WEFT_OK);
    CHECK_CONTAINS(p.at, at);
    CHECK_STATUS(weft_spawn(rt, serve_it, p.server, NULL, &p.serving), WEFT_OK);
    CHECK_STATUS(weft_blocking(ask_by_path, path, NULL), WEFT_OK);
    end(&p);
    CHECK(access(path, F_OK) == 0);
    CHECK(unlink(path) == 0);
}

/* ---- bad input ---- */

TEST(bad_input_is_named) {
    weft_http_server* s = NULL;
    weft_listener* l;
    weft_http_options o;
    weft_http_files_options f;
    char text[64];
    size_t got = 1;
    weft_http_options_init(&o);
    weft_http_files_options_init(&f);
    CHECK_STATUS(weft_http_create(NULL, NULL), WEFT_EINVAL);
    o.size = 8;
    CHECK_STATUS(weft_http_create(&o, &s), WEFT_EINVAL);
    weft_http_options_init(&o);
    o.idle_timeout_ns = -1;
    CHECK_STATUS(weft_http_create(&o, &s), WEFT_EINVAL);
    CHECK_CONTAINS(weft_error(), "idle_timeout_ns is negative");
    CHECK_STATUS(weft_http_create(NULL, &s), WEFT_OK);

    CHECK_STATUS(weft_http_route(NULL, "GET", "/", hello, NULL), WEFT_EINVAL);
    CHECK_STATUS(weft_http_route(s, "GET", NULL, hello, NULL), WEFT_EINVAL);
    CHECK_STATUS(weft_http_route(s, "GET", "/", NULL, NULL), WEFT_EINVAL);
    CHECK_STATUS(weft_http_route(s, "GET", "no slash", hello, NULL), WEFT_EINVAL);
    CHECK_CONTAINS(weft_error(), "no slash");
    CHECK_STATUS(weft_http_route(s, "GET", "/", hello, NULL), WEFT_OK);
    CHECK_STATUS(weft_http_route(s, "GET", "/", hello, NULL), WEFT_EINVAL);
    CHECK_STATUS(weft_http_constant(NULL, "/c", "text/plain", "", 0), WEFT_EINVAL);
    CHECK_STATUS(weft_http_constant(s, NULL, "text/plain", "", 0), WEFT_EINVAL);
    CHECK_STATUS(weft_http_constant(s, "/c", NULL, "", 0), WEFT_EINVAL);
    CHECK_STATUS(weft_http_constant(s, "/c", "text/plain", NULL, 1), WEFT_EINVAL);
    CHECK_STATUS(weft_http_constant(s, "/c", "a\nb", "", 0), WEFT_EINVAL);
    CHECK_STATUS(weft_http_files(NULL, "/f", "/tmp", NULL), WEFT_EINVAL);
    CHECK_STATUS(weft_http_files(s, NULL, "/tmp", NULL), WEFT_EINVAL);
    CHECK_STATUS(weft_http_files(s, "/f", NULL, NULL), WEFT_EINVAL);
    CHECK_STATUS(weft_http_files(s, "/f", "/no/such/folder", NULL), WEFT_ESYSTEM);
    f.cache_ns = -1;
    CHECK_STATUS(weft_http_files(s, "/f", "/tmp", &f), WEFT_EINVAL);
    f.size = 8;
    CHECK_STATUS(weft_http_files(s, "/f", "/tmp", &f), WEFT_EINVAL);

    CHECK_STATUS(weft_http_local(s, text, sizeof text), WEFT_ESTATE);
    CHECK_STATUS(weft_http_listen(NULL, ":0"), WEFT_EINVAL);
    CHECK_STATUS(weft_http_listen(s, NULL), WEFT_EINVAL);
    CHECK_STATUS(weft_http_listen(s, "no port"), WEFT_EINVAL);
    CHECK_STATUS(weft_http_listen_on(s, NULL), WEFT_EINVAL);
    {
        int pipe_ends[2];
        CHECK(pipe(pipe_ends) == 0);
        CHECK_STATUS(weft_http_listen_descriptor(s, pipe_ends[0]), WEFT_ESYSTEM);
        CHECK(close(pipe_ends[0]) != 0); /* it was closed */
        CHECK_STATUS(weft_http_listen_descriptor(NULL, pipe_ends[1]), WEFT_EINVAL);
        CHECK(close(pipe_ends[1]) != 0);
        CHECK_STATUS(weft_http_listen_descriptor(s, -1), WEFT_ESYSTEM);
    }
    CHECK_STATUS(weft_http_listen(s, "127.0.0.1:0"), WEFT_OK);
    CHECK_STATUS(weft_http_listen(s, "127.0.0.1:0"), WEFT_ESTATE);
    CHECK_STATUS(weft_listen("127.0.0.1:0", NULL, &l), WEFT_OK);
    CHECK_STATUS(weft_http_listen_on(s, l), WEFT_ESTATE);
    CHECK_STATUS(weft_http_local(s, NULL, 3), WEFT_EINVAL);
    CHECK_STATUS(weft_http_local(s, text, 3), WEFT_EINVAL);
    CHECK_STATUS(weft_http_serve(NULL), WEFT_ENOFIBER);
    CHECK_STATUS(weft_http_serve(s), WEFT_ENOFIBER);
    weft_http_stop(NULL, 0);
    weft_http_drain(NULL, 0);
    weft_http_destroy(NULL);
    weft_http_destroy(s);

    CHECK(weft_http_method(NULL).data == NULL && weft_http_target(NULL).data == NULL && weft_http_path(NULL).data == NULL);
    CHECK(weft_http_query(NULL).data == NULL && weft_http_header(NULL, "a").data == NULL);
    CHECK(weft_http_header_at(NULL, 0).name == NULL && weft_http_path_parameter(NULL, "a").data == NULL);
    CHECK_EQ(weft_http_header_count(NULL), 0);
    CHECK(weft_http_head(NULL).data == NULL);
    CHECK_EQ(weft_http_body_left(NULL), 0);
    CHECK_EQ(weft_http_minor_version(NULL), 0);
    CHECK(weft_http_peer_host(NULL).data == NULL && weft_http_peer_port(NULL) == 0);
    CHECK_STATUS(weft_http_read(NULL, text, 1, &got), WEFT_EINVAL);
    CHECK_EQ(got, 0);
    CHECK_STATUS(weft_http_answer(NULL, 200, NULL, 0, NULL, 0), WEFT_EINVAL);
    CHECK_STATUS(weft_http_stream(NULL, 200, NULL, 0, -1, write_pieces, NULL, NULL), WEFT_EINVAL);
    CHECK_STATUS(weft_http_write(NULL, "", 0), WEFT_EINVAL);
    CHECK_STATUS(weft_http_write_file(NULL, 0, 0, 0), WEFT_EINVAL);
    CHECK_STATUS(weft_http_flush(NULL), WEFT_EINVAL);
    CHECK(weft_http_request_of(NULL) == NULL && !weft_http_stopping(NULL));
}
