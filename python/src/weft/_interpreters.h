/* _interpreters.h - what the interpreters of one server share, and how a thread of the main one runs one.
 *
 * There is one server, which is native. A request goes to the interpreter with the fewest requests under way,
 * and stays there: its handler, the pieces of its answer and its thread state are of that interpreter. This
 * memory holds no object of Python, only pointers that no interpreter but their own dereferences.
 *
 *     place      by                                      then
 *     loading    its thread, which imports the program   loaded, with `answer` and `routes`, or gone, with `failure`
 *     loaded     the server listens, or never will       serving | leaving
 *     serving    the server has ended                    leaving
 *     leaving    its fibers have ended                   gone
 *
 * Invariants
 *   INTERPRETERS-1  `answer` and `routes` are written before `loaded` is set, and read after the server has
 *                   waited for it.
 *   INTERPRETERS-2  under_way is the number of requests that interpreters_take() gave to the interpreter and
 *                   interpreters_give() has not taken back. Two threads that choose at the same time cannot both
 *                   add 1 to the same count: the exchange succeeds only if the count is still the one that was read.
 *   INTERPRETERS-3  "gone" is set after the interpreter has ended. From then on no code of its copies of the modules
 *                   runs, except the watch thread of its gate, which sleeps.
 */
#ifndef WEFT_INTERPRETERS_H
#define WEFT_INTERPRETERS_H

#include <Python.h>

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include <weft/c.h>
#include <weft/c_http.h>

struct interpreters;

typedef struct interpreter {
    struct interpreters* of;
    int (*answer)(weft_http_request* q, struct interpreter* here, size_t program); /* of the copy of _serve that it has */
    void** routes;     /* the Route of each program */
    long under_way;    /* INTERPRETERS-2 */
    char* failure;     /* why the interpreter ended early; null: it ended as it should */
    weft_event loaded; /* or gone */
    weft_event serves; /* or gone */
    weft_event gone;
} interpreter;

typedef struct interpreters {
    interpreter* all;
    size_t n;
    weft_runtime* runtime;
    weft_http_server* server;
    const char* at; /* where the server listens; null at `goes`: it never will */
    int64_t ends_at;
    weft_event goes;
    weft_event stops; /* stop() was called, or it has ended */
    weft_event ended;
} interpreters;

/* Null: no memory. */
static interpreters* interpreters_new(size_t n) {
    interpreters* const all = (interpreters*)PyMem_RawCalloc(1, sizeof *all);
    interpreter* const places = (interpreter*)PyMem_RawCalloc(n, sizeof *places);
    if (!all || !places) {
        PyMem_RawFree(all);
        PyMem_RawFree(places);
        return NULL;
    }
    all->all = places;
    all->n = n;
    all->ends_at = INT64_MAX;
    weft_event_init(&all->goes, false);
    weft_event_init(&all->stops, false);
    weft_event_init(&all->ended, false);
    for (size_t i = 0; i < n; ++i) {
        places[i].of = all;
        weft_event_init(&places[i].loaded, false);
        weft_event_init(&places[i].serves, false);
        weft_event_init(&places[i].gone, false);
    }
    return all;
}

/* When all are gone, or were never begun. */
static void interpreters_free(interpreters* all) {
    if (!all) return;
    for (size_t i = 0; i < all->n; ++i) PyMem_RawFree(all->all[i].failure);
    PyMem_RawFree(all->all);
    PyMem_RawFree(all);
}

/* The place for one more request: the one that has the fewest, and of several the first, whose caches are warm. */
static interpreter* interpreters_take(interpreters* all) {
    for (;;) {
        interpreter* best = NULL;
        long least = 0;
        for (size_t i = 0; i < all->n; ++i) {
            const long n = __atomic_load_n(&all->all[i].under_way, __ATOMIC_RELAXED);
            if (best && n >= least) continue;
            best = &all->all[i];
            least = n;
            if (n == 0) break;
        }
        /* Only the count is exchanged: what a handler sees of its interpreter is ordered by the GIL of that. */
        if (__atomic_compare_exchange_n(&best->under_way, &least, least + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return best;
    }
}

static inline void interpreters_give(interpreter* here) { __atomic_fetch_sub(&here->under_way, 1, __ATOMIC_RELAXED); }

/* Tells the interpreters where the server listens (null: it never will), and waits until they serve. */
static void interpreters_go(interpreters* all, const char* at) {
    all->at = at;
    weft_event_set(&all->goes);
    for (size_t i = 0; at && i < all->n; ++i) (void)!weft_event_wait(&all->all[i].serves, WEFT_FOREVER);
}

/* The server is to end at that time of CLOCK_MONOTONIC. */
static void interpreters_stop(interpreters* all, int64_t at) {
    int64_t seen = __atomic_load_n(&all->ends_at, __ATOMIC_RELAXED);
    while (at < seen && !__atomic_compare_exchange_n(&all->ends_at, &seen, at, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
    weft_event_set(&all->stops);
}

static inline int64_t interpreters_end_at(const interpreters* all) { return __atomic_load_n(&all->ends_at, __ATOMIC_RELAXED); }

/* The server has ended, or will not begin. */
static void interpreters_end(interpreters* all) {
    weft_event_set(&all->stops);
    weft_event_set(&all->ended);
    weft_event_set(&all->goes);
}

/* ---- the life of one ------------------------------------------------------------------------- */

#if PY_VERSION_HEX >= 0x030D0000
/* Only one interpreter is made or ended at a time: CPython's tests hardly cover doing both at once. */
static pthread_mutex_t interpreter_turn = PTHREAD_MUTEX_INITIALIZER;

/* A copy of the text; null: no memory. */
static char* interpreter_keep(const char* text) {
    const size_t n = strlen(text) + 1;
    char* const kept = (char*)PyMem_RawMalloc(n);
    if (kept) memcpy(kept, text, n);
    return kept;
}

/* The value of the variable "failure" in these globals. */
static char* interpreter_failure(PyObject* globals) {
    PyObject* const words = PyDict_GetItemString(globals, "failure"); /* borrowed */
    if (!words || words == Py_None) return NULL;
    const char* const text = PyUnicode_Check(words) ? PyUnicode_AsUTF8(words) : NULL;
    return interpreter_keep(text ? text : "");
}

/* Runs the code in a new interpreter that has a GIL of its own, and ends that. The calling thread has a thread state
 * of the main interpreter, which is detached meanwhile. \returns what the code has left in `failure`; null: nothing */
static char* interpreter_run(const char* code) {
    PyThreadState* const mine = PyThreadState_Get();
    PyThreadState* its = NULL;
    PyInterpreterConfig config;
    memset(&config, 0, sizeof config);
    config.allow_threads = 1; /* without daemons: the interpreter ends when no other thread state is left */
    config.check_multi_interp_extensions = 1;
    config.gil = PyInterpreterConfig_OWN_GIL;
    Py_BEGIN_ALLOW_THREADS
    pthread_mutex_lock(&interpreter_turn);
    Py_END_ALLOW_THREADS
    const PyStatus s = Py_NewInterpreterFromConfig(&its, &config);
    pthread_mutex_unlock(&interpreter_turn);
    if (PyStatus_Exception(s)) return interpreter_keep(s.err_msg ? s.err_msg : "");
    char* failure = NULL;
    PyObject* const globals = PyDict_New();
    PyObject* const done = globals && PyDict_SetItemString(globals, "__builtins__", PyEval_GetBuiltins()) == 0
                               ? PyRun_String(code, Py_file_input, globals, globals)
                               : NULL;
    if (done) {
        failure = interpreter_failure(globals);
    } else {
        PyErr_Print();
        failure = interpreter_keep("");
    }
    Py_XDECREF(done);
    Py_XDECREF(globals);
    PyEval_SaveThread(); /* gives the GIL up: a thread must not wait for the lock while it has a GIL */
    pthread_mutex_lock(&interpreter_turn);
    PyEval_RestoreThread(its);
    Py_EndInterpreter(its);
    pthread_mutex_unlock(&interpreter_turn);
    PyEval_RestoreThread(mine);
    return failure;
}
#else
static char* interpreter_run(const char* code) {
    (void)code;
    return NULL; /* weft.Server refuses interpreters before it comes to this */
}
#endif

#endif
