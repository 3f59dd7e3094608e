// main.cpp - asks a server many questions from many fibers, by a client library that blocks; or serves users from
// such a server's database.
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

#include "command_line.hpp"
#include "connection.hpp"
#include "pooled.hpp"
#include "stores.hpp"

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

using pool = clients::pooled<clients::connection>;

/// A call with a limit of time: the library reports its end as an error of the connection.
std::string ask(clients::connection& to, int number, int limit_ms) {
    if (limit_ms == 0) return to.ask(number);
    return weft::with_timeout(std::chrono::milliseconds(limit_ms), [&] { return to.ask(number); });
}

void one_call(pool& connections, const options& wanted, counts& all, int number) {
    try {
        const std::string answer = connections.with_one([&](clients::connection& c) { return ask(c, number, wanted.limit_ms); });
        if (clients::answers(wanted.url, answer, number))
            ++all.right;
        else
            all.fails("a wrong answer");
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
            wanted.connections);
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

void add_ask(CLI::App& program, options& wanted) {
    program.add_option("URL", wanted.url,
                       "redis://, postgres://, mysql:// USER:PASSWORD@HOST:PORT/DATABASE; http:// or https://, %d is a number");
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
}

/// The users service of examples/users, with stores that block.
void add_serve(CLI::App& program, users::serve_options& wanted, unsigned& connections) {
    wanted.store = "hiredis://127.0.0.1:6379";
    wanted.store_blocks = true;
    wanted.open = [&connections](const std::string& url, const std::string&) { return clients::open_store(url, connections); };
    CLI::App& serve = *program.add_subcommand("serve", "Serves users over HTTP, from a database that a client library asks");
    users::add_serve(serve, wanted);
    serve.get_option("--store")
        ->description(
            "hiredis://H:P, postgres://USER:PASSWORD@H:P/DATABASE, mysql:// the same, http://H:P of another users "
            "service; redis://H:P is weft's own client")
        ->type_name("URL");
    serve.add_option("--connections", connections, "to the database, at most")
        ->check(CLI::Range(1, 10'000))
        ->capture_default_str();
}

}  // namespace

int main(int argc, char** argv) {
    options wanted;
    users::serve_options served{.words = {argv, static_cast<std::size_t>(argc)}};
    unsigned connections = 20;
    CLI::App program("Asks a server many questions from many fibers, by a client library that blocks; or serves users",
                     "clients");
    int result = 0;
    add_ask(program, wanted);
    add_serve(program, served, connections);
    program.callback([&] {
        if (!program.get_subcommands().empty()) return;
        if (wanted.url.empty()) throw CLI::RequiredError("URL, or serve,");
        result = run(wanted);
    });
    const int refused = users::run_command_line(program, argc, argv);
    return refused != 0 ? refused : result;
}
