/* check.c - the main() of the tests of the C ABI: runs one of them, or all, and looks for what they leave behind. */
#include "support/check.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

weft_runtime* rt;

static struct check_entry* first;
static struct check_entry** last = &first;
static const char* running = "(none)";

void check_register(struct check_entry* entry) {
    *last = entry;
    last = &entry->next;
}

/* Without the clean-up of exit(): fibers and threads still run. */
static void fail_now(void) {
    fprintf(stderr, "test %s failed\n", running);
    fflush(NULL);
    _exit(1);
}

void check_holds(int holds, const char* what, const char* file, int line) {
    if (holds) return;
    fprintf(stderr, "%s:%d: %s does not hold; weft_error(): \"%s\"\n", file, line, what, weft_error());
    fail_now();
}

void check_equal(int64_t a, int64_t b, const char* name_of_a, const char* name_of_b, const char* file, int line) {
    if (a == b) return;
    fprintf(stderr, "%s:%d: %s is %lld, not %lld (%s); weft_error(): \"%s\"\n", file, line, name_of_a, (long long)a, (long long)b,
            name_of_b, weft_error());
    fail_now();
}

void check_status(weft_status s, weft_status expected, const char* call, const char* file, int line) {
    if (s == expected) return;
    fprintf(stderr, "%s:%d: %s: %s (%d) instead of %s; weft_error(): \"%s\"\n", file, line, call, weft_status_name(s), s,
            weft_status_name(expected), weft_error());
    fail_now();
}

void check_contains(const char* text, const char* part, const char* what, const char* file, int line) {
    if (text != NULL && strstr(text, part) != NULL) return;
    fprintf(stderr, "%s:%d: %s is \"%s\", without \"%s\"\n", file, line, what, text == NULL ? "(null)" : text, part);
    fail_now();
}

void check_ignore(weft_status s) { (void)s; }

int64_t check_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * SECOND + (int64_t)t.tv_nsec;
}

void check_pause(void) {
    weft_shield none;
    weft_shield_enter(&none, WEFT_FOREVER);
    CHECK_STATUS(weft_sleep(50 * MICROSECOND), WEFT_OK);
    weft_shield_leave(&none);
}

struct text {
    char* bytes;
    size_t n;
};

static void append(void* user, const char* piece, size_t n) {
    struct text* t = (struct text*)user;
    char* more = (char*)realloc(t->bytes, t->n + n + 1);
    CHECK(more != NULL);
    memcpy(more + t->n, piece, n);
    t->bytes = more;
    t->n += n;
    t->bytes[t->n] = '\0';
}

bool check_waits(uint64_t fiber, const char* reason) {
    struct text dump = {NULL, 0};
    char key[64];
    char* at;
    char* end;
    bool waits = false;
    CHECK_STATUS(weft_dump(WEFT_DUMP_JSON, append, &dump), WEFT_OK);
    snprintf(key, sizeof key, "{\"id\":%llu,", (unsigned long long)fiber);
    at = dump.bytes == NULL ? NULL : strstr(dump.bytes, key);
    if (at != NULL) {
        end = strstr(at, "\"owners\"");
        if (end != NULL) *end = '\0';
        waits = strstr(at, "\"state\":\"waiting\"") != NULL;
        if (waits && reason != NULL) {
            snprintf(key, sizeof key, "\"waits_for\":\"%s\"", reason);
            waits = strstr(at, key) != NULL;
        }
    }
    free(dump.bytes);
    return waits;
}

static int run_helper(const char* helper, char* text, size_t n) {
    int ends[2];
    size_t got = 0;
    int status = 0;
    pid_t child;
    CHECK(pipe(ends) == 0);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        const struct rlimit no_core = {0, 0};
        char self[] = "/proc/self/exe";
        char name[128];
        char* arguments[3];
        snprintf(name, sizeof name, "%s", helper);
        arguments[0] = self;
        arguments[1] = name;
        arguments[2] = NULL;
        setrlimit(RLIMIT_CORE, &no_core);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        execv(self, arguments);
        _exit(127);
    }
    close(ends[1]);
    for (;;) {
        char drained[256];
        const bool full = got + 1 >= n;
        const ssize_t r = full ? read(ends[0], drained, sizeof drained) : read(ends[0], text + got, n - 1 - got);
        if (r <= 0) break;
        if (!full) got += (size_t)r;
    }
    text[got] = '\0';
    close(ends[0]);
    CHECK(waitpid(child, &status, 0) == child);
    return status;
}

void check_dies(const char* helper, const char* words) {
    char text[16384];
    const int status = run_helper(helper, text, sizeof text);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
        fprintf(stderr, "%s ended with status 0x%x and wrote:\n%s\n", helper, (unsigned)status, text);
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), SIGABRT);
    CHECK_CONTAINS(text, words);
}

void check_runs(const char* helper, char* text, size_t n) {
    const int status = run_helper(helper, text, n);
    if (status != 0) fprintf(stderr, "%s ended with status 0x%x and wrote:\n%s\n", helper, (unsigned)status, text);
    CHECK_EQ(status, 0);
}

weft_runtime* check_make_runtime(unsigned workers) {
    weft_runtime_options o;
    weft_runtime* made = NULL;
    weft_runtime_options_init(&o);
    o.workers = workers;
    CHECK_STATUS(weft_runtime_create(&o, &made), WEFT_OK);
    CHECK(made != NULL);
    return made;
}

weft_fiber* check_spawn(weft_runtime* where, weft_body f, void* arg) {
    weft_fiber* made = NULL;
    CHECK_STATUS(weft_spawn(where, f, arg, NULL, &made), WEFT_OK);
    CHECK(made != NULL);
    return made;
}

pthread_t check_thread(void) { return pthread_self(); }

int check_join(weft_fiber* f) {
    int result = -1;
    CHECK_STATUS(weft_join(f, WEFT_FOREVER, &result), WEFT_OK);
    return result;
}

int check_threads(void) {
    char line[256];
    int n = 0;
    FILE* f = fopen("/proc/self/status", "r");
    CHECK(f != NULL);
    while (fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "Threads: %d", &n) == 1) break;
    fclose(f);
    CHECK(n > 0);
    return n;
}

int check_descriptors(void) {
    int n = 0;
    DIR* d = opendir("/proc/self/fd");
    CHECK(d != NULL);
    while (readdir(d) != NULL) ++n;
    closedir(d);
    return n;
}

static int on_fiber(void* entry) {
    ((struct check_entry*)entry)->run();
    return 0;
}

static int nothing(void* unused) {
    (void)unused;
    return 0;
}

/* weft keeps some threads and descriptors for as long as the process lives. */
static int warm_up(void* unused) {
    weft_listener* l = NULL;
    (void)unused;
    CHECK_STATUS(weft_blocking(nothing, NULL, NULL), WEFT_OK);
    CHECK_STATUS(weft_listen("localhost:0", NULL, &l), WEFT_OK);
    weft_listener_destroy(l);
    return 0;
}

static int threads_before;
static int descriptors_before;

static void look_at_the_beginning(void) {
    const int64_t soon = check_now() + 100 * MILLISECOND;
    rt = check_make_runtime(1);
    CHECK_STATUS(weft_run(rt, warm_up, NULL, NULL), WEFT_OK);
    weft_runtime_destroy(rt);
    rt = NULL;
    /* A thread that has been joined can be seen for a moment still. */
    threads_before = check_threads();
    while (check_now() < soon) {
        const int n = check_threads();
        if (n < threads_before) threads_before = n;
        usleep(5000);
    }
    descriptors_before = check_descriptors();
}

static void look_for_leaks(void) {
    const int64_t until = check_now() + 5 * SECOND;
    while ((check_threads() > threads_before || check_descriptors() > descriptors_before) && check_now() < until) usleep(200);
    if (check_threads() > threads_before || check_descriptors() != descriptors_before) {
        fprintf(stderr, "%s leaves %d threads and %d descriptors; there were %d and %d\n", running, check_threads(),
                check_descriptors(), threads_before, descriptors_before);
        fail_now();
    }
}

static void run(struct check_entry* entry) {
    running = entry->name;
    alarm(600); /* longer than any test takes: a test that hangs does not stay for ever */
    if (entry->place == CHECK_ON_FIBER || entry->place == CHECK_ANYWHERE) {
        rt = check_make_runtime(2);
        CHECK_STATUS(weft_run(rt, on_fiber, entry, NULL), WEFT_OK);
        if (entry->place == CHECK_ANYWHERE) entry->run();
        weft_runtime_destroy(rt);
        rt = NULL;
    } else {
        entry->run();
    }
    if (entry->place != CHECK_AS_HELPER) look_for_leaks();
}

/* As if a shell had started it: the parent may ignore or block signals, which children inherit. */
static void as_from_a_shell(void) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGUSR1, SIG_DFL);
    signal(SIGUSR2, SIG_DFL);
}

int main(int argc, char** argv) {
    struct check_entry* e;
    as_from_a_shell();
    if (argc > 2) {
        fprintf(stderr, "usage: %s [TEST]\n", argv[0]);
        return 2;
    }
    if (argc == 2) {
        for (e = first; e != NULL && strcmp(e->name, argv[1]) != 0;) e = e->next;
        if (e == NULL) {
            fprintf(stderr, "%s has no test %s\n", argv[0], argv[1]);
            return 2;
        }
        if (e->place != CHECK_AS_HELPER) look_at_the_beginning();
        run(e);
        return 0;
    }
    look_at_the_beginning();
    for (e = first; e != NULL; e = e->next) {
        if (e->place == CHECK_AS_HELPER) continue;
        printf("%s\n", e->name);
        fflush(stdout);
        run(e);
    }
    return 0;
}
