# weft/c.pxd - declares weft/c.h for Cython: all of it callable without the GIL. weft/__init__.pxd hands it on, so `cimport weft` has it.
#
# What each function does stands in weft/c.h (weft.get_include() says where). A function that parks is called without the GIL: while a fiber
# waits with it, no Python code runs, so the package stops the program there with a line that names the fiber.
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t

cdef extern from "<weft/c.h>" nogil:
    ctypedef int weft_status
    enum:
        WEFT_OK
        WEFT_TIMEDOUT
        WEFT_BUSY
        WEFT_CLOSED
        WEFT_DONE
        WEFT_CANCELED
        WEFT_EINVAL
        WEFT_ENOMEM
        WEFT_ELIMIT
        WEFT_ESYSTEM
        WEFT_EFAILED
        WEFT_ESTATE
        WEFT_ENOFIBER
    const int64_t WEFT_FOREVER
    const uint32_t WEFT_C_VERSION
    enum:
        WEFT_HOG_COMPUTES, WEFT_HOG_BLOCKS, WEFT_HOG_IGNORES_STOP
    enum:
        WEFT_AT_LIMIT_PARK, WEFT_AT_LIMIT_RUN_INLINE, WEFT_AT_LIMIT_FAIL
    enum:
        WEFT_DUMP_TEXT, WEFT_DUMP_JSON
    enum:
        WEFT_MIGRATE_ALWAYS, WEFT_MIGRATE_BEFORE_START, WEFT_MIGRATE_NEVER, WEFT_MIGRATE_OWN_CARRIER
    enum:
        WEFT_PRIORITY_INHERIT, WEFT_PRIORITY_HIGH, WEFT_PRIORITY_NORMAL, WEFT_PRIORITY_LOW
    enum:
        WEFT_CASE_NONE, WEFT_CASE_RECEIVE, WEFT_CASE_SEND, WEFT_CASE_TIMEOUT, WEFT_CASE_OTHERWISE
        WEFT_CASE_JOIN, WEFT_CASE_READABLE, WEFT_CASE_ACCEPTABLE
    enum:
        WEFT_READ, WEFT_WRITE

    ctypedef struct weft_runtime
    ctypedef struct weft_fiber
    ctypedef struct weft_scope
    ctypedef struct weft_channel
    ctypedef struct weft_coroutine
    ctypedef struct weft_listener
    ctypedef struct weft_stream
    ctypedef struct weft_resume

    ctypedef int (*weft_body)(void *arg) noexcept nogil
    ctypedef void *(*weft_coroutine_body)(weft_coroutine *self, void *first, void *arg) noexcept nogil

    ctypedef struct weft_fiber_info:
        uint64_t id
        const char *name
        const char *state
        const char *waits_for
        bint detached
    ctypedef struct weft_hog:
        weft_fiber_info fiber
        int32_t what
        int32_t thread
        int64_t held_ns
        int64_t computed_ns
        const char *blocked_in

    # Structs with a size: call <name>_init() first, and then set members.
    ctypedef struct weft_runtime_options:
        size_t size
        uint32_t workers
        uint32_t max_carriers
        uint32_t blocking_threads
        size_t stack_bytes
        size_t max_fibers
        int64_t time_slice_ns
        int64_t timer_slack_ns
        int32_t hog_nice
        int32_t dump_signal
        int32_t at_limit
        bint inspect
        bint torture_migration
        const char *name
        void *user
        void (*on_unhandled)(void *user, const weft_fiber_info *fiber, weft_status s, const char *words) noexcept nogil
        void (*on_hog)(void *user, const weft_hog *hog) noexcept nogil
        bint hooks
    ctypedef struct weft_stats:
        size_t size
        uint64_t fibers
        uint64_t spawned
        uint64_t refused
        uint64_t switches
        uint64_t parks
        uint64_t steals
        uint64_t sleeps
        uint64_t wakes
        uint64_t hand_offs
        uint64_t blocked
        uint64_t stacks_in_use
        uint64_t stacks_idle
        uint64_t stacks_unguarded
        uint32_t workers
        uint32_t carriers
        uint32_t blocking_threads
    ctypedef struct weft_attributes:
        size_t size
        const char *name
        size_t stack_bytes
        int32_t migrate
        int32_t priority
        bint no_preempt
        bint run_now
        bint as_thread
    ctypedef struct weft_scope_options:
        size_t size
        size_t limit
        bint keep_going
    ctypedef struct weft_listen_options:
        size_t size
        int32_t backlog
        bint reuse_port
        bint v6_only
        bint delay
    void weft_runtime_options_init(weft_runtime_options *o)
    void weft_stats_init(weft_stats *o)
    void weft_attributes_init(weft_attributes *o)
    void weft_scope_options_init(weft_scope_options *o)
    void weft_listen_options_init(weft_listen_options *o)

    ctypedef struct weft_shield:
        pass
    ctypedef struct weft_deadline:
        pass
    ctypedef struct weft_pin:
        pass
    ctypedef struct weft_mutex:
        pass
    ctypedef struct weft_condition:
        pass
    ctypedef struct weft_event:
        pass
    ctypedef struct weft_wait_group:
        pass
    ctypedef struct weft_semaphore:
        pass
    ctypedef struct weft_local:
        pass
    ctypedef struct weft_piece:
        const void *data
        size_t size
    ctypedef struct weft_case:
        int32_t kind
        weft_status status
        void *object
        void *element
        int64_t timeout_ns
    weft_case weft_on_receive(weft_channel *ch, void *element)
    weft_case weft_on_send(weft_channel *ch, const void *element)
    weft_case weft_on_timeout(int64_t ns)
    weft_case weft_otherwise()
    weft_case weft_on_join(weft_fiber *f)
    weft_case weft_on_readable(weft_stream *s)
    weft_case weft_on_acceptable(weft_listener *l)

    const char *weft_error()
    int weft_error_errno()
    weft_status weft_fail(const char *words)
    const char *weft_status_name(weft_status s)
    uint32_t weft_version()
    weft_status weft_runtime_create(const weft_runtime_options *o, weft_runtime**out)
    void weft_runtime_destroy(weft_runtime *rt)
    weft_status weft_runtime_shutdown(weft_runtime *rt, int64_t grace_ns)
    weft_status weft_runtime_restart(weft_runtime *rt)
    weft_runtime *weft_runtime_current()
    weft_status weft_runtime_stats(weft_runtime *rt, weft_stats *out)
    weft_status weft_dump(int format, void (*write)(void *user, const char *text, size_t n) noexcept nogil, void *user)
    weft_status weft_spawn(weft_runtime *rt, weft_body f, void *arg, const weft_attributes *a, weft_fiber**out)
    weft_status weft_run(weft_runtime *rt, weft_body main, void *arg, int *result)
    weft_status weft_join(weft_fiber *f, int64_t timeout_ns, int *result)
    void weft_detach(weft_fiber *f)
    bint weft_request_stop(weft_fiber *f)
    bint weft_is_done(const weft_fiber *f)
    uint64_t weft_fiber_id(const weft_fiber *f)
    weft_status weft_yield()
    weft_status weft_sleep(int64_t ns)
    uint64_t weft_self_id()
    bint weft_stop_requested()
    weft_status weft_check_canceled()
    void weft_set_name(const char *name)
    size_t weft_stack_remaining()
    void weft_stack_bounds(void**low, void**high)
    void weft_shield_enter(weft_shield *frame, int64_t limit_ns)
    void weft_shield_leave(weft_shield *frame)
    void weft_deadline_enter(weft_deadline *frame, int64_t timeout_ns)
    weft_status weft_deadline_leave(weft_deadline *frame, weft_status s)
    void weft_pin_enter(weft_pin *frame)
    void weft_pin_leave(weft_pin *frame)
    weft_status weft_scope_open(weft_runtime *rt, const weft_scope_options *o, weft_scope**out)
    weft_status weft_scope_spawn(weft_scope *s, weft_body f, void *arg, const weft_attributes *a)
    void weft_scope_request_stop(weft_scope *s)
    weft_status weft_scope_close(weft_scope *s)
    weft_status weft_channel_create(size_t element_bytes, size_t capacity, void (*drop)(void *user, void *element) noexcept nogil, void *user, weft_channel**out)
    weft_channel *weft_channel_retain(weft_channel *ch)
    void weft_channel_release(weft_channel *ch)
    weft_status weft_send(weft_channel *ch, const void *element, int64_t timeout_ns)
    weft_status weft_receive(weft_channel *ch, void *element, int64_t timeout_ns)
    void weft_close(weft_channel *ch)
    bint weft_channel_is_closed(weft_channel *ch)
    size_t weft_channel_size(weft_channel *ch)
    size_t weft_channel_capacity(weft_channel *ch)
    size_t weft_channel_element_bytes(weft_channel *ch)
    weft_status weft_select(weft_case *cases, size_t n, size_t *chosen)
    weft_status weft_mutex_lock(weft_mutex *m, int64_t timeout_ns)
    weft_status weft_mutex_unlock(weft_mutex *m)
    weft_status weft_condition_wait(weft_condition *c, weft_mutex *m, int64_t timeout_ns)
    void weft_condition_notify_one(weft_condition *c)
    void weft_condition_notify_all(weft_condition *c)
    weft_status weft_semaphore_init(weft_semaphore *s, ptrdiff_t permits)
    weft_status weft_semaphore_acquire(weft_semaphore *s, int64_t timeout_ns)
    void weft_semaphore_release(weft_semaphore *s, ptrdiff_t n)
    weft_status weft_wait_group_init(weft_wait_group *g, ptrdiff_t n)
    void weft_wait_group_add(weft_wait_group *g, ptrdiff_t n)
    void weft_wait_group_done(weft_wait_group *g)
    weft_status weft_wait_group_wait(weft_wait_group *g, int64_t timeout_ns)
    void weft_event_init(weft_event *e, bint automatic)
    void weft_event_set(weft_event *e)
    void weft_event_reset(weft_event *e)
    weft_status weft_event_wait(weft_event *e, int64_t timeout_ns)
    weft_status weft_blocking(weft_body f, void *arg, int *result)
    weft_status weft_as_thread(weft_body f, void *arg, int *result)
    weft_status weft_await_callback(void (*start)(void *arg, weft_resume *r) noexcept nogil, void (*on_cancel)(void *arg) noexcept nogil, void *arg, void**value)
    void weft_resume_with(weft_resume *r, weft_status s, void *value)
    void weft_resume_drop(weft_resume *r)
    weft_status weft_wait_fd(int fd, int what, int64_t timeout_ns)
    weft_status weft_coroutine_create(weft_coroutine_body f, void *arg, size_t stack_bytes, weft_coroutine**out)
    weft_status weft_coroutine_call(weft_coroutine *c, void *argument, void**out)
    weft_status weft_coroutine_yield(weft_coroutine *self, void *out, void**argument)
    bint weft_coroutine_is_done(const weft_coroutine *c)
    void weft_coroutine_destroy(weft_coroutine *c)
    weft_status weft_listen(const char *at, const weft_listen_options *o, weft_listener**out)
    uint16_t weft_listener_port(const weft_listener *l)
    int weft_listener_fd(const weft_listener *l)
    weft_status weft_accept(weft_listener *l, int64_t timeout_ns, weft_stream**out)
    void weft_listener_close(weft_listener *l)
    void weft_listener_destroy(weft_listener *l)
    weft_status weft_connect(const char *to, int64_t timeout_ns, weft_stream**out)
    weft_status weft_read(weft_stream *s, void *into, size_t n, int64_t timeout_ns, size_t *got)
    weft_status weft_read_exact(weft_stream *s, void *into, size_t n, int64_t timeout_ns, size_t *got)
    weft_status weft_write(weft_stream *s, const void *bytes, size_t n, int64_t timeout_ns, size_t *put)
    weft_status weft_write_pieces(weft_stream *s, const weft_piece *pieces, size_t n, int64_t timeout_ns, size_t *put)
    weft_status weft_stream_shutdown(weft_stream *s, int what)
    void weft_stream_close(weft_stream *s)
    void weft_stream_abort(weft_stream *s)
    void weft_stream_destroy(weft_stream *s)
    int weft_stream_fd(const weft_stream *s)
    weft_status weft_stream_remote(const weft_stream *s, char *text, size_t n)
    weft_status weft_local_create(weft_local *key, void (*destroy)(void *value) noexcept nogil)
    void *weft_local_get(const weft_local *key)
    weft_status weft_local_set(const weft_local *key, void *value)
    void weft_local_destroy(weft_local *key)
