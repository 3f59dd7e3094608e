/* c_scope.c - the children of a scope use variables of its opener: they end before the scope does. */
#include <weft/c.h>

#include <stdio.h>
#include <stdlib.h>

static void must(weft_status s) {
    if (s == WEFT_OK) return;
    fprintf(stderr, "%s: %s\n", weft_status_name(s), weft_error());
    exit(1);
}

struct total { /* a lock of weft lies in the struct that it guards */
    weft_mutex lock;
    int words;
};

struct page {
    const char *text;
    struct total *all;
};

static int count_words(void *arg) {
    const struct page *p = (const struct page *)arg;
    int words = 0;
    for (const char *c = p->text; *c != '\0'; ++c) words += *c != ' ' && (c[1] == ' ' || c[1] == '\0');
    if (words == 0) return weft_fail("an empty page");

    must(weft_mutex_lock(&p->all->lock, WEFT_FOREVER));
    p->all->words += words;
    must(weft_mutex_unlock(&p->all->lock));
    return 0;
}

static int wait_for_more(void *arg) {
    (void)arg;
    const weft_status s = weft_sleep(WEFT_FOREVER);
    printf("a child that waits: %s\n", weft_status_name(s)); /* another one has failed */
    return 0;
}

/* Opens a scope, and closes it on every way out. */
static weft_status count_pages(const char *const *texts, int n, struct total *all) {
    struct page pages[8];
    weft_scope *scope;
    weft_status s = weft_scope_open(NULL, NULL, &scope); /* in this fiber's runtime; default options */
    if (s != WEFT_OK) return s;
    for (int i = 0; s == WEFT_OK && i < n && i < 8; ++i) {
        pages[i].text = texts[i];
        pages[i].all = all;
        s = weft_scope_spawn(scope, texts[i] == NULL ? wait_for_more : count_words, &pages[i], NULL);
    }
    if (s != WEFT_OK) weft_scope_request_stop(scope); /* the rest is of no use then */
    const weft_status end = weft_scope_close(scope);
    return end != WEFT_OK ? end : s;
}

static int first_fiber(void *arg) {
    (void)arg;
    const char *const letter[] = {"all is well", "the harvest was good", "write soon"};
    struct total all = {WEFT_ZERO_INIT, 0}; /* zeroed memory is an unlocked mutex */
    weft_status s = count_pages(letter, 3, &all);
    printf("%s, %d words\n", weft_status_name(s), all.words);

    const char *const draft[] = {NULL, "", NULL};
    s = count_pages(draft, 3, &all);
    printf("%s, %s\n", weft_status_name(s), weft_error());
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
