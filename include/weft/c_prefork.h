/* weft/c_prefork.h - one program as several processes that share a port, for C: started, watched,
 * restarted and replaced by a process that does nothing else. The rules are those of weft/prefork.hpp and
 * of weft/c.h; how to use it is in docs/guide/17-processes.md.
 */
#ifndef WEFT_C_PREFORK_H
#define WEFT_C_PREFORK_H

#include <weft/c.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A worker process; valid during the call of its function. */
typedef struct weft_prefork_worker weft_prefork_worker;

typedef struct weft_prefork_options {
    size_t size;
    const char* at;          /* "host:port" or "unix:/path": what the workers share; needed */
    uint32_t processes;      /* 0: one for each CPU */
    uint32_t workers;        /* threads of each process that run fibers; 0: the CPUs, divided by `processes` */
    size_t stack_bytes;      /* of a fiber; 0: the default */
    int64_t grace_ns;        /* how long a worker that is to end may take: 10 s */
    int64_t ready_within_ns; /* a worker that has not called weft_prefork_serve() by then has failed: 30 s */
    /* Called in the master when the first workers are ready, with where they listen. May be null. */
    void (*on_ready)(const char* at, void* user);
    void (*on_hog)(void* user, const weft_hog* hog); /* of a worker's runtime; null: a line on stderr */
    void* user; /* of the two */
} weft_prefork_options;
WEFT_SIZED(weft_prefork_options)

/* Runs the program as a master and its workers, until it is ended by SIGTERM or SIGINT, with its arguments
 * as main() has got them. In a worker, which is the same program started again, it calls `work` on a
 * fiber. *code is the exit code of this process. Called on a plain thread, before others are started.
 * WEFT_EINVAL: an option; WEFT_ESYSTEM: the port cannot be opened */
WEFT_API WEFT_CHECK weft_status weft_prefork_run(int argc, char** argv, const weft_prefork_options* o,
                                                 int (*work)(weft_prefork_worker* w, void* arg), void* arg, int* code);
/* Whether this process was started as a worker. */
WEFT_API bool weft_prefork_is_worker(void);
/* The port of the options; it can be taken once, by one of these two. WEFT_EFAILED: it was taken before,
 * or is a Unix socket */
WEFT_API WEFT_CHECK weft_status weft_prefork_listener(weft_prefork_worker* w, weft_listener** out);
/* The socket of the options, TCP or Unix, as for weft_http_listen_descriptor(); the caller closes it. */
WEFT_API WEFT_CHECK weft_status weft_prefork_descriptor(weft_prefork_worker* w, int* out);
/* The time of the options, in nanoseconds. */
WEFT_API int64_t weft_prefork_grace(const weft_prefork_worker* w);
/* Tells the master that this worker serves, and calls serve(arg). When the worker is to end, `stop` is called
 * on another fiber, and makes serve() return: with false if another worker takes its place, with true if the
 * whole program ends. It may be called with true after false. *result (may be null) is what serve() has
 * returned. Parks */
WEFT_API WEFT_CHECK weft_status weft_prefork_serve(weft_prefork_worker* w, int (*serve)(void* arg),
                                                   void (*stop)(bool program_ends, void* arg), void* arg, int* result);

#ifdef __cplusplus
}
#endif
#endif
