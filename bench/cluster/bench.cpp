// bench.cpp - how long an ask between two nodes takes beside a bare NATS request, and the CPU time of asks by
// 100 fibers.
//
//     weft_bench_cluster URL [COUNT [ROUNDS]]
//
// URL names a nats-server. Both nodes, and both clients of the bare request, are in this process, on one
// worker. Prints for each round the medians of COUNT (20000) in microseconds, one at a time, and their ratio;
// and the CPU microseconds of an ask with 100 at once.
#include <weft/cluster.hpp>
#include <weft/cluster/json.hpp>
#include <weft/cluster/over_nats.hpp>
#include <weft/weft.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

namespace bench {

struct number {
    using reply = int;
    int n = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(number, n)
};
struct echo {
    using remote = weft::cluster::messages<number>;
    int handle(number m) const { return m.n; }
};

}  // namespace bench

WEFT_WIRE(bench::number, "bench.number", 1);

namespace {

using namespace std::chrono_literals;

double cpu_us() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const auto us = [](const timeval& t) { return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec); };
    return us(used.ru_utime) + us(used.ru_stime);
}

template <class F>
double median_us(long count, F&& f) {
    std::vector<double> all;
    for (long i = 0; i < count; ++i) {
        const auto before = std::chrono::steady_clock::now();
        f();
        all.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - before).count());
    }
    std::ranges::nth_element(all, all.begin() + count / 2);
    return all[static_cast<std::size_t>(count / 2)];
}

std::shared_ptr<weft::cluster::transport> words(const char* url) {
    return std::make_shared<weft::cluster::nats_transport>(weft::nats::client_options{.servers = {url}});
}

void measure(const char* url, long count, long rounds) {
    weft::nats::client asks({.servers = {url}}), answers({.servers = {url}});
    auto asked = answers.subscribe("bench.cluster");
    answers.flush();
    auto serves = weft::spawn([&] {
        for (const auto& m : asked) answers.publish(m.reply, m.payload);
    });
    weft::cluster::node a({.name = "a", .cluster = "bench", .words = words(url)}), b({.name = "b", .cluster = "bench", .words = words(url)});
    const auto at_b = b.expose(weft::spawn_actor<bench::echo>({.name = "echo"}));
    const auto echo = a.find<bench::echo>("b", "echo", 10s);
    constexpr int fibers = 100;
    for (long r = 0; r < rounds; ++r) {
        const auto request = median_us(count, [&] { asks.request("bench.cluster", "0123456789abcdef", 10s); });
        const auto ask = median_us(count, [&] { echo.ask(bench::number{7}, 10s); });
        const auto before = cpu_us();
        weft::with_scope([&](weft::scope& s) {
            for (int f = 0; f < fibers; ++f)
                s.spawn([&] {
                    for (long i = 0; i < count / fibers; ++i) echo.ask(bench::number{7}, 10s);
                });
        });
        std::printf("request %.1f us, ask %.1f us, ratio %.2f; 100 at once: %.2f CPU us an ask\n", request, ask, ask / request,
                    (cpu_us() - before) / static_cast<double>(count));
        std::fflush(stdout);
    }
    asked.unsubscribe();
    serves.join();
}

}  // namespace

int main(int n, char** given) {
    if (n < 2 || n > 4) return std::fputs("weft_bench_cluster URL [COUNT [ROUNDS]]\n", stderr), 2;
    const long count = n > 2 ? std::stol(given[2]) : 20'000, rounds = n > 3 ? std::stol(given[3]) : 5;
    weft::run([&] { measure(given[1], count, rounds); }, {.workers = 1});
}
