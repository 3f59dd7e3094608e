// small_program.cpp - its parts: timers, computing, wakes, locks, streams, blocking, children, signals, dumps, deep stacks.
#include "attack/calls/small_program.hpp"

#include <csignal>
#include <cstdio>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <weft/dump.hpp>
#include <weft/io/process.hpp>
#include <weft/io/signal.hpp>
#include <weft/net/resolve.hpp>
#include <weft/net/tcp.hpp>
#include <weft/weft.hpp>

using namespace std::chrono_literals;

namespace weft::attack {
namespace {

void must(bool holds, const char* what) {
    if (!holds) throw std::logic_error(std::string("WRONG: not ") + what);
}
#define WEFT_ATTACK_MUST(condition) must(condition, #condition)

void timers() {
    const auto begin = std::chrono::steady_clock::now();
    std::vector<fiber<int>> all;
    for (int i = 0; i < 50; ++i)
        all.push_back(spawn([i] {
            this_fiber::sleep_for(std::chrono::microseconds(200 * (i % 10)));
            return i;
        }));
    for (int i = 0; i < 50; ++i) WEFT_ATTACK_MUST(all[static_cast<std::size_t>(i)].join() == i);
    this_fiber::sleep_for(5ms);
    WEFT_ATTACK_MUST(std::chrono::steady_clock::now() - begin >= 5ms);
    bool late = false;
    try {
        with_timeout(1ms, [] { this_fiber::sleep_for(1min); });
    } catch (const timeout_error&) {
        late = true;
    }
    WEFT_ATTACK_MUST(late);
}

void computing() {
    std::atomic<bool> over{false};
    auto hog = spawn([&] {
        while (!over) {}
    });
    for (int i = 0; i < 20; ++i) this_fiber::sleep_for(100us);
    over = true;
    hog.join();
}

void wakes() {
    channel<int> numbers(2);
    auto sender = spawn([&] {
        for (int i = 1; i <= 200; ++i) numbers.send(i);
        numbers.close();
    });
    int sum = 0;
    for (const int n : numbers) sum += n;
    sender.join();
    WEFT_ATTACK_MUST(sum == 20'100);
    mutex lock;
    int counted = 0;
    with_scope([&](scope& s) {
        for (int i = 0; i < 8; ++i)
            s.spawn([&] {
                std::lock_guard guard(lock);
                const int seen = counted;
                this_fiber::yield();
                counted = seen + 1;
            });
    });
    WEFT_ATTACK_MUST(counted == 8);
}

void streams() {
    tcp::listener listener({.host = "127.0.0.1", .port = 0});
    with_scope([&](scope& s) {
        s.spawn([&] {
            auto peer = listener.accept();
            std::array<std::byte, 5> bytes;
            peer.read_exact(bytes);
            peer.write_all(bytes);
        });
        auto here = tcp::stream::connect(listener.local());
        here.write_all(std::string_view("hello"));
        std::array<char, 5> back{};
        here.read_exact(std::as_writable_bytes(std::span(back)));
        WEFT_ATTACK_MUST(std::string_view(back.data(), 5) == "hello");
    });
}

void names() { WEFT_ATTACK_MUST(!net::resolve("127.0.0.1", 1).empty()); }

void pool() {
    WEFT_ATTACK_MUST(blocking([] { return 7; }) == 7);
    with_scope([](scope& s) {
        for (int i = 0; i < 4; ++i) s.spawn([] { blocking([] { std::this_thread::sleep_for(1ms); }); });
    });
}

void children() {
    io::process child({"sh", "-c", "cat; exit 3"}, {.in = io::redirect::pipe, .out = io::redirect::pipe});
    child.in().write_all(std::string_view("abc"));
    child.in().close();
    std::array<std::byte, 8> bytes;
    WEFT_ATTACK_MUST(child.out().read_some(bytes) == 3);
    WEFT_ATTACK_MUST(child.wait().code == 3);
}

void signal() {
    io::signals taken({SIGUSR1});
    ::kill(::getpid(), SIGUSR1);
    WEFT_ATTACK_MUST(taken.wait() == SIGUSR1);
}

void dumps() {
    std::ostringstream text;
    dump(text);
    WEFT_ATTACK_MUST(!text.str().empty());
}

[[gnu::noinline]] std::size_t deep(std::size_t levels) {
    volatile char frame[512] = {};
    return levels == 0 ? frame[0] : deep(levels - 1) + 1 + static_cast<std::size_t>(frame[1]);
}

void stacks() {
    std::vector<fiber<std::size_t>> all;
    for (int i = 0; i < 20; ++i) all.push_back(spawn({.stack_bytes = 256 * 1024}, [] { return deep(100); }));
    for (auto& f : all) WEFT_ATTACK_MUST(f.join() == 100);
}

struct part {
    const char* name;
    std::function<void()> run;
};

struct part_result {
    std::string name;
    std::string failure;  // empty: its result was right
};

part_result result_of(const part& p) {
    try {
        with_timeout(3s, p.run);
    } catch (const std::exception& e) {
        return {p.name, *e.what() != '\0' ? e.what() : "WRONG: a failure without words"};
    }
    return {p.name, {}};
}

std::vector<part_result> run_parts() {
    const part parts[] = {{"timers", timers}, {"computing", computing}, {"wakes", wakes},       {"streams", streams},
                          {"names", names},   {"pool", pool},           {"children", children}, {"signal", signal},
                          {"dumps", dumps},   {"stacks", stacks}};
    runtime rt({.workers = 2, .time_slice = 1ms, .on_hog = [](const hog_report&) {}});
    std::vector<part_result> results;
    for (const part& p : parts) results.push_back(rt.run([&] { return result_of(p); }));
    static_cast<void>(rt.trim_stacks());
    if (!rt.shutdown(10s)) results.push_back({"shutdown", "WRONG: fibers are left"});
    return results;
}

}  // namespace

int run_small_program() {
    int code = 0;
    for (const auto& result : run_parts()) {
        if (result.failure.empty()) continue;
        std::printf("%s: %s\n", result.name.c_str(), result.failure.c_str());
        code = result.failure.starts_with("WRONG") ? 4 : code == 4 ? 4 : 1;
    }
    return code;
}

}  // namespace weft::attack
