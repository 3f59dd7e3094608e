/* c_callbacks.c - a fiber waits for a thread that calls back, and for a call that blocks its thread. */
#define _POSIX_C_SOURCE 200809L

#include <weft/c.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void must(weft_status s) {
    if (s == WEFT_OK) return;
    fprintf(stderr, "%s: %s\n", weft_status_name(s), weft_error());
    exit(1);
}

/* ---- a foreign library: it answers on a thread of its own --------------------------------------- */

struct question {
    void (*answer)(void *user, const char *text);
    void *user;
};

static void *think(void *arg) {
    struct question *q = (struct question *)arg;
    q->answer(q->user, "because it is there");
    free(q);
    return NULL;
}

static int ask(void (*answer)(void *user, const char *text), void *user) {
    struct question *q = (struct question *)malloc(sizeof *q);
    if (q == NULL) return -1;
    q->answer = answer;
    q->user = user;
    pthread_t thread;
    if (pthread_create(&thread, NULL, think, q) != 0) {
        free(q);
        return -1;
    }
    return pthread_detach(thread);
}

/* ---- the library, for fibers ------------------------------------------------------------------- */

static void answered(void *user, const char *text) { /* on the library's thread */
    weft_resume_with((weft_resume *)user, WEFT_OK, (void *)(uintptr_t)text);
}

static void begin(void *arg, weft_resume *r) { /* on the fiber, before it waits */
    (void)arg;
    if (ask(answered, r) != 0) weft_resume_with(r, weft_fail("no thread"), NULL);
}

/* ---- a call that blocks ------------------------------------------------------------------------ */

static int read_slow_disk(void *arg) { /* on a thread of the blocking pool */
    struct timespec ms = {0, 1000000};
    nanosleep(&ms, NULL);
    *(int *)arg = 512;
    return weft_self_id() == 0 ? 0 : 1; /* here the code is not a fiber */
}

static int first_fiber(void *arg) {
    (void)arg;
    void *why;
    must(weft_await_callback(begin, NULL, NULL, &why));
    printf("the callback said: %s\n", (const char *)why);

    int bytes = 0;
    int result = -1;
    must(weft_blocking(read_slow_disk, &bytes, &result));
    printf("the disk gave %d bytes, and returned %d\n", bytes, result);
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
