# weft/http.pxd - declares weft/c_http.h for Cython, all of it callable without the GIL. A library that was built without HTTP has none of it.
from libc.stdint cimport SIZE_MAX, int64_t, uint16_t, uint64_t

from weft.c cimport weft_listener, weft_piece, weft_status

cdef extern from "<weft/c_http.h>" nogil:
    ctypedef struct weft_http_server
    ctypedef struct weft_http_request
    ctypedef struct weft_http_body

    ctypedef int (*weft_http_handler)(weft_http_request *q, void *user) noexcept nogil
    ctypedef int (*weft_http_writer)(weft_http_body *out, void *user) noexcept nogil
    ctypedef struct weft_http_failure:
        const char *method
        const char *target
        const char *words
    ctypedef struct weft_http_options:
        size_t size
        size_t max_header_bytes
        size_t max_body_bytes
        size_t max_header_fields
        size_t max_query_parameters
        size_t max_connections
        size_t min_rate
        int64_t header_timeout_ns
        int64_t idle_timeout_ns
        int64_t body_timeout_ns
        int64_t write_timeout_ns
        int64_t request_timeout_ns
        int64_t cold_after_ns
        void (*on_error)(const weft_http_failure *f, void *user) noexcept nogil
        void *user
    ctypedef struct weft_http_files_options:
        size_t size
        const char *index
        int64_t cache_ns
        bint no_ranges
        bint no_precompressed
        bint hidden
    ctypedef struct weft_http_field:
        const char *name
        size_t name_size
        const char *value
        size_t value_size
    enum:
        WEFT_HTTP_LOG_COMMON, WEFT_HTTP_LOG_COMBINED, WEFT_HTTP_LOG_JSON
    const size_t WEFT_HTTP_NO_LIMIT

    void weft_http_options_init(weft_http_options *o)
    void weft_http_files_options_init(weft_http_files_options *o)
    weft_status weft_http_create(const weft_http_options *o, weft_http_server **out)
    void weft_http_destroy(weft_http_server *s)
    weft_status weft_http_route(weft_http_server *s, const char *method, const char *pattern, weft_http_handler f, void *user)
    weft_status weft_http_constant(weft_http_server *s, const char *pattern, const char *content_type, const void *body, size_t n)
    weft_status weft_http_files(weft_http_server *s, const char *prefix, const char *directory, const weft_http_files_options *o)
    weft_status weft_http_log_access(weft_http_server *s, int fd, int format)
    weft_status weft_http_listen(weft_http_server *s, const char *at)
    weft_status weft_http_listen_on(weft_http_server *s, weft_listener *l)
    weft_status weft_http_listen_descriptor(weft_http_server *s, int fd)
    weft_status weft_http_local(const weft_http_server *s, char *text, size_t n)
    weft_status weft_http_serve(weft_http_server *s)
    void weft_http_stop(weft_http_server *s, int64_t grace_ns)
    void weft_http_drain(weft_http_server *s, int64_t grace_ns)

    weft_piece weft_http_method(const weft_http_request *q)
    weft_piece weft_http_target(const weft_http_request *q)
    weft_piece weft_http_path(const weft_http_request *q)
    weft_piece weft_http_query(const weft_http_request *q)
    int weft_http_minor_version(const weft_http_request *q)
    weft_piece weft_http_path_parameter(const weft_http_request *q, const char *name)
    weft_piece weft_http_header(const weft_http_request *q, const char *name)
    size_t weft_http_header_count(const weft_http_request *q)
    weft_http_field weft_http_header_at(const weft_http_request *q, size_t i)
    weft_piece weft_http_head(const weft_http_request *q)
    weft_piece weft_http_peer_host(const weft_http_request *q)
    uint16_t weft_http_peer_port(const weft_http_request *q)
    int64_t weft_http_body_left(const weft_http_request *q)
    weft_status weft_http_read(weft_http_request *q, void *into, size_t n, size_t *got)
    weft_status weft_http_answer(weft_http_request *q, int status, const weft_http_field *fields, size_t n_fields, const void *body,
                                 size_t n)
    weft_status weft_http_stream(weft_http_request *q, int status, const weft_http_field *fields, size_t n_fields, int64_t length,
                                 weft_http_writer write, void (*end)(void *user) noexcept nogil, void *user)
    weft_status weft_http_write(weft_http_body *out, const void *data, size_t n)
    weft_status weft_http_write_file(weft_http_body *out, int fd, uint64_t offset, uint64_t n)
    weft_status weft_http_flush(weft_http_body *out)
    weft_http_request *weft_http_request_of(weft_http_body *out)
    bint weft_http_stopping(const weft_http_body *out)
