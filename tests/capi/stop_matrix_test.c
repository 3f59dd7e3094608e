/* stop_matrix_test.c - every function that parks against stops and deadlines, before the call and during it.
 *
 * Each must return WEFT_CANCELED, and so must the next call that parks; under a shield nothing
 * interrupts. The victim is a fiber of `home`; the main thread plays its surroundings.
 */
#include "support/check.h"

#include <weft/c_scheduler.h>

#include <pthread.h>
#include <unistd.h>

enum cause { BY_STOP, BY_DEADLINE };
enum moment { BEFORE, DURING };

static weft_runtime* home;

/* What the rows need; each uses some of it. */
struct scene {
    const struct row* row;
    enum cause cause;
    enum moment moment;
    bool shielded;
    int64_t timeout; /* WEFT_FOREVER, or one that does not pass */

    int ready;         /* the victim can be stopped */
    int stopped;       /* it was */
    int about_to_park;
    int64_t deadline_at;
    weft_status status; /* of the call */

    weft_runtime* other;
    weft_fiber* helper;
    weft_channel* ch;
    weft_event go;
    weft_mutex m;
    weft_condition c;
    weft_semaphore s;
    weft_wait_group g;
    weft_scope* scope;
    weft_scheduler scheduler;
    weft_resume* resume;
    int canceled;
    int released;
    int pipe[2];
    weft_listener* l;
    weft_stream* near_end;
    weft_stream* far_end;
    char to[64];
    char* bytes;
};

struct row {
    void (*prepare)(struct scene* s);     /* by the main thread, first */
    void (*begin)(struct scene* s);       /* by the victim, before the cause */
    weft_status (*park)(struct scene* s); /* by the victim: the call */
    void (*release)(struct scene* s);     /* by the main thread, again and again: ends the wait */
    void (*end)(struct scene* s);         /* by the victim, after all */
    void (*clean_up)(struct scene* s);    /* by the main thread, last */
    bool never;                           /* nothing interrupts it */
    bool late;                            /* it is interrupted only once it was released */
    bool no_wait;                         /* it may not wait, so only what comes before counts */
};

static void nothing(struct scene* s) { (void)s; }

static bool must_succeed(const struct scene* s) { return s->shielded || s->row->never; }

static int victim(void* arg) {
    struct scene* const s = (struct scene*)arg;
    weft_deadline d;
    weft_shield shield;
    s->row->begin(s);
    if (s->cause == BY_DEADLINE) {
        const int64_t soon = s->moment == BEFORE ? 0 : 3 * MILLISECOND;
        weft_deadline_enter(&d, soon);
        __atomic_store_n(&s->deadline_at, check_now() + soon, __ATOMIC_SEQ_CST); /* or a little earlier */
    } else if (s->moment == BEFORE) {
        set_to(&s->ready, 1);
        UNTIL(get_of(&s->stopped));
    }
    if (s->shielded) weft_shield_enter(&shield, WEFT_FOREVER);
    set_to(&s->about_to_park, 1);
    s->status = s->row->park(s);
    if (s->shielded) weft_shield_leave(&shield);
    /* What is waited for may come before the timer of a deadline that has passed. */
    if (!(s->row->late && s->cause == BY_DEADLINE && s->moment == DURING && s->status == WEFT_OK))
        CHECK_STATUS(s->status, must_succeed(s) ? WEFT_OK : WEFT_CANCELED);
    if (s->cause == BY_STOP)
        UNTIL(get_of(&s->stopped));
    else
        UNTIL(check_now() > s->deadline_at + MILLISECOND);
    CHECK_STATUS(weft_yield(), WEFT_CANCELED); /* again */
    CHECK_STATUS(weft_check_canceled(), WEFT_CANCELED);
    CHECK_STATUS(weft_sleep(HOURS), WEFT_CANCELED);
    CHECK_EQ(weft_stop_requested(), s->cause == BY_STOP);
    if (s->cause == BY_DEADLINE) {
        CHECK_STATUS(weft_deadline_leave(&d, WEFT_CANCELED), WEFT_TIMEDOUT);
        CHECK_STATUS(weft_yield(), WEFT_OK);
    }
    s->row->end(s);
    return 0;
}

static void play(const struct row* row, enum cause cause, enum moment moment, bool shielded, int64_t timeout) {
    struct scene s;
    weft_fiber* f;
    memset(&s, 0, sizeof s);
    s.row = row;
    s.cause = cause;
    s.moment = moment;
    s.shielded = shielded;
    s.timeout = timeout;
    row->prepare(&s);
    f = check_spawn(home, victim, &s);
    if (cause == BY_STOP) {
        if (moment == BEFORE) UNTIL(get_of(&s.ready));
        if (moment == DURING) UNTIL(get_of(&s.about_to_park) && check_waits(weft_fiber_id(f), NULL));
        CHECK(weft_request_stop(f));
        set_to(&s.stopped, 1);
    } else {
        UNTIL(__atomic_load_n(&s.deadline_at, __ATOMIC_SEQ_CST) != 0);
        if (must_succeed(&s) || row->late) UNTIL(check_now() > s.deadline_at + MILLISECOND);
    }
    if (must_succeed(&s) || (row->late && moment == DURING)) {
        UNTIL(get_of(&s.about_to_park));
        UNTIL((row->release(&s), weft_is_done(f)));
    }
    CHECK_EQ(check_join(f), 0);
    row->clean_up(&s);
}

static void play_all(const struct row* row) {
    int cause;
    int moment;
    int shielded;
    home = check_make_runtime(2);
    for (cause = BY_STOP; cause <= BY_DEADLINE; ++cause)
        for (moment = BEFORE; moment <= (row->no_wait ? BEFORE : DURING); ++moment)
            for (shielded = 0; shielded < 2; ++shielded) {
                play(row, (enum cause)cause, (enum moment)moment, shielded == 1, WEFT_FOREVER);
                play(row, (enum cause)cause, (enum moment)moment, shielded == 1, HOURS);
            }
    weft_runtime_destroy(home);
}

#define MATRIX(prepare, begin, park, release, end, clean_up, never, late, no_wait)                                               \
    do {                                                                                                                         \
        static const struct row row = {prepare, begin, park, release, end, clean_up, never, late, no_wait};                      \
        play_all(&row);                                                                                                          \
    } while (0)

/* ---- fibers -------------------------------------------------------------------------------------- */

static weft_status sleeps(struct scene* s) { return weft_sleep(s->shielded ? 5 * MILLISECOND : s->timeout); }

TEST(sleep) { MATRIX(nothing, nothing, sleeps, nothing, nothing, nothing, false, false, false); }

static weft_status yields(struct scene* s) {
    (void)s;
    return weft_yield();
}

TEST(yield) { MATRIX(nothing, nothing, yields, nothing, nothing, nothing, false, false, true); }

static int waits_for_go(void* arg) {
    struct scene* const s = (struct scene*)arg;
    set_to(&s->ready, 2);
    IGNORE(weft_event_wait(&s->go, WEFT_FOREVER));
    return 0;
}

static void start_helper(struct scene* s) {
    s->other = check_make_runtime(1);
    s->helper = check_spawn(s->other, waits_for_go, s);
    UNTIL(check_waits(weft_fiber_id(s->helper), NULL));
    set_to(&s->ready, 0);
}

static void set_go(struct scene* s) { weft_event_set(&s->go); }

static weft_status joins(struct scene* s) { return weft_join(s->helper, s->timeout, NULL); }

static void end_helper(struct scene* s) {
    weft_event_set(&s->go);
    if (s->status != WEFT_OK) CHECK_EQ(check_join(s->helper), 0); /* the handle is good */
    weft_runtime_destroy(s->other);
}

TEST(join) { MATRIX(start_helper, nothing, joins, set_go, nothing, end_helper, false, false, false); }

static void make_other(struct scene* s) { s->other = check_make_runtime(1); }
static void end_other(struct scene* s) { weft_runtime_destroy(s->other); }
static weft_status runs(struct scene* s) { return weft_run(s->other, waits_for_go, s, NULL); }

TEST(run_in_another_runtime) { MATRIX(make_other, nothing, runs, set_go, nothing, end_other, false, false, false); }

static void fill_other(struct scene* s) {
    weft_runtime_options o;
    weft_runtime_options_init(&o);
    o.workers = 1;
    o.max_fibers = 1;
    CHECK_STATUS(weft_runtime_create(&o, &s->other), WEFT_OK);
    CHECK_STATUS(weft_spawn(s->other, waits_for_go, s, NULL, NULL), WEFT_OK);
    UNTIL(get_of(&s->ready) == 2);
    set_to(&s->ready, 0);
}

static int does_nothing(void* unused) {
    (void)unused;
    return 0;
}

static weft_status spawns_into_full(struct scene* s) { return weft_spawn(s->other, does_nothing, NULL, NULL, NULL); }

TEST(spawn_without_a_place) { MATRIX(fill_other, nothing, spawns_into_full, set_go, nothing, end_other, false, false, false); }

/* ---- scopes -------------------------------------------------------------------------------------- */

static void open_full_scope(struct scene* s) {
    weft_scope_options o;
    weft_scope_options_init(&o);
    o.limit = 1;
    CHECK_STATUS(weft_scope_open(NULL, &o, &s->scope), WEFT_OK);
    CHECK_STATUS(weft_scope_spawn(s->scope, waits_for_go, s, NULL), WEFT_OK);
    UNTIL(get_of(&s->ready) == 2);
    set_to(&s->ready, 0);
}

static weft_status spawns_at_the_limit(struct scene* s) { return weft_scope_spawn(s->scope, does_nothing, NULL, NULL); }

static void close_scope(struct scene* s) {
    weft_event_set(&s->go);
    CHECK_STATUS(weft_scope_close(s->scope), s->cause == BY_STOP ? WEFT_CANCELED : WEFT_OK);
}

TEST(scope_spawn_at_the_limit) {
    MATRIX(nothing, open_full_scope, spawns_at_the_limit, set_go, close_scope, nothing, false, false, false);
}

static weft_status opens_and_closes(struct scene* s) {
    CHECK_STATUS(weft_scope_open(NULL, NULL, &s->scope), WEFT_OK);
    CHECK_STATUS(weft_scope_spawn(s->scope, waits_for_go, s, NULL), WEFT_OK);
    return weft_scope_close(s->scope);
}

TEST(scope_close) { MATRIX(nothing, nothing, opens_and_closes, set_go, nothing, nothing, false, false, false); }

/* ---- channels ------------------------------------------------------------------------------------ */

static void make_rendezvous(struct scene* s) { CHECK_STATUS(weft_channel_create(sizeof(int), 0, NULL, NULL, &s->ch), WEFT_OK); }
static void make_empty(struct scene* s) { CHECK_STATUS(weft_channel_create(sizeof(int), 2, NULL, NULL, &s->ch), WEFT_OK); }
static void make_full(struct scene* s) {
    const int v = 1;
    CHECK_STATUS(weft_channel_create(sizeof v, 1, NULL, NULL, &s->ch), WEFT_OK);
    CHECK_STATUS(weft_send(s->ch, &v, 0), WEFT_OK);
}
static weft_status sends(struct scene* s) {
    const int v = 2;
    return weft_send(s->ch, &v, s->timeout);
}
static weft_status receives(struct scene* s) {
    int v = 0;
    const weft_status r = weft_receive(s->ch, &v, s->timeout);
    CHECK_EQ(v, r == WEFT_OK ? 3 : 0);
    return r;
}
static void receive_one(struct scene* s) {
    int v = 0;
    if (!s->released && weft_receive(s->ch, &v, 0) == WEFT_OK) s->released = v;
}
static void send_one(struct scene* s) {
    const int v = 3;
    if (!s->released && weft_send(s->ch, &v, 0) == WEFT_OK) s->released = 1;
}
static void release_channel(struct scene* s) { weft_channel_release(s->ch); }

/* Of what was interrupted nothing has happened. */
static void look_into_full(struct scene* s) {
    int v = 0;
    if (!s->released) {
        CHECK_STATUS(weft_receive(s->ch, &v, 0), WEFT_OK);
        CHECK_EQ(v, 1);
    } else {
        CHECK_EQ(s->released, 1);
        CHECK_STATUS(weft_receive(s->ch, &v, 0), WEFT_OK);
        CHECK_EQ(v, 2);
    }
    CHECK_STATUS(weft_receive(s->ch, &v, 0), WEFT_BUSY);
    weft_channel_release(s->ch);
}
static void look_into_rendezvous(struct scene* s) {
    int v = 0;
    CHECK_EQ(s->released, must_succeed(s) ? 2 : 0);
    CHECK_STATUS(weft_receive(s->ch, &v, 0), WEFT_BUSY);
    CHECK_STATUS(weft_send(s->ch, &v, 0), WEFT_BUSY);
    weft_channel_release(s->ch);
}

TEST(send_to_a_full_channel) { MATRIX(make_full, nothing, sends, receive_one, nothing, look_into_full, false, false, false); }

TEST(send_without_a_receiver) {
    MATRIX(make_rendezvous, nothing, sends, receive_one, nothing, look_into_rendezvous, false, false, false);
}

TEST(receive_without_a_sender) {
    MATRIX(make_rendezvous, nothing, receives, send_one, nothing, release_channel, false, false, false);
}

TEST(receive_from_an_empty_channel) {
    MATRIX(make_empty, nothing, receives, send_one, nothing, release_channel, false, false, false);
}

static weft_status selects_receive(struct scene* s) {
    int v = 0;
    size_t chosen = 9;
    weft_case c[3];
    weft_status r;
    c[0] = weft_on(WEFT_CASE_NONE, NULL, NULL, 0);
    c[1] = weft_on_receive(s->ch, &v);
    c[2] = weft_on_timeout(s->timeout);
    r = weft_select(c, s->timeout == WEFT_FOREVER ? 2 : 3, &chosen);
    CHECK_EQ(chosen, r == WEFT_OK ? 1 : 9);
    CHECK_EQ(v, r == WEFT_OK ? 3 : 0);
    return r;
}
static weft_status selects_send(struct scene* s) {
    const int v = 2;
    size_t chosen = 9;
    weft_case c[2];
    weft_status r;
    c[0] = weft_on_send(s->ch, &v);
    c[1] = weft_on_timeout(s->timeout);
    r = weft_select(c, 2, &chosen);
    CHECK_EQ(chosen, r == WEFT_OK ? 0 : 9);
    return r;
}

TEST(select_with_a_receive) {
    MATRIX(make_rendezvous, nothing, selects_receive, send_one, nothing, release_channel, false, false, false);
}

TEST(select_with_a_send) { MATRIX(make_full, nothing, selects_send, receive_one, nothing, look_into_full, false, false, false); }

/* ---- locks and counts ---------------------------------------------------------------------------- */

static void lock_mutex(struct scene* s) { CHECK_STATUS(weft_mutex_lock(&s->m, WEFT_FOREVER), WEFT_OK); }
static void unlock_once(struct scene* s) {
    if (!s->released) CHECK_STATUS(weft_mutex_unlock(&s->m), WEFT_OK);
    s->released = 1;
}
static weft_status locks(struct scene* s) {
    const weft_status r = weft_mutex_lock(&s->m, s->timeout);
    if (r == WEFT_OK) CHECK_STATUS(weft_mutex_unlock(&s->m), WEFT_OK);
    return r;
}

TEST(mutex_lock_is_never_interrupted) { MATRIX(lock_mutex, nothing, locks, unlock_once, nothing, nothing, true, false, false); }

static weft_status waits_for_notify(struct scene* s) { return weft_condition_wait(&s->c, &s->m, s->timeout); }
static void notify(struct scene* s) {
    lock_mutex(s);
    weft_condition_notify_one(&s->c);
    CHECK_STATUS(weft_mutex_unlock(&s->m), WEFT_OK);
}
static void unlock_mutex(struct scene* s) { CHECK_STATUS(weft_mutex_unlock(&s->m), WEFT_OK); }

TEST(condition_wait_locks_again) {
    MATRIX(nothing, lock_mutex, waits_for_notify, notify, unlock_mutex, nothing, false, false, false);
}

static void no_permits(struct scene* s) { CHECK_STATUS(weft_semaphore_init(&s->s, 0), WEFT_OK); }
static weft_status acquires(struct scene* s) { return weft_semaphore_acquire(&s->s, s->timeout); }
static void release_permit(struct scene* s) {
    if (!s->released) weft_semaphore_release(&s->s, 1);
    s->released = 1;
}
static void count_permits(struct scene* s) {
    if (!s->released) {
        weft_semaphore_release(&s->s, 1);
        CHECK_STATUS(weft_semaphore_acquire(&s->s, 0), WEFT_OK); /* the one interrupted has not taken it */
    }
    CHECK_STATUS(weft_semaphore_acquire(&s->s, 0), WEFT_BUSY);
}

TEST(semaphore_acquire) { MATRIX(no_permits, nothing, acquires, release_permit, nothing, count_permits, false, false, false); }

static void count_one(struct scene* s) { CHECK_STATUS(weft_wait_group_init(&s->g, 1), WEFT_OK); }
static weft_status waits_for_group(struct scene* s) { return weft_wait_group_wait(&s->g, s->timeout); }
static void done_once(struct scene* s) {
    if (!s->released) weft_wait_group_done(&s->g);
    s->released = 1;
}

TEST(wait_group_wait) { MATRIX(count_one, nothing, waits_for_group, done_once, nothing, nothing, false, false, false); }

static weft_status waits_for_event(struct scene* s) { return weft_event_wait(&s->go, s->timeout); }
static void make_automatic(struct scene* s) { weft_event_init(&s->go, true); }
static void set_once(struct scene* s) {
    if (!s->released) weft_event_set(&s->go);
    s->released = 1;
}
static void look_at_event(struct scene* s) {
    if (!s->released) {
        weft_event_set(&s->go);
        CHECK_STATUS(weft_event_wait(&s->go, 0), WEFT_OK);
    }
    CHECK_STATUS(weft_event_wait(&s->go, 0), WEFT_BUSY);
}

TEST(event_wait) { MATRIX(nothing, nothing, waits_for_event, set_go, nothing, nothing, false, false, false); }

TEST(automatic_event_wait) {
    MATRIX(make_automatic, nothing, waits_for_event, set_once, nothing, look_at_event, false, false, false);
}

/* ---- code that blocks, code that calls back -------------------------------------------------------- */

static void make_pipe(struct scene* s) { CHECK(pipe(s->pipe) == 0); }
static void close_pipe(struct scene* s) {
    close(s->pipe[0]);
    close(s->pipe[1]);
}
static void write_byte(struct scene* s) {
    if (!s->released) CHECK_EQ(write(s->pipe[1], "x", 1), 1);
    s->released = 1;
}

static int reads_the_pipe(void* arg) {
    char byte = 0;
    CHECK_EQ(read(((struct scene*)arg)->pipe[0], &byte, 1), 1);
    return byte;
}
static weft_status blocks(struct scene* s) {
    int result = 0;
    const weft_status r = weft_blocking(reads_the_pipe, s, &result);
    CHECK_EQ(result, r == WEFT_OK ? 'x' : 0);
    return r;
}

TEST(blocking) { MATRIX(make_pipe, nothing, blocks, write_byte, nothing, close_pipe, false, true, false); }

static void keeps(void* arg, weft_resume* r) { __atomic_store_n(&((struct scene*)arg)->resume, r, __ATOMIC_SEQ_CST); }
static void is_canceled(void* arg) { add_to(&((struct scene*)arg)->canceled, 1); }
static weft_status awaits(struct scene* s) {
    void* value = NULL;
    const weft_status r = weft_await_callback(keeps, is_canceled, s, &value);
    CHECK(value == (r == WEFT_OK ? s : NULL));
    return r;
}
static void resume_once(struct scene* s) {
    weft_resume* const r = __atomic_exchange_n(&s->resume, (weft_resume*)NULL, __ATOMIC_SEQ_CST);
    if (r != NULL) weft_resume_with(r, WEFT_OK, s);
}
static void end_resume(struct scene* s) {
    if (must_succeed(s)) CHECK_EQ(s->canceled, 0);
    if (!must_succeed(s)) CHECK_EQ(s->canceled, s->resume != NULL ? 1 : 0);
    resume_once(s); /* too late, without effect */
}

TEST(await_callback) { MATRIX(nothing, nothing, awaits, resume_once, nothing, end_resume, false, false, false); }

static weft_status waits_to_read(struct scene* s) { return weft_wait_fd(s->pipe[0], WEFT_READ, s->timeout); }

TEST(wait_fd) { MATRIX(make_pipe, nothing, waits_to_read, write_byte, nothing, close_pipe, false, false, false); }

/* ---- TCP ------------------------------------------------------------------------------------------- */

static void listen_only(struct scene* s) {
    CHECK_STATUS(weft_listen("127.0.0.1:0", NULL, &s->l), WEFT_OK);
    snprintf(s->to, sizeof s->to, "127.0.0.1:%u", (unsigned)weft_listener_port(s->l));
}
static void connect_both(struct scene* s) {
    listen_only(s);
    CHECK_STATUS(weft_connect(s->to, WEFT_FOREVER, &s->near_end), WEFT_OK);
    CHECK_STATUS(weft_accept(s->l, WEFT_FOREVER, &s->far_end), WEFT_OK);
}
static void end_tcp(struct scene* s) {
    weft_stream_destroy(s->near_end);
    weft_stream_destroy(s->far_end);
    weft_listener_destroy(s->l);
    free(s->bytes);
}
static weft_status accepts(struct scene* s) { return weft_accept(s->l, s->timeout, &s->far_end); }
static void connect_once(struct scene* s) {
    if (s->near_end == NULL) CHECK_STATUS(weft_connect(s->to, WEFT_FOREVER, &s->near_end), WEFT_OK);
}

TEST(accept_a_stream) { MATRIX(listen_only, nothing, accepts, connect_once, nothing, end_tcp, false, false, false); }

static weft_status connects(struct scene* s) { return weft_connect(s->to, s->timeout, &s->near_end); }

TEST(connect_a_stream) { MATRIX(listen_only, nothing, connects, nothing, nothing, end_tcp, false, false, true); }

static weft_status reads(struct scene* s) {
    char byte = 0;
    size_t got = 9;
    const weft_status r = weft_read(s->far_end, &byte, 1, s->timeout, &got);
    CHECK_EQ(got, r == WEFT_OK ? 1 : 0);
    return r;
}
static weft_status reads_exactly(struct scene* s) {
    char bytes[2];
    size_t got = 9;
    const weft_status r = weft_read_exact(s->far_end, bytes, 2, s->timeout, &got);
    CHECK_EQ(got, r == WEFT_OK ? 2 : 0);
    return r;
}
static void write_both(struct scene* s) {
    if (!s->released) CHECK_STATUS(weft_write(s->near_end, "xy", 2, WEFT_FOREVER, NULL), WEFT_OK);
    s->released = 1;
}

TEST(read_from_a_stream) { MATRIX(connect_both, nothing, reads, write_both, nothing, end_tcp, false, false, false); }

TEST(read_exact_from_a_stream) {
    MATRIX(connect_both, nothing, reads_exactly, write_both, nothing, end_tcp, false, false, false);
}

enum { MUCH = 32 << 20 }; /* more than the buffers of a connection hold */

static void connect_and_have_much(struct scene* s) {
    connect_both(s);
    s->bytes = (char*)calloc(1, MUCH);
    CHECK(s->bytes != NULL);
}
static weft_status writes(struct scene* s) {
    size_t put = 0;
    const weft_status r = weft_write(s->near_end, s->bytes, MUCH, s->timeout, &put);
    CHECK_EQ(put == MUCH, r == WEFT_OK);
    return r;
}
static weft_status writes_pieces(struct scene* s) {
    weft_piece pieces[2];
    size_t put = 0;
    weft_status r;
    pieces[0].data = s->bytes;
    pieces[0].size = MUCH / 2;
    pieces[1].data = s->bytes + MUCH / 2;
    pieces[1].size = MUCH / 2;
    r = weft_write_pieces(s->near_end, pieces, 2, s->timeout, &put);
    CHECK_EQ(put == MUCH, r == WEFT_OK);
    return r;
}
static void read_what_is_there(struct scene* s) {
    static char came[1 << 20];
    while (weft_read(s->far_end, came, sizeof came, 0, NULL) == WEFT_OK) {}
}

TEST(write_to_a_full_stream) {
    MATRIX(connect_and_have_much, nothing, writes, read_what_is_there, nothing, end_tcp, false, false, false);
}

TEST(write_pieces_to_a_full_stream) {
    MATRIX(connect_and_have_much, nothing, writes_pieces, read_what_is_there, nothing, end_tcp, false, false, false);
}

/* ---- scheduler --------------------------------------------------------------------------------------- */

static int waits_as_a_coroutine(weft_coro* self, void* arg) {
    (void)self;
    return waits_for_go(arg);
}
static void make_scheduler(struct scene* s) {
    CHECK_STATUS(weft_scheduler_init(&s->scheduler, 1, WEFT_BATCH), WEFT_OK);
    CHECK_STATUS(weft_scheduler_add(&s->scheduler, waits_as_a_coroutine, s), WEFT_OK);
}
static weft_status runs_scheduler(struct scene* s) { return weft_scheduler_run(&s->scheduler); }
static void end_scheduler(struct scene* s) {
    weft_event_set(&s->go);
    CHECK_STATUS(weft_scheduler_run(&s->scheduler), WEFT_OK); /* it can be run again */
    weft_scheduler_destroy(&s->scheduler);
}

TEST(scheduler_run) { MATRIX(make_scheduler, nothing, runs_scheduler, set_go, nothing, end_scheduler, false, false, false); }
