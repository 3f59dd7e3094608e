/* tcp_test.c - TCP: what is written arrives, timeouts, the ends of streams, and bad addresses. */
#include "support/check.h"

#include <errno.h>

/* Both ends of a connection. */
struct pair {
    weft_listener* l;
    weft_stream* a;
    weft_stream* b;
    char to[64];
};

static struct pair connect_pair(void) {
    struct pair p;
    memset(&p, 0, sizeof p);
    CHECK_STATUS(weft_listen("127.0.0.1:0", NULL, &p.l), WEFT_OK);
    CHECK(weft_listener_port(p.l) != 0);
    snprintf(p.to, sizeof p.to, "127.0.0.1:%u", (unsigned)weft_listener_port(p.l));
    CHECK_STATUS(weft_connect(p.to, WEFT_FOREVER, &p.a), WEFT_OK);
    CHECK_STATUS(weft_accept(p.l, WEFT_FOREVER, &p.b), WEFT_OK);
    return p;
}

static void end_pair(struct pair* p) {
    weft_stream_destroy(p->a);
    weft_stream_destroy(p->b);
    weft_listener_destroy(p->l);
}

static int echoes(void* listener) {
    weft_stream* s = NULL;
    char bytes[1000];
    size_t got = 0;
    CHECK_STATUS(weft_accept((weft_listener*)listener, WEFT_FOREVER, &s), WEFT_OK);
    for (;;) {
        size_t put = 0;
        CHECK_STATUS(weft_read(s, bytes, sizeof bytes, WEFT_FOREVER, &got), WEFT_OK);
        if (got == 0) break;
        CHECK_STATUS(weft_write(s, bytes, got, WEFT_FOREVER, &put), WEFT_OK);
        CHECK_EQ(put, got);
    }
    weft_stream_destroy(s);
    return 0;
}

struct writer {
    weft_stream* s;
    const char* bytes;
    size_t n;
};

static int writes_and_ends(void* arg) {
    struct writer* const w = (struct writer*)arg;
    size_t put = 0;
    CHECK_STATUS(weft_write(w->s, w->bytes, w->n, WEFT_FOREVER, &put), WEFT_OK);
    CHECK_EQ(put, w->n);
    CHECK_STATUS(weft_stream_shutdown(w->s, WEFT_WRITE), WEFT_OK);
    return 0;
}

ANYWHERE_TEST(an_echo_brings_back_what_was_written) {
    enum { BYTES = 1000000 };
    static char sent[BYTES];
    static char came[BYTES];
    weft_listener* l = NULL;
    weft_stream* s = NULL;
    weft_fiber* server;
    weft_fiber* f;
    struct writer w;
    char to[64];
    size_t got = 0;
    size_t i;
    for (i = 0; i < BYTES; ++i) sent[i] = (char)(i * 7 + (i >> 8));
    memset(came, 0, sizeof came);
    CHECK_STATUS(weft_listen("localhost:0", NULL, &l), WEFT_OK);
    snprintf(to, sizeof to, "localhost:%u", (unsigned)weft_listener_port(l));
    server = check_spawn(rt, echoes, l);
    CHECK_STATUS(weft_connect(to, 10 * SECOND, &s), WEFT_OK);
    w.s = s;
    w.bytes = sent;
    w.n = BYTES;
    f = check_spawn(rt, writes_and_ends, &w);
    CHECK_STATUS(weft_read_exact(s, came, BYTES, WEFT_FOREVER, &got), WEFT_OK);
    CHECK_EQ(got, BYTES);
    CHECK(memcmp(sent, came, BYTES) == 0);
    CHECK_STATUS(weft_read(s, came, 1, WEFT_FOREVER, &got), WEFT_OK);
    CHECK_EQ(got, 0); /* the peer has ended its side */
    CHECK_STATUS(weft_read(s, came, 1, WEFT_FOREVER, &got), WEFT_OK);
    CHECK_EQ(got, 0);
    CHECK_EQ(check_join(f), 0);
    CHECK_EQ(check_join(server), 0);
    weft_stream_destroy(s);
    weft_listener_destroy(l);
}

ANYWHERE_TEST(counts_may_be_null) {
    struct pair p = connect_pair();
    char bytes[3];
    CHECK_STATUS(weft_write(p.a, "abc", 3, WEFT_FOREVER, NULL), WEFT_OK);
    CHECK_STATUS(weft_read_exact(p.b, bytes, 2, WEFT_FOREVER, NULL), WEFT_OK);
    CHECK_STATUS(weft_read(p.b, bytes + 2, 1, WEFT_FOREVER, NULL), WEFT_OK);
    CHECK(memcmp(bytes, "abc", 3) == 0);
    CHECK_STATUS(weft_read(p.b, bytes, 1, 0, NULL), WEFT_BUSY);
    end_pair(&p);
}

ANYWHERE_TEST(read_exact_that_gets_too_little_fails) {
    struct pair p = connect_pair();
    char bytes[10];
    size_t got = 99;
    CHECK_STATUS(weft_write(p.a, "abc", 3, WEFT_FOREVER, NULL), WEFT_OK);
    CHECK_STATUS(weft_stream_shutdown(p.a, WEFT_WRITE), WEFT_OK);
    CHECK_STATUS(weft_read_exact(p.b, bytes, sizeof bytes, WEFT_FOREVER, &got), WEFT_ESYSTEM);
    CHECK_EQ(weft_error_errno(), ECONNABORTED);
    CHECK_EQ(got, 3);
    CHECK(memcmp(bytes, "abc", 3) == 0);
    got = 99;
    CHECK_STATUS(weft_read_exact(p.b, bytes, sizeof bytes, 0, &got), WEFT_ESYSTEM);
    CHECK_EQ(weft_error_errno(), ECONNABORTED);
    CHECK_EQ(got, 0);
    end_pair(&p);
}

ANYWHERE_TEST(a_read_that_has_to_wait_is_busy_or_times_out) {
    struct pair p = connect_pair();
    char bytes[10];
    size_t got = 99;
    CHECK_STATUS(weft_read(p.b, bytes, sizeof bytes, 0, &got), WEFT_BUSY);
    CHECK_EQ(got, 0);
    got = 99;
    CHECK_STATUS(weft_read(p.b, bytes, sizeof bytes, -1, &got), WEFT_BUSY);
    CHECK_STATUS(weft_read(p.b, bytes, sizeof bytes, MILLISECOND, &got), WEFT_TIMEDOUT);
    CHECK_EQ(got, 0);
    CHECK_STATUS(weft_read_exact(p.b, bytes, sizeof bytes, 0, &got), WEFT_BUSY);
    CHECK_EQ(got, 0);
    CHECK_STATUS(weft_write(p.a, "abc", 3, 0, &got), WEFT_OK);
    CHECK_EQ(got, 3);
    CHECK_STATUS(weft_read_exact(p.b, bytes, sizeof bytes, 5 * MILLISECOND, &got), WEFT_TIMEDOUT);
    CHECK_EQ(got, 3); /* what had come is not lost */
    CHECK(memcmp(bytes, "abc", 3) == 0);
    CHECK_STATUS(weft_write(p.a, "xy", 2, WEFT_FOREVER, &got), WEFT_OK);
    CHECK_STATUS(weft_read(p.b, bytes, sizeof bytes, HOURS, &got), WEFT_OK);
    CHECK_EQ(got, 2);
    end_pair(&p);
}

ANYWHERE_TEST(a_write_that_has_to_wait_is_busy_or_times_out) {
    enum { BYTES = 64 << 20 }; /* more than the buffers of a connection hold */
    struct pair p = connect_pair();
    char* const bytes = (char*)calloc(1, BYTES);
    size_t put = 0;
    CHECK(bytes != NULL);
    CHECK_STATUS(weft_write(p.a, bytes, BYTES, 20 * MILLISECOND, &put), WEFT_TIMEDOUT);
    CHECK(put < BYTES);
    put = 0;
    IGNORE(weft_write(p.a, bytes, BYTES, 0, &put));
    CHECK_STATUS(weft_write(p.a, bytes, BYTES, 0, &put), WEFT_BUSY);
    CHECK(put < BYTES);
    free(bytes);
    end_pair(&p);
}

ANYWHERE_TEST(pieces_are_written_one_after_the_other) {
    enum { PIECES = 100 };
    const size_t counts[] = {0, 1, 2, 16, 17, PIECES};
    struct pair p = connect_pair();
    weft_piece pieces[PIECES];
    char texts[PIECES][8];
    size_t k;
    int now;
    for (k = 0; k < PIECES; ++k) {
        snprintf(texts[k], sizeof texts[k], "%02u|", (unsigned)k);
        pieces[k].data = k % 5 == 4 ? NULL : texts[k];
        pieces[k].size = k % 5 == 4 ? 0 : strlen(texts[k]);
    }
    for (now = 0; now < 2; ++now)
        for (k = 0; k < sizeof counts / sizeof *counts; ++k) {
            char came[PIECES * 8];
            size_t total = 0;
            size_t put = 99;
            size_t got = 0;
            size_t i;
            for (i = 0; i < counts[k]; ++i) total += pieces[i].size;
            CHECK_STATUS(weft_write_pieces(p.a, pieces, counts[k], now ? 0 : WEFT_FOREVER, &put), WEFT_OK);
            CHECK_EQ(put, total);
            CHECK_STATUS(weft_read_exact(p.b, came, total, WEFT_FOREVER, &got), WEFT_OK);
            CHECK_EQ(got, total);
            for (i = 0, total = 0; i < counts[k]; ++i) {
                if (pieces[i].size == 0) continue;
                CHECK(memcmp(came + total, texts[i], pieces[i].size) == 0);
                total += pieces[i].size;
            }
        }
    pieces[0].data = NULL;
    CHECK_STATUS(weft_write_pieces(p.a, pieces, 1, WEFT_FOREVER, NULL), WEFT_EINVAL);
    CHECK_STATUS(weft_write_pieces(p.a, NULL, 1, WEFT_FOREVER, NULL), WEFT_EINVAL);
    end_pair(&p);
}

ANYWHERE_TEST(nothing_can_be_read_and_written) {
    struct pair p = connect_pair();
    size_t n = 99;
    CHECK_STATUS(weft_write(p.a, "", 0, WEFT_FOREVER, &n), WEFT_OK);
    CHECK_EQ(n, 0);
    CHECK_STATUS(weft_write(p.a, NULL, 0, 0, &n), WEFT_OK);
    CHECK_STATUS(weft_read_exact(p.b, NULL, 0, WEFT_FOREVER, &n), WEFT_OK);
    CHECK_EQ(n, 0);
    CHECK_STATUS(weft_read_exact(p.b, NULL, 0, 0, &n), WEFT_OK);
    CHECK_STATUS(weft_read(p.b, NULL, 1, WEFT_FOREVER, &n), WEFT_EINVAL);
    CHECK_STATUS(weft_write(p.b, NULL, 1, WEFT_FOREVER, &n), WEFT_EINVAL);
    end_pair(&p);
}

ANYWHERE_TEST(shutdown_ends_one_direction) {
    struct pair p = connect_pair();
    const int bad[] = {0, 4, -1};
    char byte = 0;
    size_t n = 99;
    size_t i;
    for (i = 0; i < 3; ++i) CHECK_STATUS(weft_stream_shutdown(p.a, bad[i]), WEFT_EINVAL);
    CHECK_STATUS(weft_stream_shutdown(p.a, WEFT_WRITE), WEFT_OK);
    CHECK_STATUS(weft_read(p.b, &byte, 1, WEFT_FOREVER, &n), WEFT_OK);
    CHECK_EQ(n, 0);
    CHECK_STATUS(weft_write(p.a, "x", 1, WEFT_FOREVER, &n), WEFT_ESYSTEM);
    CHECK_EQ(weft_error_errno(), EPIPE); /* and no SIGPIPE */
    CHECK_STATUS(weft_write(p.b, "y", 1, WEFT_FOREVER, &n), WEFT_OK);
    CHECK_STATUS(weft_read(p.a, &byte, 1, WEFT_FOREVER, &n), WEFT_OK);
    CHECK_EQ(byte, 'y');
    CHECK_STATUS(weft_stream_shutdown(p.a, WEFT_READ | WEFT_WRITE), WEFT_OK);
    end_pair(&p);
}

/* ---- close ------------------------------------------------------------------------------------------- */

static int reads(void* stream) {
    char byte = 0;
    size_t got = 99;
    const weft_status s = weft_read((weft_stream*)stream, &byte, 1, WEFT_FOREVER, &got);
    CHECK_EQ(got, 0);
    return s;
}

static int accepts(void* listener) {
    weft_stream* s = NULL;
    const weft_status r = weft_accept((weft_listener*)listener, WEFT_FOREVER, &s);
    CHECK(s == NULL);
    return r;
}

static int writes_much(void* stream) {
    enum { BYTES = 64 << 20 };
    char* const bytes = (char*)calloc(1, BYTES);
    size_t put = 0;
    weft_status s;
    CHECK(bytes != NULL);
    s = weft_write((weft_stream*)stream, bytes, BYTES, WEFT_FOREVER, &put);
    CHECK(put < BYTES);
    free(bytes);
    return s;
}

ANYWHERE_TEST(close_wakes_a_reader_and_a_writer) {
    struct pair p = connect_pair();
    weft_fiber* const r = check_spawn(rt, reads, p.a);
    weft_fiber* const w = check_spawn(rt, writes_much, p.a);
    char byte = 0;
    UNTIL(check_waits(weft_fiber_id(r), NULL) && check_waits(weft_fiber_id(w), NULL));
    CHECK(weft_stream_fd(p.a) >= 0);
    weft_stream_close(p.a);
    weft_stream_close(p.a);
    CHECK_EQ(check_join(r), WEFT_CLOSED);
    CHECK_EQ(check_join(w), WEFT_CLOSED);
    CHECK_EQ(weft_stream_fd(p.a), -1);
    CHECK_STATUS(weft_read(p.a, &byte, 1, WEFT_FOREVER, NULL), WEFT_CLOSED);
    CHECK_STATUS(weft_read(p.a, &byte, 1, 0, NULL), WEFT_CLOSED);
    CHECK_STATUS(weft_read_exact(p.a, &byte, 1, WEFT_FOREVER, NULL), WEFT_CLOSED);
    CHECK_STATUS(weft_write(p.a, &byte, 1, WEFT_FOREVER, NULL), WEFT_CLOSED);
    CHECK_STATUS(weft_write(p.a, &byte, 1, 0, NULL), WEFT_CLOSED);
    CHECK_STATUS(weft_stream_shutdown(p.a, WEFT_WRITE), WEFT_CLOSED);
    end_pair(&p);
}

ANYWHERE_TEST(close_wakes_those_that_accept) {
    weft_listener* l = NULL;
    weft_stream* s = NULL;
    weft_fiber* f[2];
    int i;
    CHECK_STATUS(weft_listen("127.0.0.1:0", NULL, &l), WEFT_OK);
    for (i = 0; i < 2; ++i) f[i] = check_spawn(rt, accepts, l);
    for (i = 0; i < 2; ++i) UNTIL(check_waits(weft_fiber_id(f[i]), NULL));
    CHECK(weft_listener_fd(l) >= 0);
    weft_listener_close(l);
    weft_listener_close(l);
    for (i = 0; i < 2; ++i) CHECK_EQ(check_join(f[i]), WEFT_CLOSED);
    CHECK_EQ(weft_listener_fd(l), -1);
    CHECK_STATUS(weft_accept(l, WEFT_FOREVER, &s), WEFT_CLOSED);
    CHECK_STATUS(weft_accept(l, 0, &s), WEFT_CLOSED);
    CHECK(s == NULL);
    weft_listener_destroy(l);
}

ANYWHERE_TEST(abort_resets_the_connection) {
    struct pair p = connect_pair();
    char byte = 0;
    weft_stream_abort(p.a);
    CHECK_STATUS(weft_read(p.b, &byte, 1, WEFT_FOREVER, NULL), WEFT_ESYSTEM);
    CHECK_EQ(weft_error_errno(), ECONNRESET);
    CHECK_STATUS(weft_read(p.a, &byte, 1, WEFT_FOREVER, NULL), WEFT_CLOSED);
    CHECK_EQ(weft_stream_fd(p.a), -1);
    end_pair(&p);
}

/* ---- accept, connect, listen ---------------------------------------------------------------------------- */

ANYWHERE_TEST(an_accept_without_a_peer_is_busy_or_times_out) {
    struct pair p = connect_pair();
    weft_stream* s = NULL;
    weft_stream* near_end = NULL;
    CHECK_STATUS(weft_accept(p.l, 0, &s), WEFT_BUSY);
    CHECK_STATUS(weft_accept(p.l, -1, &s), WEFT_BUSY);
    CHECK_STATUS(weft_accept(p.l, MILLISECOND, &s), WEFT_TIMEDOUT);
    CHECK(s == NULL);
    CHECK_STATUS(weft_connect(p.to, HOURS, &near_end), WEFT_OK);
    CHECK_STATUS(weft_accept(p.l, 0, &s), WEFT_OK); /* the connection stands, so it can be had */
    weft_stream_destroy(s);
    weft_stream_destroy(near_end);
    end_pair(&p);
}

ANYWHERE_TEST(a_connection_that_is_refused_has_an_errno) {
    weft_listener* l = NULL;
    weft_stream* s = NULL;
    char to[64];
    CHECK_STATUS(weft_listen("127.0.0.1:0", NULL, &l), WEFT_OK);
    snprintf(to, sizeof to, "127.0.0.1:%u", (unsigned)weft_listener_port(l));
    weft_listener_destroy(l);
    CHECK_STATUS(weft_connect(to, 10 * SECOND, &s), WEFT_ESYSTEM);
    CHECK_EQ(weft_error_errno(), ECONNREFUSED);
    CHECK(strlen(weft_error()) > 0);
    CHECK(s == NULL);
}

ANYWHERE_TEST(an_address_that_is_taken_has_an_errno) {
    weft_listener* l = NULL;
    weft_listener* again = NULL;
    char at[64];
    CHECK_STATUS(weft_listen("127.0.0.1:0", NULL, &l), WEFT_OK);
    snprintf(at, sizeof at, "127.0.0.1:%u", (unsigned)weft_listener_port(l));
    CHECK_STATUS(weft_listen(at, NULL, &again), WEFT_ESYSTEM);
    CHECK_EQ(weft_error_errno(), EADDRINUSE);
    CHECK(again == NULL);
    weft_listener_destroy(l);
}

ANYWHERE_TEST(listeners_that_share_a_port) {
    weft_listen_options o;
    weft_listener* l[2] = {NULL, NULL};
    char at[64];
    weft_listen_options_init(&o);
    o.reuse_port = true;
    o.backlog = 16;
    o.delay = true;
    CHECK_STATUS(weft_listen("127.0.0.1:0", &o, &l[0]), WEFT_OK);
    snprintf(at, sizeof at, "127.0.0.1:%u", (unsigned)weft_listener_port(l[0]));
    CHECK_STATUS(weft_listen(at, &o, &l[1]), WEFT_OK);
    CHECK_EQ(weft_listener_port(l[0]), weft_listener_port(l[1]));
    weft_listener_destroy(l[0]);
    weft_listener_destroy(l[1]);
}

ANYWHERE_TEST(options_of_another_size_or_out_of_range) {
    weft_listen_options o;
    weft_listener* l = NULL;
    weft_listen_options_init(&o);
    o.backlog = -1;
    CHECK_STATUS(weft_listen("127.0.0.1:0", &o, &l), WEFT_EINVAL);
    weft_listen_options_init(&o);
    o.size = 8;
    CHECK_STATUS(weft_listen("127.0.0.1:0", &o, &l), WEFT_EINVAL);
    o.size = 0;
    CHECK_STATUS(weft_listen("127.0.0.1:0", &o, &l), WEFT_EINVAL);
    CHECK(l == NULL);
}

ANYWHERE_TEST(bad_addresses_are_refused) {
    const char* const bad[] = {"",
                               "127.0.0.1",
                               "127.0.0.1:",
                               "127.0.0.1:x",
                               "127.0.0.1:65536",
                               "127.0.0.1:-1",
                               "[::1:80",
                               "::1:80",
                               "127.0.0.1:80 ",
                               "127.0.0.1:8 0",
                               "[::1]80",
                               "127.0.0.1:1e3",
                               "127.0.0.1:99999999999999999999"};
    size_t i;
    for (i = 0; i < sizeof bad / sizeof *bad; ++i) {
        weft_listener* l = NULL;
        weft_stream* s = NULL;
        weft_status r = weft_listen(bad[i], NULL, &l);
        if (r != WEFT_EINVAL) fprintf(stderr, "weft_listen(\"%s\")\n", bad[i]);
        CHECK_STATUS(r, WEFT_EINVAL);
        CHECK(l == NULL);
        CHECK(strlen(weft_error()) > 0);
        r = weft_connect(bad[i], SECOND, &s);
        if (r != WEFT_EINVAL) fprintf(stderr, "weft_connect(\"%s\")\n", bad[i]);
        CHECK_STATUS(r, WEFT_EINVAL);
        CHECK(s == NULL);
    }
}

ANYWHERE_TEST(a_name_that_nobody_has_is_a_failure_of_the_system) {
    weft_stream* s = NULL;
    CHECK_STATUS(weft_connect("no-such-host.invalid:80", WEFT_FOREVER, &s), WEFT_ESYSTEM);
    CHECK(strlen(weft_error()) > 0);
    CHECK(weft_error_errno() >= 0); /* no number of the resolver, which are negative */
    CHECK(s == NULL);
}

ANYWHERE_TEST(the_remote_end_has_an_address) {
    struct pair p = connect_pair();
    char text[128];
    char small[4];
    char exact[64];
    size_t n;
    CHECK_STATUS(weft_stream_remote(p.a, text, sizeof text), WEFT_OK);
    CHECK(strcmp(text, p.to) == 0);
    CHECK_STATUS(weft_stream_remote(p.b, text, sizeof text), WEFT_OK);
    CHECK_CONTAINS(text, "127.0.0.1:");
    CHECK_STATUS(weft_stream_remote(p.a, small, sizeof small), WEFT_EINVAL);
    CHECK_STATUS(weft_stream_remote(p.a, small, 0), WEFT_EINVAL);
    n = strlen(p.to);
    CHECK_STATUS(weft_stream_remote(p.a, exact, n), WEFT_EINVAL);
    CHECK_STATUS(weft_stream_remote(p.a, exact, n + 1), WEFT_OK);
    CHECK(strcmp(exact, p.to) == 0);
    end_pair(&p);
}

ANYWHERE_TEST(ipv6_where_there_is_any) {
    weft_listen_options o;
    weft_listener* l = NULL;
    weft_stream* a = NULL;
    weft_stream* b = NULL;
    char to[64];
    weft_listen_options_init(&o);
    o.v6_only = true;
    if (weft_listen("[::1]:0", &o, &l) != WEFT_OK) {
        CHECK(weft_error_errno() == EADDRNOTAVAIL || weft_error_errno() == EAFNOSUPPORT);
        return;
    }
    snprintf(to, sizeof to, "[::1]:%u", (unsigned)weft_listener_port(l));
    CHECK_STATUS(weft_connect(to, WEFT_FOREVER, &a), WEFT_OK);
    CHECK_STATUS(weft_accept(l, WEFT_FOREVER, &b), WEFT_OK);
    CHECK_STATUS(weft_stream_remote(a, to, sizeof to), WEFT_OK);
    CHECK_CONTAINS(to, "[::1]:");
    weft_stream_destroy(a);
    weft_stream_destroy(b);
    weft_listener_destroy(l);
}

struct crossing {
    weft_stream* s;
    int* sum;
};

static int sends_bytes(void* arg) {
    int i;
    for (i = 1; i <= 100; ++i) {
        const unsigned char byte = (unsigned char)i;
        CHECK_STATUS(weft_write(((struct crossing*)arg)->s, &byte, 1, WEFT_FOREVER, NULL), WEFT_OK);
    }
    return 0;
}

static int sums_bytes(void* arg) {
    int i;
    for (i = 1; i <= 100; ++i) {
        unsigned char byte = 0;
        CHECK_STATUS(weft_read_exact(((struct crossing*)arg)->s, &byte, 1, WEFT_FOREVER, NULL), WEFT_OK);
        add_to(((struct crossing*)arg)->sum, byte);
    }
    return 0;
}

ANYWHERE_TEST(one_reads_while_another_writes) {
    struct pair p = connect_pair();
    int sum = 0;
    struct crossing a;
    struct crossing b;
    weft_fiber* f[4];
    int i;
    a.s = p.a;
    b.s = p.b;
    a.sum = b.sum = &sum;
    f[0] = check_spawn(rt, sends_bytes, &a);
    f[1] = check_spawn(rt, sends_bytes, &b);
    f[2] = check_spawn(rt, sums_bytes, &a);
    f[3] = check_spawn(rt, sums_bytes, &b);
    for (i = 0; i < 4; ++i) CHECK_EQ(check_join(f[i]), 0);
    CHECK_EQ(get_of(&sum), 2 * 5050);
    end_pair(&p);
}

ANYWHERE_TEST(a_timeout_counts_under_a_shield_and_what_is_ready_is_taken_first) {
    weft_listener* l = NULL;
    weft_stream *client = NULL, *server = NULL;
    weft_shield shield;
    char address[64], byte = 'x';
    size_t moved = 0;
    CHECK_STATUS(weft_listen("127.0.0.1:0", NULL, &l), WEFT_OK);
    snprintf(address, sizeof address, "127.0.0.1:%u", (unsigned)weft_listener_port(l));
    weft_shield_enter(&shield, WEFT_FOREVER);
    CHECK_STATUS(weft_accept(l, MILLISECOND, &server), WEFT_TIMEDOUT);
    CHECK_STATUS(weft_connect(address, WEFT_FOREVER, &client), WEFT_OK);
    CHECK_STATUS(weft_accept(l, WEFT_FOREVER, &server), WEFT_OK);
    CHECK_STATUS(weft_read(server, &byte, 1, MILLISECOND, &moved), WEFT_TIMEDOUT);
    CHECK_STATUS(weft_read_exact(server, &byte, 1, MILLISECOND, &moved), WEFT_TIMEDOUT);
    CHECK_STATUS(weft_wait_fd(weft_stream_fd(server), WEFT_READ, MILLISECOND), WEFT_TIMEDOUT);
    weft_shield_leave(&shield);

    CHECK_STATUS(weft_write(client, "ab", 2, 1, &moved), WEFT_OK);
    CHECK_EQ(moved, 2);
    CHECK_STATUS(weft_wait_fd(weft_stream_fd(server), WEFT_READ, WEFT_FOREVER), WEFT_OK);
    CHECK_STATUS(weft_read(server, &byte, 1, 1, &moved), WEFT_OK);
    CHECK_EQ(byte, 'a');
    CHECK_STATUS(weft_read_exact(server, &byte, 1, 1, &moved), WEFT_OK);
    CHECK_EQ(byte, 'b');
    weft_stream_destroy(client);
    CHECK_STATUS(weft_connect(address, WEFT_FOREVER, &client), WEFT_OK);
    weft_stream_destroy(server);
    CHECK_STATUS(weft_wait_fd(weft_listener_fd(l), WEFT_READ, WEFT_FOREVER), WEFT_OK);
    CHECK_STATUS(weft_accept(l, 1, &server), WEFT_OK);
    weft_stream_destroy(client);
    weft_stream_destroy(server);
    weft_listener_destroy(l);
}
