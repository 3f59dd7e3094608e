// contract.hpp - what every client library that was written for threads must do in fibers.
//
// Each is tried against a real server of the test's own. A client is a type with
//   server                      starts one in its constructor; kill(), start(); is_hooked_as: a part of the
//                               library's file name
//   connection(server const&)   an open connection, or call_failed
//   connection::echo(long number, string_view text)
//                               asks the server for "number text", and returns its answer
//   connection::refusal(long number)
//                               asks for what the server refuses, and returns what it says
//   refusal_of(long number)     what it must say, at least
//   connection::wait_long()     asks for what takes the server a minute
//   interruption(int error)     what the library says, at least, of a wait that has ended with this errno
#pragma once

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <weft/deadline.hpp>
#include <weft/hooks.hpp>
#include <weft/latch.hpp>
#include <weft/runtime.hpp>

#include "clients/support/client_runtime.hpp"
#include "clients/support/server_process.hpp"
#include "soak/support/flatness.hpp"
#include "support/eventually.hpp"
#include "support/lasting_children.hpp"
#include "support/no_leaks.hpp"
#include "support/random.hpp"
#include "support/thread_looks.hpp"

namespace weft::test {

inline constexpr int client_fibers = 100;

inline long from_environment(const char* name, long otherwise) {
    const char* const text = std::getenv(name);
    return text && *text ? std::atol(text) : otherwise;
}

/// How long the soak is, in calls or, if that is set, in seconds.
inline long soak_calls() { return from_environment("WEFT_CLIENTS_CALLS", 10'000); }
inline std::chrono::seconds soak_time() { return std::chrono::seconds(from_environment("WEFT_CLIENTS_SECONDS", 0)); }
inline int soak_fibers() { return static_cast<int>(from_environment("WEFT_CLIENTS_FIBERS", client_fibers)); }

/// Text of any length up to 256 KiB, mostly short, that differs from place to place.
class texts {
public:
    explicit texts(std::minstd_rand random) : all_(2 * longest, ' ') {
        for (char& c : all_) c = static_cast<char>('a' + below(random, 26));
    }
    std::string_view any(std::minstd_rand& random) const {
        const unsigned most = below(random, 50) == 0 ? longest : below(random, 8) == 0 ? 16'384 : 200;
        return std::string_view(all_).substr(below(random, longest), below(random, most));
    }

private:
    static constexpr unsigned longest = 1u << 18;
    std::string all_;
};

/// Which thread of the kernel runs the caller, which is another one behind every park that moves the fiber.
[[gnu::noinline]] inline pid_t kernel_thread() { return ::gettid(); }

/// Memory, descriptors and threads of the process, taken from time to time while a soak lasts, and judged at
/// its end.
class flat_figures {
public:
    void take() {
        const double now = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
        long pages = 0, resident = 0;
        std::ifstream("/proc/self/statm") >> pages >> resident;
        const std::array<double, 3> values{static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1024,
                                           static_cast<double>(open_descriptors().size()), static_cast<double>(threads_alive())};
        for (std::size_t i = 0; i < values.size(); ++i) figures_[i].points.push_back({now, values[i]});
    }
    /// A run of less than a minute is too short to tell.
    void expect_flat() const {
        if (figures_[0].points.size() < 60) return;
        for (const auto& each : figures_) {
            const auto found = soak::judge(each);
            std::printf("%s\n", found.words.c_str());
            EXPECT_TRUE(found.flat) << found.words;
        }
    }

private:
    const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
    // malloc's arenas, one for each of some threads, grow to their sizes for some minutes: +11 MiB in the
    // second and third (measured). While the machine is busy with others, many calls are handed off at once,
    // each with a thread.
    std::array<soak::series, 3> figures_{
        soak::series{.name = "memory", .unit = " KiB", .least_allowance = 16384, .allowed_share = 0.2, .points = {}},
        {.name = "descriptors", .unit = "", .least_allowance = 40, .points = {}},
        {.name = "threads", .unit = "", .least_allowance = 8, .points = {}, .has_bursts = true}};
};

template <class Client>
class clients : public testing::Test {
protected:
    ~clients() override {
        EXPECT_EQ(open_descriptors(), descriptors_) << "a descriptor survives";
        EXPECT_TRUE(eventually([&] { return threads_alive() <= threads_ + 1; })) << threads_alive() << " threads survive";
    }

    /// One call with a checked answer, one in ten of them refused.
    static void call(typename Client::connection& to, std::minstd_rand& random, const texts& from) {
        const long number = below(random, 1'000'000'000);
        if (below(random, 10) == 0) {
            const std::string said = to.refusal(number);
            EXPECT_NE(said.find(Client::refusal_of(number)), std::string::npos) << said;
            return;
        }
        const std::string_view text = from.any(random);
        const std::string answer = to.echo(number, text), expected = std::to_string(number) + ' ' + std::string(text);
        EXPECT_TRUE(answer == expected) << answer.substr(0, 100) << " instead of " << expected.substr(0, 100) << "; "
                                        << answer.size() << " and " << expected.size() << " bytes";
    }
    /// \returns the message with which f fails.
    template <class F>
    static std::string failure_of(F f) {
        try {
            f();
        } catch (const call_failed& failure) {
            return failure.what();
        }
        ADD_FAILURE() << "it does not fail";
        return {};
    }
    static std::string fails_in_a_long_call(typename Client::connection& c) {
        return failure_of([&] { c.wait_long(); });
    }
    template <class F>
    static std::vector<fiber<>> in_fibers(runtime& rt, F f, int n = client_fibers) {
        std::vector<fiber<>> all;
        for (int i = 0; i < n; ++i) all.push_back(rt.spawn({.as_thread = true}, [f, i] { f(i); }));
        return all;
    }
    static void join(std::vector<fiber<>>& all) {
        for (auto& each : all) each.join();
    }
    static bool waits_in_a_hooked_call(const runtime& rt, fiber_id who) {
        bool found = false;
        rt.for_each_fiber([&](const fiber_info& f) { found |= f.id == who && f.waits_for.starts_with("hooked"); });
        return found;
    }

    const std::set<std::string> descriptors_ = open_descriptors();
    // Its thread is counted below.
    const starter_of_children& starter_ = starter_of_children::of_this_process();
    const unsigned threads_ = threads_alive_at_first();
    const watchdog watchdog_{std::chrono::seconds(from_environment("WEFT_CLIENTS_PATIENCE", 110))};
    const seed seed_;
    const texts texts_{seed_.of(1'000'000)};  // no fiber's number
};
TYPED_TEST_SUITE_P(clients);

TYPED_TEST_P(clients, every_answer_is_right_soak) {
    using connection = typename TypeParam::connection;
    typename TypeParam::server server;
    std::atomic<long> left{soak_calls()}, made{0}, moves{0}, connections{0}, looks{0}, wrong{0};
    const auto until = std::chrono::steady_clock::now() + soak_time();
    const auto goes_on = [&] {
        if (soak_time().count() > 0) return std::chrono::steady_clock::now() < until;
        return left.fetch_sub(1) > 0;
    };

    watched_runtime rt(client_runtime());
    EXPECT_TRUE(hooks::active());
    auto fibers = this->in_fibers(
        rt,
        [&](int i) {
            auto random = this->seed_.of(static_cast<std::uint64_t>(i));
            thread_looks state(i + 1);
            while (goes_on()) {
                connection c(server);
                ++connections;
                long calls = 50 + below(random, 200);
                do {
                    const pid_t before = kernel_thread();
                    this->call(c, random, this->texts_);
                    ++made;
                    if (kernel_thread() != before) ++moves;
                    looks += thread_looks::looks;
                    wrong += state.count_wrong();
                } while (--calls > 0 && !this->HasFailure() && goes_on());
                if (this->HasFailure()) return;
            }
        },
        soak_fibers());
    flat_figures figures;
    for (auto& each : fibers)
        while (!each.join_for(std::chrono::seconds(1))) figures.take();
    this->join(fibers);
    figures.expect_flat();

    const auto stats = rt.stats();
    std::printf("%ld looks at the state of a thread by %d fibers, %ld wrong\n", looks.load(), soak_fibers(), wrong.load());
    EXPECT_EQ(wrong, 0) << "looks have found another thread's state";
    std::printf("%ld calls on %ld connections, %ld of them moved; %llu parks, %llu hand-offs (%llu blocked), %u carriers\n",
                made.load(), connections.load(), moves.load(), static_cast<unsigned long long>(stats.parks),
                static_cast<unsigned long long>(stats.hand_offs), static_cast<unsigned long long>(stats.blocked), stats.carriers);
    EXPECT_GT(moves, made / 100) << "hardly any call has parked";
    std::uint64_t parks = 0;
    for (const auto& each : hooks::report())
        if (each.object_file.find(TypeParam::library) != std::string::npos) parks += each.parks;
    EXPECT_GT(parks, static_cast<std::uint64_t>(made / 100)) << "of " << TypeParam::library;
}

TYPED_TEST_P(clients, a_server_that_is_killed_fails_each_call_and_serves_again_when_restarted) {
    using connection = typename TypeParam::connection;
    typename TypeParam::server server;
    watched_runtime rt(client_runtime());

    latch asked(client_fibers);
    auto fibers = this->in_fibers(rt, [&](int i) {
        auto random = this->seed_.of(static_cast<std::uint64_t>(i));
        connection c(server);
        this->call(c, random, this->texts_);
        asked.count_down();
        const std::string said = i % 2 ? this->fails_in_a_long_call(c) : this->failure_of([&] {
            for (;;) this->call(c, random, this->texts_);
        });
        EXPECT_NE(said, "");
    });
    asked.wait();
    server.kill();
    this->join(fibers);

    auto refused = this->in_fibers(rt, [&](int) { EXPECT_NE(this->failure_of([&] { connection c(server); }), ""); });
    this->join(refused);

    server.start();
    auto again = this->in_fibers(rt, [&](int i) {
        auto random = this->seed_.of(static_cast<std::uint64_t>(i));
        connection c(server);
        for (int n = 0; n < 5; ++n) this->call(c, random, this->texts_);
    });
    this->join(again);
}

TYPED_TEST_P(clients, a_stop_ends_a_call) {
    using connection = typename TypeParam::connection;
    typename TypeParam::server server;
    watched_runtime rt(client_runtime());

    latch connected(1);
    auto waiting = rt.spawn({.as_thread = true}, [&] {
        connection c(server);
        connected.count_down();
        const std::string said = this->fails_in_a_long_call(c);
        EXPECT_NE(said.find(TypeParam::interruption(ECANCELED)), std::string::npos) << said;
        EXPECT_THROW(this_fiber::yield(), cancelled) << "the stop is still there for weft's own calls";
    });
    connected.wait();
    const fiber_id who = waiting.id();
    EXPECT_TRUE(eventually([&] { return this->waits_in_a_hooked_call(rt, who); }));
    waiting.request_stop();
    waiting.join();

    auto next = this->in_fibers(
        rt,
        [&](int) {
            auto random = this->seed_.of(0);
            connection c(server);
            this->call(c, random, this->texts_);
        },
        1);
    this->join(next);
}

TYPED_TEST_P(clients, a_deadline_ends_a_call) {
    using connection = typename TypeParam::connection;
    typename TypeParam::server server;
    watched_runtime rt(client_runtime());

    auto fibers = this->in_fibers(rt, [&](int i) {
        auto random = this->seed_.of(static_cast<std::uint64_t>(i));
        {
            connection c(server);
            this->call(c, random, this->texts_);
            const std::string said =
                with_timeout(std::chrono::milliseconds(50 + i), [&] { return this->fails_in_a_long_call(c); });
            EXPECT_NE(said.find(TypeParam::interruption(ETIMEDOUT)), std::string::npos) << said;
        }
        connection c(server);
        this->call(c, random, this->texts_);
    });
    this->join(fibers);
}

REGISTER_TYPED_TEST_SUITE_P(clients, every_answer_is_right_soak,
                            a_server_that_is_killed_fails_each_call_and_serves_again_when_restarted, a_stop_ends_a_call,
                            a_deadline_ends_a_call);

#ifdef WEFT_CLIENTS_EXAMPLE
/// examples/clients asks this server.
inline void expect_example_to_ask(const std::string& url) {
    const working_folder folder(run_as::the_same_user);
    const std::string said =
        run_program({WEFT_CLIENTS_EXAMPLE, url, "--fibers", "30", "--calls", "300", "--limit", "60000"}, folder / "log");
    EXPECT_NE(said.find("300 right answers, 0 failures"), std::string::npos) << said;
}
#endif

}  // namespace weft::test
