/* weft/c_http.h - weft's HTTP/1.1 server for C: one fiber per connection, handlers in straight-line code.
 *
 *     static int hello(weft_http_request* q, void* user) {
 *         static const weft_http_field type = {"Content-Type", 12, "text/plain", 10};
 *         return weft_http_answer(q, 200, &type, 1, "hello\n", 6);
 *     }
 *     ...
 *     weft_http_server* server;
 *     if (weft_http_create(NULL, &server) != WEFT_OK || weft_http_route(server, "GET", "/", hello, NULL) != WEFT_OK ||
 *         weft_http_listen(server, "127.0.0.1:8080") != WEFT_OK || weft_http_serve(server) != WEFT_OK)
 *         fprintf(stderr, "%s\n", weft_error());
 *     weft_http_destroy(server);
 *
 * The rules of weft/c.h hold. The functions exist in a library that was built with HTTP, as it is where
 * Boost, zlib and zstd are there; weft_http_create() is then one of its symbols. What the server does
 * with bad input and with slow clients is that of C++: docs/guide/5-service.md and docs/design/http.md.
 */
#ifndef WEFT_C_HTTP_H
#define WEFT_C_HTTP_H

#include <weft/c.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_http_server weft_http_server;
typedef struct weft_http_request weft_http_request; /* with its answer; valid during the call of the handler */
typedef struct weft_http_body weft_http_body;       /* an answer's body; valid during the call of its writer */

/* For a limit that shall not hold. */
#define WEFT_HTTP_NO_LIMIT SIZE_MAX

/* ---- server --------------------------------------------------------------------------------- */

/* Called on the connection's fiber, so it may park. It answers by one call of weft_http_answer() or
 * weft_http_stream() and returns WEFT_OK. If it returns anything else, or has not answered, the answer
 * is that of the failed weft_http_read() if there was one, and else 500; on_error is called. */
typedef int (*weft_http_handler)(weft_http_request* q, void* user);

/* A request that failed, for on_error. Its strings are valid during the call. */
typedef struct weft_http_failure {
    const char* method; /* as they were sent */
    const char* target;
    const char* words;
} weft_http_failure;

/* Zero in a member means the default, which the comments name. A time is in nanoseconds, and WEFT_FOREVER
 * is no limit. Bodies and slow clients are limited by progress: in each body_timeout_ns or
 * write_timeout_ns min_rate bytes per second must move, or all that is left. */
typedef struct weft_http_options {
    size_t size;
    size_t max_header_bytes;     /* 16 KiB; more: 431 */
    size_t max_body_bytes;       /* of a request, however it is read: 1 MiB; more: 413 */
    size_t max_header_fields;    /* 128; more: 431 */
    size_t max_query_parameters; /* 1000; more: 414 */
    size_t max_connections;      /* 100,000; further ones wait to be accepted */
    size_t min_rate;             /* bytes per second: 1024 */
    int64_t header_timeout_ns;   /* 10 s; then 408 */
    int64_t idle_timeout_ns;     /* 60 s; then the connection is closed */
    int64_t body_timeout_ns;     /* 30 s; then 408 */
    int64_t write_timeout_ns;    /* 30 s; then the connection is reset */
    int64_t request_timeout_ns;  /* of a handler, as a deadline: none; then 503 */
    int64_t cold_after_ns;       /* an idle connection gives its fiber up: 1 s */
    /* Called on the connection's fiber; it may park. Default: a line on stderr. */
    void (*on_error)(const weft_http_failure* f, void* user);
    void* user; /* of on_error */
} weft_http_options;
WEFT_SIZED(weft_http_options)

/* `o` may be null. */
WEFT_API WEFT_CHECK weft_status weft_http_create(const weft_http_options* o, weft_http_server** out);
/* After weft_http_serve() has returned. */
WEFT_API void weft_http_destroy(weft_http_server* s);

/* Adds a route, before weft_http_serve(). `method` null stands for every method. A segment of the pattern
 * may be {name}, the last one {name...}, which matches the rest of the path: "/{path...}" matches all
 * paths that no other route does. HEAD is answered by the route of GET, without its body. */
WEFT_API WEFT_CHECK weft_status weft_http_route(weft_http_server* s, const char* method, const char* pattern, weft_http_handler f,
                                                void* user);
/* Adds a route for GET whose answer, with status 200, is always these bytes, which are copied. */
WEFT_API WEFT_CHECK weft_status weft_http_constant(weft_http_server* s, const char* pattern, const char* content_type,
                                                   const void* body, size_t n);

typedef struct weft_http_files_options {
    size_t size;
    const char* index;   /* of a directory; null: "index.html"; "": none */
    int64_t cache_ns;    /* for how long a client may use a file without asking; 0: it asks each time */
    bool no_ranges;      /* whole files only */
    bool no_precompressed; /* never NAME.zst or NAME.gz in place of NAME */
    bool hidden;         /* names that begin with a dot, too */
} weft_http_files_options;
WEFT_SIZED(weft_http_files_options)
/* Serves the files of a directory below the path `prefix`. `o` may be null. */
WEFT_API WEFT_CHECK weft_status weft_http_files(weft_http_server* s, const char* prefix, const char* directory,
                                                const weft_http_files_options* o);

enum { WEFT_HTTP_LOG_COMMON = 0, WEFT_HTTP_LOG_COMBINED = 1, WEFT_HTTP_LOG_JSON = 2 };
/* Writes a line for each answer to the descriptor, which stays open until weft_http_destroy(). Before
 * weft_http_listen(). */
WEFT_API WEFT_CHECK weft_status weft_http_log_access(weft_http_server* s, int fd, int format);

/* Opens the port, once: "host:port", "[ipv6]:port" or ":port", where port 0 picks one, or the Unix socket
 * "unix:/path" or "unix:@name". Parks only to look up a name */
WEFT_API WEFT_CHECK weft_status weft_http_listen(weft_http_server* s, const char* at);
/* Takes a listener in place of it. It is the server's from now on, whatever the status is. */
WEFT_API WEFT_CHECK weft_status weft_http_listen_on(weft_http_server* s, weft_listener* l);
/* Takes a socket that listens, TCP or Unix, in place of it: one that a supervisor of services has opened, for
 * example. It is the server's from now on, and is closed if that fails. WEFT_ESYSTEM: it is no such socket */
WEFT_API WEFT_CHECK weft_status weft_http_listen_descriptor(weft_http_server* s, int fd);
/* "host:port" or "unix:/path", where it listens, ended by a zero byte; WEFT_EINVAL if `n` bytes are too
 * few. */
WEFT_API WEFT_CHECK weft_status weft_http_local(const weft_http_server* s, char* text, size_t n);
/* Accepts connections and answers, on a fiber, until weft_http_stop(). Parks */
WEFT_API WEFT_CHECK weft_status weft_http_serve(weft_http_server* s);
/* Ends weft_http_serve(), from any fiber or thread, and does not wait. Idle connections are closed;
 * requests under way may take `grace_ns`, and are stopped then. A later call can only shorten it. */
WEFT_API void weft_http_stop(weft_http_server* s, int64_t grace_ns);
/* Does that, but answers one more request on each idle connection, for a server that another replaces. */
WEFT_API void weft_http_drain(weft_http_server* s, int64_t grace_ns);

/* ---- request -------------------------------------------------------------------------------- */

/* A text is not ended by a zero byte, and valid as long as the request is. A header that was not sent
 * has a null `data`. */
WEFT_API weft_piece weft_http_method(const weft_http_request* q);
WEFT_API weft_piece weft_http_target(const weft_http_request* q); /* as sent: the path, and '?' and the query */
WEFT_API weft_piece weft_http_path(const weft_http_request* q);   /* of the target; not decoded */
WEFT_API weft_piece weft_http_query(const weft_http_request* q);  /* what stands after '?'; not decoded */
WEFT_API int weft_http_minor_version(const weft_http_request* q); /* 0 or 1 */
/* The text that matched {name} in the pattern, decoded; null `data` if the pattern has no such name. */
WEFT_API weft_piece weft_http_path_parameter(const weft_http_request* q, const char* name);
/* The first header of that name, whatever its case. */
WEFT_API weft_piece weft_http_header(const weft_http_request* q, const char* name);
WEFT_API size_t weft_http_header_count(const weft_http_request* q);

typedef struct weft_http_field {
    const char* name;
    size_t name_size;
    const char* value;
    size_t value_size;
} weft_http_field;
/* The i-th header in order of arrival; all null if there are not so many. */
WEFT_API weft_http_field weft_http_header_at(const weft_http_request* q, size_t i);
/* The head as it has arrived, from the method on, and maybe further bytes. What else is asked of two requests
 * to one server, but for their peers and their bodies, is the same where this is the same. */
WEFT_API weft_piece weft_http_head(const weft_http_request* q);
/* The address of the other end of the connection; null `data` if it had gone already. */
WEFT_API weft_piece weft_http_peer_host(const weft_http_request* q);
WEFT_API uint16_t weft_http_peer_port(const weft_http_request* q);

/* Bytes of the body that were not read yet; -1 if the client does not say (a chunked body). */
WEFT_API int64_t weft_http_body_left(const weft_http_request* q);
/* Reads what is there of the body, at least one byte; *got 0 with WEFT_OK: the end. A body that is not
 * read to its end closes the connection after the answer. WEFT_EFAILED: it is malformed, too slow or
 * too large, or the client has gone; the handler should return this status. Parks */
WEFT_API WEFT_CHECK weft_status weft_http_read(weft_http_request* q, void* into, size_t n, size_t* got);

/* ---- answer --------------------------------------------------------------------------------- */

/* The answer, which is sent after the handler has returned; all is copied. Content-Length,
 * Transfer-Encoding and Date in `fields` are ignored, since the server sets them; `Connection: close`
 * ends the connection. WEFT_EINVAL: a field that HTTP does not allow, or a status that is not 200 to 999.
 * WEFT_ESTATE: there is an answer already. */
WEFT_API WEFT_CHECK weft_status weft_http_answer(weft_http_request* q, int status, const weft_http_field* fields, size_t n_fields,
                                                 const void* body, size_t n);

/* Writes a body with weft_http_write(), on the connection's fiber, after the handler has returned. If it
 * does not return WEFT_OK, or has written less than was announced, the connection is reset, so that the
 * client cannot take the part it has for the whole, and on_error is called. */
typedef int (*weft_http_writer)(weft_http_body* out, void* user);
/* An answer whose body is written piece by piece. `length` -1: it is not known, so the body is sent in
 * chunks, or ended by the end of the connection if the client speaks HTTP/1.0. `write` is not called for
 * HEAD, nor if the client has gone. `end` (may be null) is called once, after `write` or in its place,
 * on the connection's fiber; if this is not WEFT_OK, it is not called. */
WEFT_API WEFT_CHECK weft_status weft_http_stream(weft_http_request* q, int status, const weft_http_field* fields, size_t n_fields,
                                                 int64_t length, weft_http_writer write, void (*end)(void* user), void* user);
/* Appends to the body; small pieces are gathered. After a failure the writer should return its status.
 * Parks */
WEFT_API WEFT_CHECK weft_status weft_http_write(weft_http_body* out, const void* data, size_t n);
/* Appends `n` bytes of a regular file, without copying them where that is possible. Parks */
WEFT_API WEFT_CHECK weft_status weft_http_write_file(weft_http_body* out, int fd, uint64_t offset, uint64_t n);
/* Sends what was gathered. Parks */
WEFT_API WEFT_CHECK weft_status weft_http_flush(weft_http_body* out);
/* The request, whose body may still be read. */
WEFT_API weft_http_request* weft_http_request_of(weft_http_body* out);
/* Whether the server is stopping: an answer without an end of its own should end. */
WEFT_API bool weft_http_stopping(const weft_http_body* out);

#ifdef __cplusplus
}
#endif
#endif
