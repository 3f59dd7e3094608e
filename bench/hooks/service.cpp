// service.cpp - a service whose every request waits some milliseconds for PostgreSQL, by libpq, in one of several
// ways: `weft_bench_hooks_service serve WAY`; and the clients that ask it: `... load PORT`. bench/hooks/run
// compares the ways.
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include <weft/http/server.hpp>
#include <weft/ivar.hpp>
#include <weft/weft.hpp>

#include "libraries.hpp"
#include "pooled.hpp"

namespace {

using namespace std::chrono_literals;

struct service_options {
    std::string database;
    unsigned connections = 64;
    unsigned workers = 1;
    std::string statement = "select 'Ann'::text from pg_sleep(0.005)";
};

/// How a handler gets the answer of the database.
class way {
public:
    virtual ~way() = default;
    virtual std::string ask() = 0;
};

/// As the library is: by the fiber. With hooks it parks, without it blocks.
class by_the_fiber : public way {
public:
    explicit by_the_fiber(const service_options& o)
        : statement_(o.statement),
          all_([url = o.database] { return std::make_unique<clients::libpq_connection>(url); }, o.connections) {}
    std::string ask() override {
        return all_.with_one([&](clients::libpq_connection& c) { return c.run(statement_.c_str(), {}).at(0); });
    }

private:
    const std::string statement_;
    clients::pooled<clients::libpq_connection> all_;
};

class by_blocking final : public by_the_fiber {
public:
    using by_the_fiber::by_the_fiber;
    std::string ask() override {
        return weft::blocking([&] { return by_the_fiber::ask(); });
    }
};

/// A pool of threads with a connection each.
class by_threads final : public way {
public:
    explicit by_threads(const service_options& o) {
        for (unsigned i = 0; i < o.connections; ++i)
            all_.emplace_back([this, o](const std::stop_token& stop) {
                try {
                    serve(o, stop);
                } catch (const std::exception& e) {
                    std::fprintf(stderr, "weft_bench_hooks_service: %s\n", e.what());
                    std::_Exit(1);
                }
            });
    }
    std::string ask() override {
        weft::ivar<std::string> answer;
        {
            const std::lock_guard guard(lock_);
            wanted_.push_back(&answer);
        }
        more_.notify_one();
        return answer.get();
    }

private:
    void serve(const service_options& o, const std::stop_token& stop) {
        clients::libpq_connection c(o.database);
        for (;;) {
            weft::ivar<std::string>* mine = nullptr;
            {
                std::unique_lock guard(lock_);
                if (!more_.wait(guard, stop, [&] { return !wanted_.empty(); })) return;
                mine = wanted_.front();
                wanted_.pop_front();
            }
            mine->set(c.run(o.statement.c_str(), {}).at(0));
        }
    }

    std::mutex lock_;
    std::condition_variable_any more_;
    std::deque<weft::ivar<std::string>*> wanted_;
    std::vector<std::jthread> all_;
};

struct kind {
    std::function<std::unique_ptr<way>(const service_options&)> make;
    bool hooked = false;
};

template <class Way>
std::unique_ptr<way> make(const service_options& o) {
    return std::make_unique<Way>(o);
}

const std::map<std::string, kind>& kinds() {
    static const std::map<std::string, kind> all = {{"hooked", {make<by_the_fiber>, true}},
                                                    {"hand-off", {make<by_the_fiber>}},
                                                    {"blocking", {make<by_blocking>}},
                                                    {"threads", {make<by_threads>}}};
    return all;
}

double cpu_seconds() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

unsigned threads_here() {
    std::ifstream status("/proc/self/status");
    unsigned n = 0;
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("Threads:")) n = static_cast<unsigned>(std::stoul(line.substr(8)));
    return n;
}

/// Serves until the standard input ends. Prints the port at first, and what it has used since a line came in.
void serve(const service_options& o, const kind& how) {
    weft::runtime rt({.workers = o.workers, .on_hog = [](const weft::hog_report&) {}, .hooks = how.hooked});
    weft::ivar<weft::http::server*> listens;
    std::atomic<std::uint64_t> answered{0};
    auto service = rt.spawn([&] {
        const auto store = how.make(o);
        weft::http::server app;
        app.get("/", [&](const weft::http::request&) {
            auto text = store->ask();
            ++answered;
            return weft::http::text(200, std::move(text));
        });
        app.listen({.host = "127.0.0.1", .port = 0}, {.as_threads = how.hooked});
        listens.set(&app);
        app.serve();
    });
    weft::http::server& app = *listens.get();
    std::printf("port=%u\n", static_cast<unsigned>(app.local().port));
    std::fflush(stdout);
    std::string line;
    std::getline(std::cin, line);  // the load is warm now
    const double cpu = cpu_seconds();
    const std::uint64_t before = answered;
    std::getline(std::cin, line);
    const double used = cpu_seconds() - cpu;
    const auto n = static_cast<double>(answered - before);
    std::printf("cpu_us=%.3f threads=%u\n", n > 0 ? used * 1e6 / n : 0, threads_here());
    app.stop(1s);
    service.join();
}

/// Asks again and again on so many connections. Prints how many answers came in a second.
void load(std::uint16_t port, unsigned connections, double seconds) {
    weft::runtime rt({.workers = 1});
    std::uint64_t answers = 0;
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    rt.run([&] {
        weft::with_scope([&](weft::scope& s) {
            for (unsigned i = 0; i < connections; ++i)
                s.spawn([&] {
                    auto to = weft::tcp::stream::connect({.host = "127.0.0.1", .port = port});
                    while (std::chrono::steady_clock::now() < until) {
                        to.write_all("GET / HTTP/1.1\r\nHost: bench\r\n\r\n");
                        const std::string head = to.read_until("\r\n\r\n", 4096);
                        if (!head.starts_with("HTTP/1.1 200")) throw std::runtime_error(head.substr(0, head.find('\r')));
                        char name[3];
                        to.read_exact(std::as_writable_bytes(std::span(name)));
                        ++answers;
                    }
                });
        });
    });
    std::printf("requests_per_s=%.1f\n", static_cast<double>(answers) / seconds);
}

}  // namespace

int main(int argc, char** argv) try {
    CLI::App program("A service on PostgreSQL in one of several ways, and the load for it", "weft_bench_hooks_service");
    program.require_subcommand(1);
    service_options o;
    std::string name;
    auto& serving = *program.add_subcommand("serve", "Prints port=N; after two lines of input what it has used between them");
    serving
        .add_option("WAY", name, "hooked, hand-off: libpq in fibers; blocking: in weft::blocking; threads: in a pool of threads")
        ->required()
        ->check(CLI::IsMember(kinds()));
    serving.add_option("--database", o.database, "a URL or words of libpq")->required();
    serving.add_option("--connections", o.connections, "to the database")->check(CLI::Range(1, 10'000))->capture_default_str();
    serving.add_option("--workers", o.workers, "of the runtime")->check(CLI::Range(1, 1024))->capture_default_str();
    serving.callback([&] { serve(o, kinds().at(name)); });
    auto& loading = *program.add_subcommand("load", "Prints requests_per_s=N");
    std::uint16_t port = 0;
    unsigned connections = 64;
    double seconds = 2;
    loading.add_option("PORT", port, "of the service on this machine")->required();
    loading.add_option("--connections", connections, "at once")->check(CLI::Range(1, 10'000))->capture_default_str();
    loading.add_option("--seconds", seconds, "for so long")->check(CLI::Range(0.1, 3600.0))->capture_default_str();
    loading.callback([&] { load(port, connections, seconds); });
    CLI11_PARSE(program, argc, argv);
} catch (const std::exception& e) {
    std::cerr << "weft_bench_hooks_service: " << e.what() << '\n';
    return 1;
}
