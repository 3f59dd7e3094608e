/* c_first.c - three fibers send to a channel, and a fourth receives until it is closed. */
#include <weft/c.h>

#include <stdio.h>
#include <stdlib.h>

static void must(weft_status s) { /* for calls that can fail only if the program is wrong */
    if (s == WEFT_OK) return;
    fprintf(stderr, "%s: %s\n", weft_status_name(s), weft_error());
    exit(1);
}

static int add_up(void *arg) {
    weft_channel *numbers = (weft_channel *)arg;
    int sum = 0;
    int n;
    while (weft_receive(numbers, &n, WEFT_FOREVER) == WEFT_OK) sum += n;
    return sum; /* goes to weft_join() */
}

static int count(void *arg) {
    weft_channel *numbers = (weft_channel *)arg;
    for (int n = 1; n <= 100; ++n) must(weft_send(numbers, &n, WEFT_FOREVER)); /* copies an int */
    return 0;
}

static int first_fiber(void *arg) {
    (void)arg;
    weft_channel *numbers;
    must(weft_channel_create(sizeof(int), 16, NULL, NULL, &numbers)); /* up to 16 wait in it */

    weft_fiber *sum;
    must(weft_spawn(NULL, add_up, numbers, NULL, &sum));
    weft_fiber *counts[3];
    for (int i = 0; i < 3; ++i) must(weft_spawn(NULL, count, numbers, NULL, &counts[i]));

    for (int i = 0; i < 3; ++i) must(weft_join(counts[i], WEFT_FOREVER, NULL));
    weft_close(numbers); /* the receiver takes what is left, and then gets WEFT_CLOSED */
    int result;
    must(weft_join(sum, WEFT_FOREVER, &result));
    weft_channel_release(numbers);
    printf("3 times 1 to 100 is %d\n", result);
    return 0;
}

int main(void) {
    weft_runtime *rt;
    must(weft_runtime_create(NULL, &rt));
    int code;
    must(weft_run(rt, first_fiber, NULL, &code));
    weft_runtime_destroy(rt);
    return code;
}
