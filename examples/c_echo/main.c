/* main.c - c_echo [HOST:PORT]: an echo server in C. Every connection is a fiber of one scope. SIGINT or
 * SIGTERM ends it in an orderly way: bytes that were read are written back, and then the connections close.
 */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <weft/c.h>

#define USAGE "usage: c_echo [HOST:PORT]"

/* Statuses from 16 on are failures, and weft_error() describes the last one of this fiber or thread. */
static int complain(const char *what, weft_status s) {
    fprintf(stderr, "c_echo: %s: %s\n", what, s >= WEFT_EINVAL ? weft_error() : weft_status_name(s));
    return 1;
}

/* Writes back what it reads, until the peer has ended its side (`got` is 0) or the server stops it
 * (WEFT_CANCELED). */
static weft_status echo(weft_stream *peer) {
    char buffer[4096]; /* lies on the fiber's stack: 256 KiB, unless an option says otherwise */
    for (;;) {
        size_t got = 0;
        weft_status s = weft_read(peer, buffer, sizeof buffer, WEFT_FOREVER, &got);
        if (s != WEFT_OK) return s;
        if (got == 0) return WEFT_OK;

        /* A stop does not interrupt the answer, but a peer that takes nothing delays the end by a second. */
        weft_shield answering;
        weft_shield_enter(&answering, (int64_t)1000000000);
        s = weft_write(peer, buffer, got, WEFT_FOREVER, NULL);
        weft_shield_leave(&answering); /* must be reached: weft points to the frame until then */
        if (s != WEFT_OK) return s;
    }
}

/* The body of a connection's fiber, which owns the stream. WEFT_EFAILED from a body is a failure: the scope
 * has keep_going, so a line on stderr tells of it, and the other connections go on. */
static int connection(void *arg) {
    weft_stream *peer = (weft_stream *)arg;
    char remote[64] = "?";
    if (weft_stream_remote(peer, remote, sizeof remote) != WEFT_OK) strcpy(remote, "a peer that is gone");

    const weft_status s = echo(peer);
    char words[256];
    if (s >= WEFT_EINVAL) snprintf(words, sizeof words, "%s: %s", remote, weft_error());
    weft_stream_destroy(peer);
    return s >= WEFT_EINVAL ? weft_fail(words) : 0;
}

struct server {
    weft_listener *listener;
    weft_scope *connections;
    int signals; /* a signalfd */
};

/* A signal is an event of a descriptor here. A handler of signals must not call any function of weft. */
static int end_on_signal(void *arg) {
    const struct server *all = (const struct server *)arg;
    weft_status s = weft_wait_fd(all->signals, WEFT_READ, WEFT_FOREVER);
    if (s == WEFT_CANCELED) return 0; /* the server ends for another reason */
    if (s != WEFT_OK) return WEFT_EFAILED; /* with the words of the last failure */

    struct signalfd_siginfo what;
    if (read(all->signals, &what, sizeof what) != (ssize_t)sizeof what) return weft_fail("no signal to read");
    printf("c_echo: %s, stopping\n", strsignal((int)what.ssi_signo));
    weft_listener_close(all->listener);        /* weft_accept() returns WEFT_CLOSED */
    weft_scope_request_stop(all->connections); /* what a connection waits in returns WEFT_CANCELED */
    return 0;
}

/* Accepts until the listener is closed. */
static weft_status accept_all(struct server *all) {
    weft_status s = weft_scope_spawn(all->connections, end_on_signal, all, NULL);
    while (s == WEFT_OK) {
        weft_stream *peer;
        s = weft_accept(all->listener, WEFT_FOREVER, &peer);
        if (s != WEFT_OK) break;
        s = weft_scope_spawn(all->connections, connection, peer, NULL);
        if (s != WEFT_OK) weft_stream_destroy(peer); /* no fiber has it, so it is still ours */
    }
    return s;
}

/* The first fiber. It returns the exit code of the program. */
static int serve(void *arg) {
    struct server *all = (struct server *)arg;

    weft_scope_options keep;
    weft_scope_options_init(&keep); /* sets `size`; zero in a member means the default */
    keep.keep_going = true;
    weft_status s = weft_scope_open(NULL, &keep, &all->connections);
    if (s != WEFT_OK) return complain("no scope", s);

    int code = 0;
    s = accept_all(all);
    if (s != WEFT_CLOSED && s != WEFT_CANCELED) { /* those two are the stop */
        code = complain("accepting", s);
        weft_scope_request_stop(all->connections);
    }
    s = weft_scope_close(all->connections); /* waits for all of them, whatever happens */
    if (s != WEFT_OK && s != WEFT_CANCELED) code = complain("a connection", s);
    return code;
}

/* Opens the signalfd. The signals must be blocked before weft_runtime_create(): its threads inherit the mask,
 * and a signal that one thread does not block ends the program. */
static int open_signals(void) {
    sigset_t end;
    sigemptyset(&end);
    sigaddset(&end, SIGINT);
    sigaddset(&end, SIGTERM);
    if (sigprocmask(SIG_BLOCK, &end, NULL) != 0) return -1;
    return signalfd(-1, &end, SFD_NONBLOCK | SFD_CLOEXEC);
}

static int run_server(weft_runtime *rt, const char *at, int signals) {
    struct server all = {NULL, NULL, signals};
    weft_status s = weft_listen(at, NULL, &all.listener);
    if (s == WEFT_EINVAL) {
        fprintf(stderr, "c_echo: " USAGE "\n");
        return 2;
    }
    if (s != WEFT_OK) return complain("listening", s);
    const int host = (int)(strrchr(at, ':') - at);
    printf("c_echo: listening on %.*s:%u\n", host, at, (unsigned)weft_listener_port(all.listener));
    fflush(stdout);

    int code = 1;
    s = weft_run(rt, serve, &all, &code);
    if (s != WEFT_OK) code = complain("the server", s);
    weft_listener_destroy(all.listener);
    return code;
}

int main(int argc, char **argv) {
    const char *at = argc == 2 ? argv[1] : "127.0.0.1:7000";
    if (argc > 2 || strrchr(at, ':') == NULL) {
        fprintf(stderr, "c_echo: " USAGE "\n");
        return 2;
    }
    const int signals = open_signals();
    if (signals < 0) {
        fprintf(stderr, "c_echo: signals: %s\n", strerror(errno));
        return 1;
    }
    weft_runtime *rt;
    const weft_status s = weft_runtime_create(NULL, &rt); /* null: the default options */
    if (s != WEFT_OK) return complain("no runtime", s);
    const int code = run_server(rt, at, signals);
    weft_runtime_destroy(rt);
    close(signals);
    return code;
}
