// rounds.cpp - one way to use Redis from many waiters at once, measured as a whole: `weft_bench_hooks WAY`.
//
// Each of the connections sends GET and waits for the answer, so many times. It prints the CPU time of this
// process per request, the time that passed, and how many threads there were. bench/hooks/run compares the
// ways.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <hiredis/hiredis.h>
#include <CLI/CLI.hpp>

#include <weft/redis/client.hpp>
#include <weft/weft.hpp>

namespace {

using namespace std::chrono_literals;

struct load {
    int port = 6379;
    unsigned connections = 50;
    unsigned calls = 600;  // of each connection
};

constexpr const char* key = "weft-bench-hooks";
constexpr std::string_view value = "0123456789";

[[noreturn]] void fail(const std::string& why) { throw std::runtime_error(why); }

// ---- clients

void ask_by_hiredis(const load& l) {
    const std::unique_ptr<redisContext, void (*)(redisContext*)> c(redisConnect("127.0.0.1", l.port), redisFree);
    if (!c || c->err) fail(c ? c->errstr : "no memory");
    for (unsigned i = 0; i < l.calls; ++i) {
        const std::unique_ptr<redisReply, void (*)(void*)> r(static_cast<redisReply*>(redisCommand(c.get(), "GET %s", key)),
                                                             freeReplyObject);
        if (!r || std::string_view(r->str, r->len) != value) fail(r ? "a wrong answer" : c->errstr);
    }
}

void ask_by_stream(const load& l) {
    auto s = weft::tcp::stream::connect({.host = "127.0.0.1", .port = static_cast<std::uint16_t>(l.port)});
    const std::string request = "*2\r\n$3\r\nGET\r\n$" + std::to_string(std::string_view(key).size()) + "\r\n" + key + "\r\n";
    const std::string answer = "$" + std::to_string(value.size()) + "\r\n" + std::string(value) + "\r\n";
    std::string got(answer.size(), '\0');
    for (unsigned i = 0; i < l.calls; ++i) {
        s.write_all(std::as_bytes(std::span(request)));
        for (std::size_t n = 0; n < got.size();) {
            const auto more = s.read_some(std::as_writable_bytes(std::span(got)).subspan(n));
            if (more == 0) fail("the server has hung up");
            n += more;
        }
        if (got != answer) fail("a wrong answer");
    }
}

// ---- ways to wait

void in_fibers(const load& l, const weft::runtime_options& options, const weft::attributes& how,
               const std::function<void()>& body) {
    weft::runtime rt(options);
    rt.run([&] {
        weft::with_scope([&](weft::scope& s) {
            for (unsigned i = 0; i < l.connections; ++i) s.spawn(how, [&] { body(); });
        });
    });
    std::printf("carriers=%u blocking_threads=%u ", rt.stats().carriers, rt.stats().blocking_threads);
}

void hooked(const load& l) {
    in_fibers(l, {.workers = 1, .hooks = true}, {.as_thread = true}, [&] { ask_by_hiredis(l); });
    if (!weft::hooks::active()) fail("libweft_hooks.so is not loaded");
}
void handed_off(const load& l) {
    in_fibers(l, {.workers = 1}, {.as_thread = true}, [&] { ask_by_hiredis(l); });
}
void in_blocking(const load& l) {
    in_fibers(l, {.workers = 1}, {}, [&] { weft::blocking([&] { ask_by_hiredis(l); }); });
}
void by_stream(const load& l) {
    in_fibers(l, {.workers = 1}, {}, [&] { ask_by_stream(l); });
}
void by_client(const load& l) {
    weft::runtime rt({.workers = 1});
    rt.run([&] {
        weft::redis::client c("redis://127.0.0.1:" + std::to_string(l.port), {.connections = 1});
        weft::with_scope([&](weft::scope& s) {
            for (unsigned i = 0; i < l.connections; ++i)
                s.spawn([&] {
                    for (unsigned n = 0; n < l.calls; ++n)
                        if (c.get(key) != value) fail("a wrong answer");
                });
        });
    });
    std::printf("carriers=%u blocking_threads=%u ", rt.stats().carriers, rt.stats().blocking_threads);
}
void in_threads(const load& l) {
    std::vector<std::jthread> all;
    for (unsigned i = 0; i < l.connections; ++i)
        all.emplace_back([&] {
            try {
                ask_by_hiredis(l);
            } catch (const std::exception& e) {
                std::fprintf(stderr, "weft_bench_hooks: %s\n", e.what());
                std::_Exit(1);
            }
        });
    all.clear();
    std::printf("carriers=%u blocking_threads=0 ", l.connections);
}

double cpu_seconds() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

void store_value(const load& l) {
    const std::unique_ptr<redisContext, void (*)(redisContext*)> c(redisConnect("127.0.0.1", l.port), redisFree);
    if (!c || c->err) fail("no Redis at port " + std::to_string(l.port));
    const std::unique_ptr<redisReply, void (*)(void*)> r(
        static_cast<redisReply*>(redisCommand(c.get(), "SET %s %s", key, std::string(value).c_str())), freeReplyObject);
    if (!r) fail(c->errstr);
}

}  // namespace

int main(int argc, char** argv) try {
    const std::map<std::string, void (*)(const load&)> ways = {{"hooked", hooked},        {"hand-off", handed_off},
                                                               {"blocking", in_blocking}, {"stream", by_stream},
                                                               {"client", by_client},     {"threads", in_threads}};
    CLI::App program("One way to use Redis from many waiters at once, measured: prints key=value.", "weft_bench_hooks");
    load l;
    std::string way;
    program.add_option("WAY", way, "hooked, hand-off, blocking and threads: hiredis; stream: by hand; client: weft::redis")
        ->required()
        ->check(CLI::IsMember(ways));
    program.add_option("--port", l.port, "of the Redis server on this machine")
        ->check(CLI::Range(1, 65535))
        ->capture_default_str();
    program.add_option("--connections", l.connections, "at once")->check(CLI::Range(1, 10000))->capture_default_str();
    program.add_option("--calls", l.calls, "of each connection")->check(CLI::Range(1, 100'000'000))->capture_default_str();
    CLI11_PARSE(program, argc, argv);

    store_value(l);
    const auto begun = std::chrono::steady_clock::now();
    const double cpu_before = cpu_seconds();
    ways.at(way)(l);
    const double cpu = cpu_seconds() - cpu_before;
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begun;
    const double requests = static_cast<double>(l.connections) * l.calls;
    std::printf("way=%s cpu_us=%.3f requests_per_s=%.0f\n", way.c_str(), cpu * 1e6 / requests, requests / wall.count());
} catch (const std::exception& e) {
    std::cerr << "weft_bench_hooks: " << e.what() << '\n';
    return 1;
}
