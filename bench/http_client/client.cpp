// client.cpp - weft_bench_http_client serve PORT | ask PORT REQUESTS FIBERS: the server that all clients ask, and weft's client.
//
// A client prints what a request has cost it, in microseconds of CPU time: in all, in the program, in the system.
#include <sys/resource.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <weft/http/client.hpp>
#include <weft/http/server.hpp>
#include <weft/weft.hpp>

namespace {

constexpr std::string_view answer = "hello, world";

struct cpu_time {
    double program, system;  // microseconds
};

cpu_time cpu_now() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const auto in_us = [](timeval t) { return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec); };
    return {in_us(used.ru_utime), in_us(used.ru_stime)};
}

void serve(std::uint16_t port) {
    weft::http::server server;
    server.get("/", [](auto&) { return weft::http::text(200, answer); });
    server.listen({.host = "127.0.0.1", .port = port});
    server.serve();
}

void ask(const std::string& url, int requests, int fibers) {
    weft::http::client client({.most_per_host = static_cast<std::size_t>(fibers), .decompress = false});
    const auto each_asks = [&](int times) {
        weft::with_scope([&](weft::scope& all) {
            for (int f = 0; f < fibers; ++f)
                all.spawn([&] {
                    for (int i = 0; i < times; ++i)
                        if (client.get(url).body != answer) std::abort();
                });
        });
    };
    each_asks(100);  // connections are open then
    const auto before = cpu_now();
    each_asks(requests / fibers);
    const auto after = cpu_now();
    const double n = requests / fibers * fibers;
    const double program = (after.program - before.program) / n, system = (after.system - before.system) / n;
    std::printf("%.3f %.3f %.3f\n", program + system, program, system);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view mode = argc > 1 ? argv[1] : "";
    if (!(mode == "serve" && argc == 3) && !(mode == "ask" && argc == 5)) {
        std::fprintf(stderr, "weft_bench_http_client: usage: weft_bench_http_client serve PORT | ask PORT REQUESTS FIBERS\n");
        return 2;
    }
    const std::string port = argv[2];
    weft::runtime rt({.workers = 1});
    rt.run([&] {
        if (mode == "serve")
            serve(static_cast<std::uint16_t>(std::atoi(argv[2])));
        else
            ask("http://127.0.0.1:" + port + "/", std::atoi(argv[3]), std::atoi(argv[4]));
    });
}
