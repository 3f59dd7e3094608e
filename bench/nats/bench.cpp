// bench.cpp - CPU time that a NATS client takes for a message published and received, and for a request.
//
//     weft_bench_nats URL messages|requests COUNT
//
// Prints the nanoseconds of CPU time for each; bench/nats/run starts it.
#include <weft/weft.hpp>

#include <sys/resource.h>

#include <weft/nats.hpp>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace std::chrono_literals;

double cpu_ns() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const auto ns = [](const timeval& t) { return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_usec) * 1e3; };
    return ns(used.ru_utime) + ns(used.ru_stime);
}

/// 16 bytes each; at most 16 times 64 are under way, so that none is lost.
void messages(weft::nats::client& c, long count) {
    auto in = c.subscribe("bench");
    constexpr long window = 16, step = 64;
    weft::counting_semaphore<> room(window);
    auto out = weft::spawn([&] {
        for (long i = 0; i < count; ++i) {
            if (i % step == 0) room.acquire();
            c.publish("bench", "0123456789abcdef");
        }
    });
    for (long i = 0; i < count; ++i) {
        in.receive();
        if (i % step == step - 1) room.release();
    }
    out.join();
}

/// By 100 fibers. The answers come from this client, too, so each counts as a request and as an answer.
void requests(weft::nats::client& c, long count) {
    constexpr int fibers = 100;
    auto asked = c.subscribe("bench");
    auto serves = weft::spawn([&] {
        for (const auto& m : asked) c.publish(m.reply, m.payload);
    });
    std::vector<weft::fiber<void>> all;
    for (int f = 0; f < fibers; ++f)
        all.push_back(weft::spawn([&] {
            for (long i = 0; i < count / fibers; ++i) c.request("bench", "0123456789abcdef", 10s);
        }));
    for (auto& f : all) f.join();
    asked.unsubscribe();
    serves.join();
}

}  // namespace

int main(int n, char** words) {
    if (n != 4) return std::fputs("weft_bench_nats URL messages|requests COUNT\n", stderr), 2;
    const long count = std::stol(words[3]);
    weft::runtime rt({.workers = 1});
    rt.run([&] {
        weft::nats::client c({.servers = {words[1]}});
        c.flush();
        const auto run = words[2] == std::string_view("requests") ? requests : messages;
        run(c, count / 10);  // warms up
        const auto before = cpu_ns();
        run(c, count);
        std::printf("%.1f\n", (cpu_ns() - before) / static_cast<double>(count));
    });
}
