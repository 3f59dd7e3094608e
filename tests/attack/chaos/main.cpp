// main.cpp - rounds of the chaos: a runtime, hundreds of fibers with random operations, stops from fibers and threads, and the sums.
//
// attack_chaos [--seconds N] [--workers N] [--seed N] [--storm] [--end WAY]
#include <CLI/CLI.hpp>

#include <cstdio>
#include <optional>

#include "attack/chaos/disturbance.hpp"

using namespace std::chrono_literals;

namespace weft::attack {
namespace {

struct settings {
    double seconds = 5;
    unsigned workers = 2;
    std::uint64_t seed = 1;
    bool storm = false;
    int end = -1;
};

struct totals {
    long rounds = 0;
    long fibers = 0;
    long operations = 0;
    long dumps = 0;
    std::vector<std::string> faults;
};

void stop_some(std::vector<fiber<>>& all, dice& d) {
    for (int i = 0; i < 60; ++i) all[d.below(static_cast<unsigned>(all.size()))].request_stop();
}

priority any_priority(dice& d) { return d.one_in(5) ? priority::low : d.one_in(5) ? priority::high : priority::normal; }

void spawn_waves(world& w, dice& d, std::vector<fiber<>>& all) {
    for (int wave = 0; wave < 5; ++wave) {
        for (int i = 0; i < 200; ++i)
            all.push_back(spawn({.priority = any_priority(d)}, [&w] {
                dice own(++w.parties);
                act(w, own, 0);
            }));
        stop_some(all, d);
        this_fiber::sleep_for(d.up_to(3000));
        std::thread other([&] {
            dice own(++w.parties);
            stop_some(all, own);
        });
        blocking([&] { other.join(); });
    }
}

/// Those that wait for what nobody sends any more are stopped.
void end_all(std::vector<fiber<>>& all) {
    bool stopped = false;
    for (auto& f : all) {
        if (!stopped && !f.join_for(300ms)) {
            stopped = true;
            for (auto& each : all) each.request_stop();
        }
        try {
            f.join();
        } catch (const cancelled&) {
        } catch (const std::exception&) {}
    }
}

class plain_threads {
public:
    explicit plain_threads(world& w) {
        for (auto& t : threads_)
            t = std::thread([this, &w] {
                dice d(++w.parties);
                while (!over_) act_as_thread(w, d);
            });
    }
    ~plain_threads() {
        over_ = true;
        blocking([&] {
            for (auto& t : threads_) t.join();
        });
    }

private:
    std::atomic<bool> over_{false};
    std::array<std::thread, 2> threads_;
};

void one_round(totals& t, dice& d) {
    world w;
    {
        auto server = spawn([&] { serve(w); });
        std::vector<fiber<>> all;
        {
            const plain_threads beside(w);
            spawn_waves(w, d, all);
            end_all(all);
        }
        server.request_stop();
        try {
            server.join();
        } catch (const cancelled&) {
        } catch (const std::exception&) {}
        t.fibers += static_cast<long>(all.size());
    }
    t.operations += w.operations;
    for (auto& fault : w.faults()) t.faults.push_back("round " + std::to_string(t.rounds) + ": " + fault);
    ++t.rounds;
}

runtime_options options_for(const settings& s) {
    return {.workers = s.workers,
            .time_slice = 2ms,
            .on_hog = [](const hog_report&) {},
            .on_deadlock = [](const deadlock&) {},
            .on_unhandled = [](const fiber_info&, std::exception_ptr) {}};
}

totals run_rounds(const settings& s) {
    totals t;
    dice d(0);
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(s.seconds);
    do {
        runtime rt(options_for(s));
        if (s.end >= 0) end_soon(rt, s.end, d.up_to(80'000));
        std::optional<observer> watching;
        if (s.storm) watching.emplace(rt);
        rt.run([&] { one_round(t, d); });
        if (watching) t.dumps += watching->dumps();
    } while (t.faults.empty() && std::chrono::steady_clock::now() < until);
    return t;
}

int tell(const totals& t, const settings& s, long signals) {
    for (const auto& fault : t.faults) std::printf("%s\n", fault.c_str());
    std::printf("chaos: %ld rounds, %ld fibers, %ld operations, %ld signals, %ld dumps (seed %llu, %u workers), %zu wrong\n",
                t.rounds, t.fibers, t.operations, signals, t.dumps, static_cast<unsigned long long>(s.seed), s.workers,
                t.faults.size());
    return t.faults.empty() ? 0 : 1;
}

int run_chaos(const settings& s) {
    ::setenv("WEFT_TEST_SEED", std::to_string(s.seed).c_str(), 1);
    if (!s.storm) return tell(run_rounds(s), s, 0);
    totals t;
    long signals = 0;
    {
        const signal_storm storm;
        t = run_rounds(s);
        signals = storm.taken();
    }
    return tell(t, s, signals);
}

}  // namespace
}  // namespace weft::attack

int main(int argc, char** argv) {
    weft::attack::settings s;
    CLI::App program("Random operations with random stops; counts and permits must add up", "attack_chaos");
    program.add_option("--seconds", s.seconds, "for how long, about (5)");
    program.add_option("--workers", s.workers, "of the runtime (2)");
    program.add_option("--seed", s.seed, "of all choices (1)");
    program.add_flag("--storm", s.storm, "beside signals to any thread, dumps and trimmed stacks");
    program.add_option("--end", s.end, "ends the process with 7 in the middle, in this way")
        ->check(CLI::Range(0, weft::attack::end_count - 1));
    try {
        program.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        if (e.get_exit_code() == 0) return program.exit(e);
        std::fprintf(stderr, "attack_chaos: %s\n", e.what());
        return 2;
    }
    return weft::attack::run_chaos(s);
}
