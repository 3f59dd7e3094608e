// main.cpp - the users service, on Redis and on SQLite at once, as the soak wants it: with hogs beside it and few descriptors.
//
// Prints one line, `ports REDIS SQLITE CONTROL`. The last is for the soak itself: GET /state says how many fibers and carriers there are, POST
// /hogs/on and /hogs/off let the hogs in the background compute. Ends at SIGTERM: 0 if no fiber is left then, else 3 with their names on stderr.
#include <sys/prctl.h>
#include <sys/resource.h>

#include <csignal>
#include <iostream>
#include <string>

#include <CLI/CLI.hpp>

#include <weft/deadlock.hpp>
#include <weft/dump.hpp>
#include <weft/fiber.hpp>
#include <weft/io/signal.hpp>
#include <weft/runtime.hpp>

#include "soak/server/hogs.hpp"
#include "soak/server/plants.hpp"
#include "soak/server/routes.hpp"
#include "users.hpp"

namespace {

using namespace std::chrono_literals;
namespace http = weft::http;

struct options {
    std::string redis = "redis://127.0.0.1:6379";
    std::string sqlite = "users.db";
    std::size_t descriptors = 1200;  // fewer than a flood brings connections
    std::size_t sqlite_connections = 500;  // one of the two services has a limit of its own, the other the system's only
    unsigned idle_ms = 5000;
    unsigned cold_ms = 1000;
    unsigned header_ms = 10000;
    unsigned write_ms = 3000;
    std::uint64_t seed = 1;
    std::string fault = "none";
    std::uint64_t every = 1000;
};

void allow_descriptors(std::size_t n) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) throw std::runtime_error("getrlimit");
    limit.rlim_cur = n;
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) throw std::runtime_error("setrlimit: " + std::to_string(n));
}

/// One users service with the soak's routes, serving until stopped.
class site {
public:
    site(const std::string& store, const options& o, std::size_t connections)
        : data_(users::open_store(store), soak::faults_from(o.fault), o.every), service_(app_, data_) {
        soak::add_soak_routes(app_, data_);
        app_.listen({.host = "127.0.0.1", .port = 0}, {.header_timeout = std::chrono::milliseconds(o.header_ms),
                                                       .idle_timeout = std::chrono::milliseconds(o.idle_ms),
                                                       .cold_after = std::chrono::milliseconds(o.cold_ms),
                                                       .write_timeout = std::chrono::milliseconds(o.write_ms),
                                                       .max_connections = connections});
        serving_ = weft::spawn({.name = "serve"}, [this] { app_.serve(); });
    }
    ~site() {
        app_.stop(5s);
        serving_.join();
    }
    site(const site&) = delete;
    site& operator=(const site&) = delete;

    std::uint16_t port() const { return app_.local().port; }

private:
    soak::faulty_store data_;
    http::server app_;
    users::users_service service_;
    weft::fiber<> serving_;
};

// The two fibers of a connection to Redis are not counted: a connection that was lost has them again when it is next used, which may be
// before a quiet point or after it. One that leaks shows by its descriptor.
std::size_t asleep() {
    std::size_t n = 0;
    for (const auto& r : weft::take_snapshot(weft::stacks::left_out).runtimes)
        for (const auto& server : r.asleep) n += server.count;
    return n;
}

std::string state_of(const weft::runtime& rt, const soak::hog_herd& hogs) {
    const auto stats = rt.stats();
    unsigned connections = 0, of_redis = 0;
    rt.for_each_fiber([&](const weft::fiber_info& f) {
        connections += f.name == "http connection" ? 1 : 0;
        of_redis += f.name == "redis-reader" || f.name == "redis-silence" ? 1 : 0;
    });
    return "fibers " + std::to_string(stats.fibers - of_redis) + " carriers " + std::to_string(stats.carriers) + " connections " +
           std::to_string(connections) + " asleep " + std::to_string(asleep()) + " hand_offs " + std::to_string(stats.hand_offs) +
           " spawned " + std::to_string(stats.spawned) + " hogs " + std::to_string(hogs.started()) + '\n';
}

/// The soak's own door. Its one connection is not closed however long it is idle.
class control {
public:
    control(weft::runtime& rt, soak::hog_herd& hogs) {
        app_.get("/state", [&](const http::request&) { return http::text(200, state_of(rt, hogs)); });
        app_.post("/hogs/on", [&](const http::request&) { return hogs.go_on(true), http::text(200, "on\n"); });
        app_.post("/hogs/off", [&](const http::request&) { return hogs.go_on(false), http::text(200, "off\n"); });
        app_.listen({.host = "127.0.0.1", .port = 0}, {.idle_timeout = std::chrono::nanoseconds::max()});
        serving_ = weft::spawn({.name = "serve control"}, [this] { app_.serve(); });
    }
    ~control() {
        app_.stop();
        serving_.join();
    }
    control(const control&) = delete;
    control& operator=(const control&) = delete;

    std::uint16_t port() const { return app_.local().port; }

private:
    http::server app_;
    weft::fiber<> serving_;
};

void serve(weft::runtime& rt, const options& o) {
    weft::io::signals end({SIGTERM});
    soak::hog_herd hogs(o.seed);
    const auto herd = weft::spawn({.name = "herd"}, [&] { hogs.run(); });
    const site redis(o.redis, o, 100'000), sqlite(o.sqlite, o, o.sqlite_connections);
    const control door(rt, hogs);
    std::cout << "ports " << redis.port() << ' ' << sqlite.port() << ' ' << door.port() << std::endl;
    end.wait();
}

int run(const options& o) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    allow_descriptors(o.descriptors);
    weft::runtime rt;  // as users have it
    return rt.run([&] {
        const weft::fiber_census before;
        serve(rt, o);
        const auto left = before.left_behind(5s);
        std::cerr << (left.empty() ? "" : "soak: fibers left behind:\n" + left);
        return left.empty() ? 0 : 3;
    });
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App program("The users service under the soak", "service_soak_server");
    options o;
    program.add_option("--redis", o.redis);
    program.add_option("--sqlite", o.sqlite);
    program.add_option("--descriptors", o.descriptors);
    program.add_option("--sqlite-connections", o.sqlite_connections);
    program.add_option("--idle-ms", o.idle_ms);
    program.add_option("--cold-ms", o.cold_ms);
    program.add_option("--header-ms", o.header_ms);
    program.add_option("--write-ms", o.write_ms);
    program.add_option("--seed", o.seed);
    program.add_option("--fault", o.fault);
    program.add_option("--every", o.every);
    CLI11_PARSE(program, argc, argv);
    try {
        return run(o);
    } catch (const std::exception& failure) {
        std::cerr << "soak: " << failure.what() << std::endl;
        return 2;
    }
}
