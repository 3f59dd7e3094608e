/* bad_input_test.c - null handles and null results for every function: WEFT_EINVAL with words, or no effect. */
#include "support/check.h"

#include <weft/c_hooks.h>
#include <weft/c_scheduler.h>

static bool concerns_nothing(void) { return false; }
static void hears_nothing(const weft_parking* what) { (void)what; }

static int body(void* arg) { return arg == NULL ? 0 : 1; }
static void start(void* arg, weft_resume* r) {
    (void)arg;
    weft_resume_drop(r);
}
static void* routine(weft_coroutine* self, void* first, void* arg) {
    (void)self;
    (void)first;
    return arg;
}
static void write_nothing(void* user, const char* text, size_t n) {
    (void)user;
    (void)text;
    (void)n;
}

static char room[16];
static size_t chosen = 99;

/* One function, called with one thing left out that it needs. */
struct row {
    const char* call;
    weft_status (*make)(void);
};

#define ROW(name, call)                                                                                                          \
    static weft_status name(void) { return call; }
#define LISTED(name)                                                                                                             \
    { #name, name }

ROW(create_without_out, weft_runtime_create(NULL, NULL))
ROW(shutdown_of_null, weft_runtime_shutdown(NULL, 0))
ROW(restart_of_null, weft_runtime_restart(NULL))
ROW(dump_without_a_function, weft_dump(WEFT_DUMP_TEXT, NULL, NULL))
ROW(dump_of_an_unknown_format, weft_dump(2, write_nothing, NULL))
ROW(spawn_without_a_body, weft_spawn(rt, NULL, NULL, NULL, NULL))
ROW(run_without_a_runtime, weft_run(NULL, body, NULL, NULL))
ROW(run_without_a_body, weft_run(rt, NULL, NULL, NULL))
ROW(join_of_null, weft_join(NULL, WEFT_FOREVER, NULL))
ROW(join_of_null_without_waiting, weft_join(NULL, 0, NULL))
ROW(scope_without_out, weft_scope_open(rt, NULL, NULL))
ROW(scope_spawn_of_null, weft_scope_spawn(NULL, body, NULL, NULL))
ROW(scope_close_of_null, weft_scope_close(NULL))
ROW(channel_without_out, weft_channel_create(1, 1, NULL, NULL, NULL))
ROW(send_to_null, weft_send(NULL, room, 0))
ROW(receive_from_null, weft_receive(NULL, room, WEFT_FOREVER))
ROW(select_of_null, weft_select(NULL, 1, &chosen))
ROW(lock_of_null, weft_mutex_lock(NULL, WEFT_FOREVER))
ROW(unlock_of_null, weft_mutex_unlock(NULL))
ROW(semaphore_init_of_null, weft_semaphore_init(NULL, 1))
ROW(acquire_of_null, weft_semaphore_acquire(NULL, WEFT_FOREVER))
ROW(group_init_of_null, weft_wait_group_init(NULL, 1))
ROW(group_wait_of_null, weft_wait_group_wait(NULL, WEFT_FOREVER))
ROW(event_wait_of_null, weft_event_wait(NULL, WEFT_FOREVER))
ROW(as_thread_without_a_function, weft_as_thread(NULL, NULL, NULL))
ROW(blocking_without_a_function, weft_blocking(NULL, NULL, NULL))
ROW(await_without_start, weft_await_callback(NULL, NULL, NULL, NULL))
ROW(coroutine_without_a_body, weft_coroutine_create(NULL, NULL, 0, (weft_coroutine**)(void*)room))
ROW(coroutine_without_out, weft_coroutine_create(routine, NULL, 0, NULL))
ROW(coroutine_call_of_null, weft_coroutine_call(NULL, NULL, NULL))
ROW(coroutine_yield_of_null, weft_coroutine_yield(NULL, NULL, NULL))
ROW(listen_without_an_address, weft_listen(NULL, NULL, (weft_listener**)(void*)room))
ROW(listen_without_out, weft_listen("127.0.0.1:0", NULL, NULL))
ROW(accept_of_null, weft_accept(NULL, WEFT_FOREVER, (weft_stream**)(void*)room))
ROW(connect_without_an_address, weft_connect(NULL, WEFT_FOREVER, (weft_stream**)(void*)room))
ROW(connect_without_out, weft_connect("127.0.0.1:1", WEFT_FOREVER, NULL))
ROW(read_of_null, weft_read(NULL, room, 1, WEFT_FOREVER, NULL))
ROW(read_of_null_without_waiting, weft_read(NULL, room, 1, 0, NULL))
ROW(read_exact_of_null, weft_read_exact(NULL, room, 1, WEFT_FOREVER, NULL))
ROW(read_exact_of_null_without_waiting, weft_read_exact(NULL, room, 1, 0, NULL))
ROW(write_of_null, weft_write(NULL, room, 1, WEFT_FOREVER, NULL))
ROW(write_of_null_without_waiting, weft_write(NULL, room, 1, 0, NULL))
ROW(write_pieces_of_null, weft_write_pieces(NULL, NULL, 0, WEFT_FOREVER, NULL))
ROW(write_pieces_of_null_without_waiting, weft_write_pieces(NULL, NULL, 0, 0, NULL))
ROW(stream_shutdown_of_null, weft_stream_shutdown(NULL, WEFT_WRITE))
ROW(remote_of_null, weft_stream_remote(NULL, room, sizeof room))
ROW(local_create_of_null, weft_local_create(NULL, NULL))
ROW(local_set_of_null, weft_local_set(NULL, room))
ROW(wait_fd_for_nothing, weft_wait_fd(0, 0, 0))
ROW(wait_fd_for_both, weft_wait_fd(0, WEFT_READ | WEFT_WRITE, 0))
ROW(scheduler_init_of_null, weft_scheduler_init(NULL, 1, WEFT_BATCH))
ROW(scheduler_add_to_null, weft_scheduler_add(NULL, NULL, NULL))
ROW(scheduler_run_of_null, weft_scheduler_run(NULL))
ROW(coro_yield_of_null, weft_coro_yield(NULL, WEFT_MAY_RESUME))

static const struct row rows[] = {
    LISTED(create_without_out),
    LISTED(shutdown_of_null),
    LISTED(restart_of_null),
    LISTED(dump_without_a_function),
    LISTED(dump_of_an_unknown_format),
    LISTED(spawn_without_a_body),
    LISTED(run_without_a_runtime),
    LISTED(run_without_a_body),
    LISTED(join_of_null),
    LISTED(join_of_null_without_waiting),
    LISTED(scope_without_out),
    LISTED(scope_spawn_of_null),
    LISTED(scope_close_of_null),
    LISTED(channel_without_out),
    LISTED(send_to_null),
    LISTED(receive_from_null),
    LISTED(select_of_null),
    LISTED(lock_of_null),
    LISTED(unlock_of_null),
    LISTED(semaphore_init_of_null),
    LISTED(acquire_of_null),
    LISTED(group_init_of_null),
    LISTED(group_wait_of_null),
    LISTED(event_wait_of_null),
    LISTED(as_thread_without_a_function),
    LISTED(blocking_without_a_function),
    LISTED(await_without_start),
    LISTED(coroutine_without_a_body),
    LISTED(coroutine_without_out),
    LISTED(coroutine_call_of_null),
    LISTED(coroutine_yield_of_null),
    LISTED(listen_without_an_address),
    LISTED(listen_without_out),
    LISTED(accept_of_null),
    LISTED(connect_without_an_address),
    LISTED(connect_without_out),
    LISTED(read_of_null),
    LISTED(read_of_null_without_waiting),
    LISTED(read_exact_of_null),
    LISTED(read_exact_of_null_without_waiting),
    LISTED(write_of_null),
    LISTED(write_of_null_without_waiting),
    LISTED(write_pieces_of_null),
    LISTED(write_pieces_of_null_without_waiting),
    LISTED(stream_shutdown_of_null),
    LISTED(remote_of_null),
    LISTED(local_create_of_null),
    LISTED(local_set_of_null),
    LISTED(wait_fd_for_nothing),
    LISTED(wait_fd_for_both),
    LISTED(scheduler_init_of_null),
    LISTED(scheduler_add_to_null),
    LISTED(scheduler_run_of_null),
    LISTED(coro_yield_of_null),
};

ANYWHERE_TEST(what_a_function_needs_is_not_there) {
    size_t i;
    for (i = 0; i < sizeof rows / sizeof *rows; ++i) {
        weft_status s;
        CHECK_EQ(weft_fail("of another call"), WEFT_EFAILED);
        s = rows[i].make();
        if (s != WEFT_EINVAL) fprintf(stderr, "%s\n", rows[i].call);
        CHECK_STATUS(s, WEFT_EINVAL);
        CHECK(strcmp(weft_error(), "of another call") != 0);
        CHECK_CONTAINS(weft_error(), "weft_"); /* it names the function */
        CHECK_EQ(weft_error_errno(), 0);
    }
    for (i = 0; i < sizeof room; ++i) CHECK_EQ(room[i], 0);
    CHECK_EQ(chosen, 99);
}

ANYWHERE_TEST(an_object_is_there_and_the_rest_is_not) {
    weft_channel* ch = NULL;
    weft_scope* s = NULL;
    weft_listener* l = NULL;
    weft_mutex m = WEFT_ZERO_INIT;
    weft_condition c = WEFT_ZERO_INIT;
    weft_stats stats;
    weft_local key;
    CHECK_STATUS(weft_channel_create(1, 1, NULL, NULL, &ch), WEFT_OK);
    CHECK_STATUS(weft_send(ch, NULL, 0), WEFT_EINVAL);
    CHECK_STATUS(weft_receive(ch, NULL, 0), WEFT_EINVAL);
    CHECK_STATUS(weft_send(ch, NULL, WEFT_FOREVER), WEFT_EINVAL);
    CHECK_STATUS(weft_receive(ch, NULL, WEFT_FOREVER), WEFT_EINVAL);
    CHECK_EQ(weft_channel_size(ch), 0);
    weft_channel_release(ch);
    CHECK_STATUS(weft_scope_open(rt, NULL, &s), WEFT_OK);
    CHECK_STATUS(weft_scope_spawn(s, NULL, NULL, NULL), WEFT_EINVAL);
    CHECK_STATUS(weft_scope_close(s), WEFT_OK);
    CHECK_STATUS(weft_listen("127.0.0.1:0", NULL, &l), WEFT_OK);
    CHECK_STATUS(weft_accept(l, WEFT_FOREVER, NULL), WEFT_EINVAL);
    weft_listener_destroy(l);
    CHECK_STATUS(weft_mutex_lock(&m, WEFT_FOREVER), WEFT_OK);
    CHECK_STATUS(weft_condition_wait(NULL, &m, WEFT_FOREVER), WEFT_EINVAL);
    CHECK_STATUS(weft_mutex_unlock(&m), WEFT_OK); /* it was not unlocked */
    CHECK_STATUS(weft_condition_wait(&c, NULL, WEFT_FOREVER), WEFT_EINVAL);
    CHECK_STATUS(weft_runtime_stats(rt, NULL), WEFT_EINVAL);
    weft_stats_init(&stats);
    CHECK_STATUS(weft_runtime_stats(NULL, &stats), WEFT_EINVAL);
    CHECK_STATUS(weft_local_create(&key, NULL), WEFT_OK);
    weft_local_destroy(&key);
    CHECK_STATUS(weft_local_set(&key, &m), WEFT_EINVAL); /* destroyed */
}

ANYWHERE_TEST(functions_without_a_status_ignore_a_null_handle) {
    void* edge = NULL;
    weft_runtime_destroy(NULL);
    weft_detach(NULL);
    CHECK(!weft_request_stop(NULL));
    IGNORE(weft_is_done(NULL) ? 1 : 0);
    CHECK_EQ(weft_fiber_id(NULL), 0);
    weft_set_name(NULL);
    weft_stack_bounds(NULL, NULL);
    weft_stack_bounds(&edge, NULL);
    weft_stack_bounds(NULL, &edge);
    weft_shield_enter(NULL, WEFT_FOREVER);
    weft_shield_leave(NULL);
    weft_deadline_enter(NULL, 0);
    CHECK_STATUS(weft_deadline_leave(NULL, WEFT_CLOSED), WEFT_CLOSED);
    CHECK_STATUS(weft_deadline_leave(NULL, WEFT_CANCELED), WEFT_CANCELED);
    weft_pin_enter(NULL);
    weft_pin_leave(NULL);
    weft_scope_request_stop(NULL);
    CHECK(weft_channel_retain(NULL) == NULL);
    weft_channel_release(NULL);
    weft_close(NULL);
    IGNORE(weft_channel_is_closed(NULL) ? 1 : 0);
    CHECK_EQ(weft_channel_size(NULL), 0);
    CHECK_EQ(weft_channel_capacity(NULL), 0);
    CHECK_EQ(weft_channel_element_bytes(NULL), 0);
    weft_condition_notify_one(NULL);
    weft_condition_notify_all(NULL);
    weft_semaphore_release(NULL, 1);
    weft_wait_group_add(NULL, 1);
    weft_wait_group_done(NULL);
    weft_event_init(NULL, true);
    weft_event_set(NULL);
    weft_event_reset(NULL);
    weft_resume_with(NULL, WEFT_OK, NULL);
    weft_resume_drop(NULL);
    IGNORE(weft_coroutine_is_done(NULL) ? 1 : 0);
    weft_coroutine_destroy(NULL);
    CHECK_EQ(weft_listener_port(NULL), 0);
    CHECK_EQ(weft_listener_fd(NULL), -1);
    weft_listener_close(NULL);
    weft_listener_destroy(NULL);
    weft_stream_close(NULL);
    weft_stream_abort(NULL);
    weft_stream_destroy(NULL);
    CHECK_EQ(weft_stream_fd(NULL), -1);
    CHECK(weft_local_get(NULL) == NULL);
    weft_local_destroy(NULL);
    weft_scheduler_destroy(NULL);
    CHECK_STATUS(weft_set_park_hook(NULL), WEFT_OK);
    CHECK_STATUS(weft_set_park_check(NULL, NULL), WEFT_OK);
    CHECK_STATUS(weft_set_park_check(concerns_nothing, NULL), WEFT_EINVAL);
    CHECK_STATUS(weft_set_park_check(NULL, hears_nothing), WEFT_EINVAL);
    CHECK_STATUS(weft_yield(), WEFT_OK); /* nothing of it has left a trace */
}

ANYWHERE_TEST(words_that_are_null_are_none) {
    CHECK_EQ(weft_fail("before"), WEFT_EFAILED);
    CHECK_EQ(weft_fail(NULL), WEFT_EFAILED);
    CHECK(strcmp(weft_error(), "") == 0);
}

ANYWHERE_TEST(arguments_may_be_null_where_they_say_so) {
    weft_channel* ch = NULL;
    int result = 9;
    CHECK_EQ(check_join(check_spawn(rt, body, NULL)), 0);
    CHECK_STATUS(weft_blocking(body, NULL, &result), WEFT_OK);
    CHECK_EQ(result, 0);
    CHECK_STATUS(weft_await_callback(start, NULL, NULL, NULL), WEFT_EFAILED);
    CHECK_STATUS(weft_channel_create(1, SIZE_MAX, NULL, NULL, &ch), WEFT_OK);
    CHECK_STATUS(weft_send(ch, room, 0), WEFT_OK);
    weft_channel_release(ch);
}

TEST(times_at_the_ends_of_their_range) {
    weft_event e = WEFT_ZERO_INIT;
    weft_mutex m = WEFT_ZERO_INIT;
    weft_shield s;
    weft_deadline d;
    CHECK_STATUS(weft_event_wait(&e, INT64_MIN), WEFT_BUSY);
    CHECK_STATUS(weft_sleep(INT64_MIN), WEFT_OK);
    weft_event_set(&e);
    CHECK_STATUS(weft_event_wait(&e, INT64_MAX), WEFT_OK);
    CHECK_STATUS(weft_event_wait(&e, INT64_MAX - 1), WEFT_OK);
    CHECK_STATUS(weft_mutex_lock(&m, INT64_MAX - 1), WEFT_OK);
    CHECK_STATUS(weft_mutex_unlock(&m), WEFT_OK);
    weft_shield_enter(&s, INT64_MAX - 1);
    weft_deadline_enter(&d, INT64_MAX - 1);
    CHECK_STATUS(weft_yield(), WEFT_OK);
    CHECK_STATUS(weft_deadline_leave(&d, WEFT_OK), WEFT_OK);
    weft_shield_leave(&s);
}
