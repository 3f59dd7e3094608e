// main.cpp - the soak of the users service: all that happens to a server, at once, and the verdict on how it took it.
//
// The server is a process of its own (tests/soak/server), so its memory, descriptors and threads are its own. Exit code 0 only if no answer was
// wrong, the server printed nothing that was not to be expected, its figures stayed where they were (support/flatness.hpp),
// and it ended at SIGTERM with no fiber left; else 1, after one line `FAILED what: why` for each of these.
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cstdio>
#include <random>

#include <CLI/CLI.hpp>

#include <weft/fiber.hpp>
#include <weft/io/limits.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>

#include "service/support/places.hpp"
#include "soak/service/client.hpp"
#include "soak/service/others.hpp"
#include "soak/service/redis_keeper.hpp"
#include "soak/service/server_process.hpp"
#include "soak/service/survey.hpp"

namespace soak {
namespace {

constexpr std::size_t fewest_points = 8;  // required: flatness.hpp

class verdict {
public:
    void failed(const std::string& what, const std::string& why) {
        std::printf("FAILED %s: %s\n", what.c_str(), why.c_str());
        failed_ = true;
    }
    void flat(const std::vector<series>& taken) {
        for (const auto& s : taken) {
            const auto j = judge(s);
            if (j.flat)
                std::printf("flat %s\n", j.words.c_str());
            else
                failed(s.name, j.words);
        }
    }
    void none(const std::string& what, const complaints& c) {
        if (c.count() != 0) failed(what, std::to_string(c.count()) + ", the first: " + c.first());
    }
    int exit_code() const noexcept { return failed_ ? 1 : 0; }

private:
    bool failed_ = false;
};

/// All parties of the load, each with a seed of its own.
void start_load(weft::scope& load, const plan& p, const service (&services)[2], gate& g, findings& f, trouble& t) {
    std::mt19937_64 seeds(p.seed);
    for (const auto& s : services) {
        for (unsigned i = 0; i < p.clients; ++i)
            load.spawn({.name = "client"}, [&p, &s, &g, &f, seed = seeds(), name = s.name + std::to_string(i)] {
                client(p, s, name, seed, f).run(g);
            });
        for (unsigned i = 0; i < p.slow_clients; ++i) {
            load.spawn({.name = "trickle"}, [&p, &s, &g, &f, seed = seeds()] { trickle(p, s, seed, g, f); });
            load.spawn({.name = "never read"}, [&p, &s, &g, &f, seed = seeds()] { never_read(p, s, seed, g, f); });
        }
        for (unsigned i = 0; i < p.idlers; ++i)
            load.spawn({.name = "idle"}, [&p, &s, &g, &f, seed = seeds()] { idle(p, s, seed, g, f); });
        load.spawn({.name = "flood"}, [&p, &s, &g, &f, &t, seed = seeds()] { flood(p, s, seed, g, f, t); });
        load.spawn({.name = "hogs"}, [&p, &s, &g, &f, seed = seeds()] { ask_for_hogs(p, s, seed, g, f); });
    }
}

void look_in_peace(gate& g, redis_keeper& redis, survey& figures) {
    redis.spare();
    g.shut();
    figures.take_quiet_point();
    redis.shorten_file();
    g.open();
    redis.harm();
}

void load_and_look(const plan& p, const service (&services)[2], redis_keeper& redis, survey& figures, findings& f, trouble& t) {
    gate g;
    weft::with_scope([&](weft::scope& load) {
        const auto table = weft::spawn({.name = "table"}, [&] {
            for (;;) weft::this_fiber::sleep_for(p.report_gap()), figures.print_line();
        });
        start_load(load, p, services, g, f, t);
        figures.let_hogs_compute(true);
        redis.harm();
        while (figures.seconds() < static_cast<double>(p.length.count()) || figures.points() < fewest_points) {
            weft::this_fiber::sleep_for(p.between_quiet_points());
            if (p.until_found && f.wrong.count() != 0 && f.reports.count() != 0) break;
            look_in_peace(g, redis, figures);
        }
        redis.spare();
        g.shut();
        g.end();
    });
    figures.print_line();
}

/// Whether a child is left, or a grandchild whose parent has gone.
bool somebody_is_left() { return ::waitpid(-1, nullptr, WNOHANG) >= 0; }

void print_totals(const server_process& server, const findings& f, const survey& figures) {
    const auto number = [](const std::atomic<std::uint64_t>& of) { return static_cast<unsigned long long>(of.load()); };
    const auto& lines = server.lines();
    std::printf("%zu quiet points; %llu answers, %llu on cold connections (up to %llu at once), %llu hogs asked for\n",
                figures.points(), number(f.n.requests), number(f.n.cold), number(f.n.most_asleep), number(f.n.hogs));
    std::printf(
        "lines expected: %llu of hogs, %llu of connections that wait in SQLite, %llu that an instrumented build makes slow, "
        "%llu of accept, %llu of clients that never read, %llu of failing Redis\n",
        number(lines.hogs), number(lines.locks), number(lines.slow), number(lines.accepts), number(lines.unread),
        number(lines.failures));
}

int soak_it(const plan& p) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    weft::io::raise_descriptor_limit();
    std::printf("soak of the users service for %lld s, seed %llu\n", static_cast<long long>(p.length.count()),
                static_cast<unsigned long long>(p.seed));
    const weft::test::temporary_folder folder;
    verdict v;
    findings found;
    trouble times(p.aftermath);
    {
        redis_keeper redis(p, folder / "", times, found.n);
        server_process server(p, redis.url(), folder / "users.db", times, found);
        const service services[2] = {{"redis", server.redis_port(), &times}, {"sqlite", server.sqlite_port(), nullptr}};
        std::vector<series> taken;
        weft::run([&] {
            survey figures(p, server, found);
            load_and_look(p, services, redis, figures, found, times);
            taken = figures.taken();
            print_totals(server, found, figures);
        });
        if (!p.until_found) v.flat(taken);
        if (const auto bad_end = server.end(p.patience_at_end())) v.failed("end", *bad_end);
    }
    if (!p.until_found && (found.n.cold == 0 || found.n.most_asleep == 0))
        v.failed("cold connections", "none was asked, so this has shown nothing of them");
    v.none("answers", found.wrong);
    v.none("reports", found.reports);
    if (somebody_is_left()) v.failed("processes", "somebody is left");
    std::printf("%s\n", v.exit_code() == 0 ? "sound" : "not sound");
    return v.exit_code();
}

}  // namespace
}  // namespace soak

int main(int argc, char** argv) {
    CLI::App program("Soaks the users service", "service_soak");
    soak::plan p;
    p.seed = std::random_device{}();
    double minutes = 0;
    long seconds = 20;
    program.add_option("server", p.server, "the program service_soak_server")->required();
    program.add_option("--minutes", minutes, "how long");
    program.add_option("--seconds", seconds, "how long, if no minutes are given")->capture_default_str();
    program.add_option("--seed", p.seed, "repeats the choices of a run, not its interleaving");
    program.add_option("--fault", p.fault,
                       "planted in the server, which the verdict must name; several with commas between them");
    program.add_flag("--until-found", p.until_found, "ends after a wrong answer and an unexpected line, and judges no figures");
    program.add_option("--every", p.every, "operations between two such faults")->capture_default_str();
    CLI11_PARSE(program, argc, argv);
    p.length = std::chrono::seconds(minutes > 0 ? static_cast<long>(minutes * 60) : seconds);
    try {
        return soak::soak_it(p);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "service_soak: %s\n", failure.what());
        return 2;
    }
}
