/* main.c - c_parallel_sum [COUNT]: adds up the digits of all numbers of an array, by divide and conquer. Half
 * of it goes to a new fiber, the other half is kept, and so on. It prints the times of a loop and of the
 * fibers, and ends with 0 if both found the same sum.
 */
#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <weft/c.h>

enum { SMALL = 1024 }; /* so few are added up in place, since a spawn would take a good part of that time */

/* What a fiber is told and what it answers: a body has one argument and an int as its result, so anything
 * else goes by a struct. */
struct part {
    const uint32_t *from;
    size_t count;
    uint64_t sum;
};

static uint64_t add_up(const uint32_t *from, size_t count) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; ++i)
        for (uint32_t n = from[i]; n > 0; n /= 10) sum += n % 10;
    return sum;
}

/* Waits for a fiber that uses memory of the caller, such as a struct on its stack. weft_join() alone may
 * return WEFT_CANCELED: the caller would return, and its variables would be gone while the fiber uses them.
 * Under a shield nothing interrupts it. A scope does the same by itself (examples/c_pipeline). */
static weft_status join_for_certain(weft_fiber *f) {
    weft_shield until_the_end;
    weft_shield_enter(&until_the_end, WEFT_FOREVER);
    const weft_status s = weft_join(f, WEFT_FOREVER, NULL);
    weft_shield_leave(&until_the_end);
    return s;
}

/* The body of every fiber, and a function like any other: it is called, too. */
static int add_up_part(void *arg) {
    struct part *p = (struct part *)arg;
    if (p->count <= SMALL) {
        p->sum = add_up(p->from, p->count);
        return 0;
    }
    const size_t half = p->count / 2;
    struct part left = {p->from, half, 0};
    struct part right = {p->from + half, p->count - half, 0};

    weft_fiber *f;
    weft_status s = weft_spawn(NULL, add_up_part, &left, NULL, &f); /* null: in the caller's runtime */
    if (s != WEFT_OK) return WEFT_EFAILED; /* the words of the last failure go to weft_join() or weft_run() */
    const int mine = add_up_part(&right);

    /* f has to be joined on every way out of here. If no worker has begun it, the join runs it in place. */
    s = join_for_certain(f);
    if (s != WEFT_OK || mine != 0) return WEFT_EFAILED;
    p->sum = left.sum + right.sum;
    return 0;
}

static double milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int compare(weft_runtime *rt, const uint32_t *numbers, size_t count) {
    const double begin = milliseconds();
    const uint64_t serial = add_up(numbers, count);
    const double between = milliseconds();
    struct part all = {numbers, count, 0};
    const weft_status s = weft_run(rt, add_up_part, &all, NULL);
    const double end = milliseconds();
    if (s != WEFT_OK) {
        fprintf(stderr, "c_parallel_sum: %s\n", weft_error());
        return 1;
    }
    printf("a loop: %.2f ms; fibers: %.2f ms; ", between - begin, end - between);
    printf("the digits of %zu numbers add up to %" PRIu64 "\n", count, all.sum);
    if (all.sum == serial) return 0;
    fprintf(stderr, "c_parallel_sum: the loop says %" PRIu64 "\n", serial);
    return 1;
}

int main(int argc, char **argv) {
    char *end = NULL;
    const size_t count = argc == 2 ? (size_t)strtoul(argv[1], &end, 10) : 2 * 1024 * 1024;
    if (argc > 2 || count == 0 || (end != NULL && *end != '\0') || (argc == 2 && argv[1][0] == '-')) {
        fprintf(stderr, "c_parallel_sum: usage: c_parallel_sum [COUNT]\n");
        return 2;
    }
    uint32_t *numbers = (uint32_t *)calloc(count, sizeof *numbers);
    if (numbers == NULL) {
        fprintf(stderr, "c_parallel_sum: no memory for %zu numbers\n", count);
        return 1;
    }
    uint32_t x = 1;
    for (size_t i = 0; i < count; ++i) numbers[i] = x = x * 1664525u + 1013904223u;

    weft_runtime *rt;
    const weft_status s = weft_runtime_create(NULL, &rt);
    int code = 1;
    if (s == WEFT_OK) {
        code = compare(rt, numbers, count);
        weft_runtime_destroy(rt);
    } else {
        fprintf(stderr, "c_parallel_sum: %s\n", weft_error());
    }
    free(numbers);
    return code;
}
