/* stress_test.c - a pipeline of fibers that change their threads, beside stops, deadlines and timeouts: no message
 * is lost or comes twice. WEFT_SEED repeats what a run has drawn.
 */
#include "support/check.h"

#include <time.h>

enum { MESSAGES = 100000, SOURCES = 4, STAGES = 4, SINKS = 2, DISTURBERS = 4 };

struct line {
    weft_channel* first;  /* capacity 0 */
    weft_channel* second; /* capacity 8 */
    int64_t sent;         /* sums; what a disturber sends and receives counts as well */
    int64_t received;
    int sources_done;
    int stops; /* that have interrupted a disturber */
    uint64_t seed;
};

/* A fiber with numbers of its own. */
struct party {
    struct line* line;
    uint64_t state;
    int64_t from, to;
};

static uint64_t draw(uint64_t* state) {
    *state += 0x9e3779b97f4a7c15u;
    {
        uint64_t z = *state;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
}

static struct party make_party(struct line* line, uint64_t number) {
    struct party p;
    p.line = line;
    p.state = line->seed + number * 0x2545f4914f6cdd1du;
    p.from = 0;
    p.to = 0;
    return p;
}

static void add(int64_t* sum, int64_t v) { (void)__atomic_add_fetch(sum, v, __ATOMIC_SEQ_CST); }

static int64_t draw_timeout(uint64_t* state) {
    switch (draw(state) % 4) {
        case 0: return 0;
        case 1: return (int64_t)(draw(state) % 50) * MICROSECOND;
        case 2: return HOURS;
        default: return WEFT_FOREVER;
    }
}

/* As often as it takes. */
static weft_status send_in_the_end(struct party* p, weft_channel* ch, int64_t v) {
    for (;;) {
        const weft_status s = weft_send(ch, &v, draw_timeout(&p->state));
        if (s != WEFT_BUSY && s != WEFT_TIMEDOUT) return s;
        if (s == WEFT_BUSY) CHECK_STATUS(weft_yield(), WEFT_OK);
    }
}

static weft_status receive_in_the_end(struct party* p, weft_channel* ch, int64_t* v) {
    for (;;) {
        const weft_status s = weft_receive(ch, v, draw_timeout(&p->state));
        if (s != WEFT_BUSY && s != WEFT_TIMEDOUT) return s;
        if (s == WEFT_BUSY) CHECK_STATUS(weft_yield(), WEFT_OK);
    }
}

static int is_a_source(void* arg) {
    struct party* const p = (struct party*)arg;
    int64_t v;
    for (v = p->from; v < p->to; ++v) {
        CHECK_STATUS(send_in_the_end(p, p->line->first, v), WEFT_OK);
        add(&p->line->sent, v);
    }
    return 0;
}

static int is_a_stage(void* arg) {
    struct party* const p = (struct party*)arg;
    int64_t v = 0;
    weft_status s;
    while ((s = receive_in_the_end(p, p->line->first, &v)) == WEFT_OK)
        CHECK_STATUS(send_in_the_end(p, p->line->second, v), WEFT_OK);
    CHECK_STATUS(s, WEFT_CLOSED);
    return 0;
}

static int is_a_sink(void* arg) {
    struct party* const p = (struct party*)arg;
    int64_t v = 0;
    weft_status s;
    while ((s = receive_in_the_end(p, p->line->second, &v)) == WEFT_OK) add(&p->line->received, v);
    CHECK_STATUS(s, WEFT_CLOSED);
    return 0;
}

/* Passes a message on that it has taken out of the middle, whatever happens. */
static void pass_on(struct party* p, int64_t v) {
    weft_shield none;
    weft_shield_enter(&none, WEFT_FOREVER);
    CHECK_STATUS(send_in_the_end(p, p->line->second, v), WEFT_OK);
    weft_shield_leave(&none);
}

static weft_status disturb_once(struct party* p) {
    int64_t v = (int64_t)(draw(&p->state) % 1000);
    int64_t got = 0;
    size_t chosen = 9;
    weft_case c[3];
    weft_status s;
    switch (draw(&p->state) % 4) {
        case 0:
            s = weft_receive(p->line->second, &got, draw_timeout(&p->state));
            if (s == WEFT_OK) add(&p->line->received, got);
            return s;
        case 1:
            s = weft_send(p->line->second, &v, draw_timeout(&p->state));
            if (s == WEFT_OK) add(&p->line->sent, v);
            return s;
        case 2:
            s = weft_receive(p->line->first, &got, draw_timeout(&p->state));
            if (s == WEFT_OK) pass_on(p, got);
            return s;
        default:
            c[0] = weft_on_receive(p->line->first, &got);
            c[1] = weft_on_send(p->line->second, &v);
            c[2] = weft_on_timeout((int64_t)(draw(&p->state) % 50) * MICROSECOND);
            s = weft_select(c, 3, &chosen);
            if (s != WEFT_OK || chosen == 2) return s;
            if (c[chosen].status != WEFT_OK) return c[chosen].status;
            if (chosen == 0) pass_on(p, got);
            if (chosen == 1) add(&p->line->sent, v);
            return s;
    }
}

/* Until it is stopped, or the line has ended. */
static int disturbs(void* arg) {
    struct party* const p = (struct party*)arg;
    for (;;) {
        weft_status s;
        if (draw(&p->state) % 2 == 0) {
            weft_deadline d;
            weft_deadline_enter(&d, (int64_t)(draw(&p->state) % 100) * MICROSECOND);
            s = disturb_once(p);
            s = weft_deadline_leave(&d, s);
        } else {
            s = disturb_once(p);
        }
        if (s == WEFT_CANCELED) return 1;
        if (s == WEFT_CLOSED) return 0;
        CHECK(s == WEFT_OK || s == WEFT_BUSY || s == WEFT_TIMEDOUT);
        if (s == WEFT_BUSY && weft_yield() == WEFT_CANCELED) return 1;
    }
}

/* Lets fibers disturb the line, and stops each after a while. */
static int lets_disturb(void* arg) {
    struct party* const p = (struct party*)arg;
    while (get_of(&p->line->sources_done) == 0) {
        struct party one = make_party(p->line, draw(&p->state));
        weft_fiber* const f = check_spawn(NULL, disturbs, &one);
        CHECK_STATUS(weft_sleep((int64_t)(draw(&p->state) % 300) * MICROSECOND), WEFT_OK);
        weft_request_stop(f);
        add_to(&p->line->stops, check_join(f));
    }
    return 0;
}

static int plays(void* arg) {
    struct line* const line = (struct line*)arg;
    struct party parties[SOURCES + STAGES + SINKS + DISTURBERS];
    weft_fiber* f[SOURCES + STAGES + SINKS + DISTURBERS];
    const int64_t each = SCALED(MESSAGES) / SOURCES;
    int n = 0;
    int i;
    for (i = 0; i < SOURCES + STAGES + SINKS + DISTURBERS; ++i) parties[i] = make_party(line, (uint64_t)i);
    for (i = 0; i < SINKS; ++i, ++n) f[n] = check_spawn(NULL, is_a_sink, &parties[n]);
    for (i = 0; i < STAGES; ++i, ++n) f[n] = check_spawn(NULL, is_a_stage, &parties[n]);
    for (i = 0; i < DISTURBERS; ++i, ++n) f[n] = check_spawn(NULL, lets_disturb, &parties[n]);
    for (i = 0; i < SOURCES; ++i, ++n) {
        parties[n].from = i * each;
        parties[n].to = (i + 1) * each;
        f[n] = check_spawn(NULL, is_a_source, &parties[n]);
    }
    for (i = SINKS + STAGES + DISTURBERS; i < n; ++i) CHECK_EQ(check_join(f[i]), 0);
    set_to(&line->sources_done, 1);
    for (i = SINKS + STAGES; i < SINKS + STAGES + DISTURBERS; ++i) CHECK_EQ(check_join(f[i]), 0);
    weft_close(line->first);
    for (i = SINKS; i < SINKS + STAGES; ++i) CHECK_EQ(check_join(f[i]), 0);
    weft_close(line->second);
    for (i = 0; i < SINKS; ++i) CHECK_EQ(check_join(f[i]), 0);
    return 0;
}

TEST(no_message_is_lost_in_a_pipeline) {
    const char* const given = getenv("WEFT_SEED");
    weft_runtime_options o;
    weft_runtime* r = NULL;
    struct line line;
    const int64_t n = SCALED(MESSAGES);
    memset(&line, 0, sizeof line);
    line.seed = given != NULL ? strtoull(given, NULL, 0) : (uint64_t)check_now() ^ (uint64_t)time(NULL);
    printf("WEFT_SEED=%llu\n", (unsigned long long)line.seed);
    fflush(stdout);
    weft_runtime_options_init(&o);
    o.workers = 4;
    o.torture_migration = true;
    CHECK_STATUS(weft_runtime_create(&o, &r), WEFT_OK);
    CHECK_STATUS(weft_channel_create(sizeof(int64_t), 0, NULL, NULL, &line.first), WEFT_OK);
    CHECK_STATUS(weft_channel_create(sizeof(int64_t), 8, NULL, NULL, &line.second), WEFT_OK);
    CHECK_STATUS(weft_run(r, plays, &line, NULL), WEFT_OK);
    CHECK_EQ(line.received, line.sent);
    CHECK(line.sent >= n * (n - 1) / 2);
    CHECK(line.stops > 0);
    weft_channel_release(line.first);
    weft_channel_release(line.second);
    weft_runtime_destroy(r);
}
