// main.cpp - asks a server many questions from many fibers, by a client library that blocks.
//
// The libraries are used as in a program with a thread for each connection. They park because the fibers are
// threads (as_thread), the runtime has hooks, and the program is linked with weft::hooks.
#include <weft/weft.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iostream>
#include <mutex>

#include <CLI/CLI.hpp>

#include "connection.hpp"

namespace {

struct options {
    std::string url;
    int fibers = 100;
    int calls = 1000;
    unsigned connections = 20;
    unsigned workers = 0;
    int limit_ms = 0;
};

/// What the fibers count.
struct counts {
    std::atomic<int> left, right{0}, failed{0}, opened{0};
    std::mutex lock{};
    std::string first_failure{};

    void fails(const std::string& why) {
        ++failed;
        const std::lock_guard guard(lock);
        if (first_failure.empty()) first_failure = why.substr(0, why.find('\n'));
    }
};

using pool = weft::pool<std::unique_ptr<clients::connection>>;

/// A call with a limit of time: the library reports its end as an error of the connection.
std::string ask(clients::connection& to, int number, int limit_ms) {
    if (limit_ms == 0) return to.ask(number);
    return weft::with_timeout(std::chrono::milliseconds(limit_ms), [&] { return to.ask(number); });
}

void one_call(pool& connections, const options& wanted, counts& all, int number) {
    try {
        auto c = connections.acquire();
        try {
            if (clients::answers(wanted.url, ask(**c, number, wanted.limit_ms), number))
                ++all.right;
            else
                all.fails("a wrong answer");
        } catch (const clients::failure&) {
            c.discard();  // an answer may still be on its way, which would be taken for that of the next call
            throw;
        }
    } catch (const clients::failure& why) {
        all.fails(why.what());
    }
}

int run(const options& wanted) {
    clients::check(wanted.url);  // rather than in each fiber
    weft::runtime rt({.workers = wanted.workers, .hooks = true});
    counts all{.left = wanted.calls};
    const auto begun = std::chrono::steady_clock::now();
    rt.run([&] {
        pool connections(
            [&] {
                ++all.opened;
                return clients::connect(wanted.url);
            },
            {.limit = wanted.connections});
        weft::with_scope([&](weft::scope& s) {
            for (int i = 0; i < wanted.fibers; ++i)
                s.spawn({.as_thread = true}, [&] {
                    for (int number; (number = --all.left) >= 0;) one_call(connections, wanted, all, number);
                });
        });
    });
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    std::cout << all.right << " right answers, " << all.failed << " failures, " << all.opened << " connections, " << wanted.fibers
              << " fibers on " << rt.stats().carriers << " threads, " << took.count() << " s\n";
    if (!all.first_failure.empty()) std::cout << "the first failure: " << all.first_failure << '\n';
    return all.failed == 0 ? 0 : 1;
}

int refuse(const std::string& why) {
    std::cerr << "clients: " << why << '\n';
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    options wanted;
    CLI::App program("Asks a server many questions from many fibers, by a client library that blocks", "clients");
    program
        .add_option("URL", wanted.url,
                    "redis://, postgres://, mysql:// USER:PASSWORD@HOST:PORT/DATABASE; http:// or https://, %d is a number")
        ->required();
    program.add_option("--fibers", wanted.fibers, "that ask")->check(CLI::Range(1, 100'000))->capture_default_str();
    program.add_option("--calls", wanted.calls, "of all fibers together")
        ->check(CLI::Range(1, 1'000'000'000))
        ->capture_default_str();
    program.add_option("--connections", wanted.connections, "that there are at most")
        ->check(CLI::Range(1, 10'000))
        ->capture_default_str();
    program.add_option("--workers", wanted.workers, "threads that run fibers; 0: one per usable CPU")
        ->check(CLI::Range(0, 1024))
        ->capture_default_str();
    program.add_option("--limit", wanted.limit_ms, "milliseconds that a call may take; 0: any time")
        ->check(CLI::Range(0, 1'000'000))
        ->capture_default_str();
    try {
        program.parse(argc, argv);
        return run(wanted);
    } catch (const CLI::ParseError& wrong) {
        if (wrong.get_exit_code() == 0) return program.exit(wrong);  // --help
        return refuse(std::string(wrong.what()) + "; see --help");
    } catch (const std::exception& why) {
        return refuse(why.what());
    }
}
