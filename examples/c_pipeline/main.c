/* main.c - c_pipeline [FILE]: stages in C, connected by bounded channels. One fiber reads numbers, four count
 * the steps that each takes to 1 by the rule of Collatz, two put them into classes, and the first fiber adds
 * up. A loop without fibers checks it. Without FILE, the numbers are 1 to 20000.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <weft/c.h>

enum { LAST = 20000, CLASSES = 6 };

struct source { /* where the numbers come from */
    FILE *file; /* null: they are counted */
    uint64_t next;
};

struct counted { /* what goes from the second stage to the third: a channel copies its elements */
    uint64_t number;
    uint32_t steps;
};

struct summary {
    uint64_t numbers, steps;
    struct counted longest;
    uint64_t in_class[CLASSES]; /* by steps: below 50, below 100, ... */
};

/* ---- the work, which knows nothing of fibers ------------------------------------------------- */

static bool read_number(struct source *from, uint64_t *number) {
    if (from->file == NULL) {
        *number = from->next++;
        return *number <= LAST;
    }
    return fscanf(from->file, "%" SCNu64, number) == 1;
}

static uint32_t count_steps(uint64_t n) {
    uint32_t steps = 0;
    for (; n > 1; ++steps) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    return steps;
}

static bool is_longer(const struct counted *a, const struct counted *b) {
    return a->steps != b->steps ? a->steps > b->steps : a->number < b->number;
}

static void add(struct summary *all, const struct counted *c) {
    if (all->numbers == 0 || is_longer(c, &all->longest)) all->longest = *c;
    ++all->numbers;
    all->steps += c->steps;
    ++all->in_class[c->steps / 50 < CLASSES ? c->steps / 50 : CLASSES - 1];
}

static void merge(struct summary *all, const struct summary *part) {
    if (all->numbers == 0 || is_longer(&part->longest, &all->longest)) all->longest = part->longest;
    all->numbers += part->numbers;
    all->steps += part->steps;
    for (int i = 0; i < CLASSES; ++i) all->in_class[i] += part->in_class[i];
}

/* ---- the stages ------------------------------------------------------------------------------ */

/* A stage has several fibers, which take from one channel and send to the next. A wait group counts those
 * that still run, and when it is 0 the next channel is closed: none of them alone may close it, since the
 * others still send. */
struct stage {
    weft_body work;
    int fibers;
    weft_channel *in, *out;
    struct source *from; /* of the first stage */
    weft_wait_group running;
};

/* What a body returns. WEFT_EFAILED is a failure, with the words of the last one that weft_error() describes;
 * any other int, also one that looks like a status, is a result. WEFT_CANCELED is no failure: the code
 * that has stopped the fiber knows of it. */
static int result_of(weft_status s) { return s >= WEFT_EINVAL ? WEFT_EFAILED : 0; }

static int read_numbers(void *arg) {
    struct stage *mine = (struct stage *)arg;
    weft_status s = WEFT_OK;
    uint64_t number;
    /* A read of a file may block the thread. No other fiber waits for it: another thread runs them then. */
    while (s == WEFT_OK && read_number(mine->from, &number))
        s = weft_send(mine->out, &number, WEFT_FOREVER); /* waits while the channel is full */
    weft_wait_group_done(&mine->running);
    return result_of(s);
}

static int count_all(void *arg) {
    struct stage *mine = (struct stage *)arg;
    weft_status s;
    struct counted c;
    memset(&c, 0, sizeof c); /* the bytes between the members are copied, too */
    while ((s = weft_receive(mine->in, &c.number, WEFT_FOREVER)) == WEFT_OK) {
        c.steps = count_steps(c.number);
        if ((s = weft_send(mine->out, &c, WEFT_FOREVER)) != WEFT_OK) break;
    }
    weft_wait_group_done(&mine->running);
    return result_of(s); /* WEFT_CLOSED is the usual end: the channel is closed, and nothing is left in it */
}

static int classify_all(void *arg) {
    struct stage *mine = (struct stage *)arg;
    weft_status s;
    struct summary part;
    memset(&part, 0, sizeof part);
    struct counted c;
    while ((s = weft_receive(mine->in, &c, WEFT_FOREVER)) == WEFT_OK) add(&part, &c);
    if (s == WEFT_CLOSED && part.numbers > 0) s = weft_send(mine->out, &part, WEFT_FOREVER);
    weft_wait_group_done(&mine->running);
    return result_of(s);
}

static int end_stage(void *arg) {
    struct stage *mine = (struct stage *)arg;
    const weft_status s = weft_wait_group_wait(&mine->running, WEFT_FOREVER);
    weft_close(mine->out); /* also if this fiber was stopped: the next stage is stopped as well then */
    return result_of(s);
}

static weft_status start_stage(weft_scope *s, struct stage *stage) {
    weft_status result = weft_wait_group_init(&stage->running, stage->fibers);
    for (int i = 0; result == WEFT_OK && i < stage->fibers; ++i)
        result = weft_scope_spawn(s, stage->work, stage, NULL);
    return result == WEFT_OK ? weft_scope_spawn(s, end_stage, stage, NULL) : result;
}

/* ---- the whole ------------------------------------------------------------------------------- */

struct job {
    struct source *from;
    struct summary *all;
    weft_channel *numbers, *counted, *parts;
};

/* All fibers end in the scope. So the stages, to which they have pointers, may lie on this fiber's stack. */
static weft_status run_stages(struct job *j) {
    struct stage stages[3];
    memset(stages, 0, sizeof stages);
    stages[0].work = read_numbers, stages[0].fibers = 1, stages[0].out = j->numbers, stages[0].from = j->from;
    stages[1].work = count_all, stages[1].fibers = 4, stages[1].in = j->numbers, stages[1].out = j->counted;
    stages[2].work = classify_all, stages[2].fibers = 2, stages[2].in = j->counted, stages[2].out = j->parts;

    weft_scope *scope;
    weft_status s = weft_scope_open(NULL, NULL, &scope);
    if (s != WEFT_OK) return s;
    for (int i = 0; s == WEFT_OK && i < 3; ++i) s = start_stage(scope, &stages[i]);
    struct summary part;
    while (s == WEFT_OK && (s = weft_receive(j->parts, &part, WEFT_FOREVER)) == WEFT_OK) merge(j->all, &part);
    if (s != WEFT_CLOSED) weft_scope_request_stop(scope); /* stages would wait for one that was not started */
    const weft_status end = weft_scope_close(scope);
    return s == WEFT_CLOSED || s == WEFT_CANCELED ? end : s; /* `end` tells of a failure of a child */
}

/* Clean-up in the usual way of C: what was made is released in reverse order, from wherever it ends. */
static int pipeline(void *arg) {
    struct job *j = (struct job *)arg;
    weft_status s = weft_channel_create(sizeof(uint64_t), 64, NULL, NULL, &j->numbers);
    if (s != WEFT_OK) goto no_numbers;
    s = weft_channel_create(sizeof(struct counted), 64, NULL, NULL, &j->counted);
    if (s != WEFT_OK) goto no_counted;
    s = weft_channel_create(sizeof(struct summary), 0, NULL, NULL, &j->parts); /* 0: handed over directly */
    if (s != WEFT_OK) goto no_parts;

    s = run_stages(j);

    weft_channel_release(j->parts);
no_parts:
    weft_channel_release(j->counted);
no_counted:
    weft_channel_release(j->numbers);
no_numbers:
    return s == WEFT_CANCELED ? weft_fail("stopped") : result_of(s);
}

static int report(const struct summary *all, const struct summary *expected) {
    const struct counted *longest = &all->longest;
    printf("%" PRIu64 " numbers take %" PRIu64 " steps; ", all->numbers, all->steps);
    printf("%" PRIu64 " takes the most, %" PRIu32 "\n", longest->number, longest->steps);
    bool same = all->numbers == expected->numbers && all->steps == expected->steps &&
                longest->number == expected->longest.number && longest->steps == expected->longest.steps;
    for (int i = 0; i < CLASSES; ++i) {
        const bool is_last = i == CLASSES - 1;
        printf("%s %3d steps: ", is_last ? "from " : "below", is_last ? 50 * i : 50 * (i + 1));
        printf("%" PRIu64 "\n", all->in_class[i]);
        same = same && all->in_class[i] == expected->in_class[i];
    }
    if (!same) fprintf(stderr, "c_pipeline: a loop finds something else\n");
    return same ? 0 : 1;
}

int main(int argc, char **argv) {
    if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
        fprintf(stderr, "c_pipeline: usage: c_pipeline [FILE]\n");
        return 2;
    }
    struct source from = {NULL, 1};
    if (argc == 2 && (from.file = fopen(argv[1], "r")) == NULL) {
        perror(argv[1]);
        return 1;
    }
    struct summary expected, all;
    memset(&expected, 0, sizeof expected);
    memset(&all, 0, sizeof all);
    struct counted c;
    while (read_number(&from, &c.number)) c.steps = count_steps(c.number), add(&expected, &c);
    from.next = 1;
    if (from.file != NULL) rewind(from.file);

    struct job j = {&from, &all, NULL, NULL, NULL};
    weft_runtime *rt;
    weft_status s = weft_runtime_create(NULL, &rt);
    if (s == WEFT_OK) {
        s = weft_run(rt, pipeline, &j, NULL);
        weft_runtime_destroy(rt);
    }
    if (from.file != NULL) fclose(from.file);
    if (s == WEFT_OK) return report(&all, &expected);
    fprintf(stderr, "c_pipeline: %s\n", weft_error());
    return 1;
}
