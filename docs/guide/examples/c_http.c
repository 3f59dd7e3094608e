/* c_http.c - an HTTP server in C, and a client that asks it twice and ends it. */
#include <stdio.h>
#include <string.h>
#include <weft/c_http.h>

static const weft_http_field text = {"Content-Type", 12, "text/plain", 10};

/* Runs on the fiber of the connection, so it may wait as long as it likes. */
static int hello(weft_http_request* q, void* user) {
    const weft_piece name = weft_http_path_parameter(q, "name");
    char words[64];
    int n;
    const weft_status s = weft_sleep(1000000);
    (void)user;
    if (s != WEFT_OK) return s; /* the server stops, or the time limit of the request has passed */
    n = snprintf(words, sizeof words, "hello, %.*s", (int)name.size, (const char*)name.data);
    return weft_http_answer(q, 200, &text, 1, words, (size_t)n);
}

static int count_down(weft_http_body* out, void* user) {
    const char* number;
    (void)user;
    for (number = " 3 2 1"; *number != '\0'; number += 2) {
        const weft_status s = weft_http_write(out, number, 2);
        if (s != WEFT_OK) return s; /* the client has gone, or takes nothing */
    }
    return WEFT_OK;
}

static int stream(weft_http_request* q, void* user) {
    (void)user;
    return weft_http_stream(q, 200, &text, 1, 6, count_down, NULL, NULL);
}

static weft_status ask(const char* at, const char* path) {
    char request[128], answer[4096];
    size_t n = 0, got = 1;
    weft_stream* server;
    weft_status s = weft_connect(at, WEFT_FOREVER, &server);
    if (s != WEFT_OK) return s;
    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path);
    s = weft_write(server, request, strlen(request), WEFT_FOREVER, NULL);
    while (s == WEFT_OK && got != 0 && n < sizeof answer - 1) {
        s = weft_read(server, answer + n, sizeof answer - 1 - n, WEFT_FOREVER, &got);
        n += got;
    }
    weft_stream_destroy(server);
    answer[n] = '\0';
    if (s == WEFT_OK) printf("%s: %.15s, %s\n", path, answer, strstr(answer, "\r\n\r\n") + 4);
    return s;
}

static int serve(void* server) { return weft_http_serve((weft_http_server*)server); }

static int program(void* arg) {
    weft_http_server* server;
    weft_fiber* serving;
    char at[64];
    int result = WEFT_OK;
    weft_status s = weft_http_create(NULL, &server);
    (void)arg;
    if (s != WEFT_OK) return s;
    s = weft_http_route(server, "GET", "/hello/{name}", hello, NULL);
    if (s == WEFT_OK) s = weft_http_route(server, "GET", "/count", stream, NULL);
    if (s == WEFT_OK) s = weft_http_listen(server, "127.0.0.1:0");
    if (s == WEFT_OK) s = weft_http_local(server, at, sizeof at);
    if (s == WEFT_OK) s = weft_spawn(NULL, serve, server, NULL, &serving);
    if (s == WEFT_OK) {
        s = ask(at, "/hello/Ada");
        if (s == WEFT_OK) s = ask(at, "/count");
        weft_http_stop(server, WEFT_FOREVER); /* requests under way may end */
        if (weft_join(serving, WEFT_FOREVER, &result) == WEFT_OK && s == WEFT_OK) s = result;
    }
    weft_http_destroy(server);
    return s;
}

int main(void) {
    weft_runtime* rt;
    int result = WEFT_EFAILED;
    if (weft_runtime_create(NULL, &rt) != WEFT_OK || weft_run(rt, program, NULL, &result) != WEFT_OK || result != WEFT_OK)
        fprintf(stderr, "%s\n", weft_error());
    weft_runtime_destroy(rt);
    return result != WEFT_OK;
}
