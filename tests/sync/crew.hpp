// crew.hpp - runs the parties of a test as fibers or as plain threads, and says who hangs instead of hanging with them.
#pragma once

#include <weft/runtime.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

enum class party { fiber, thread };

/// Who stands on the two sides of an object, and how many workers run the fibers.
struct setting {
    party left;
    party right;
    unsigned workers;
};

inline std::string name_of(const setting& s) {
    const auto name = [](party p) { return p == party::fiber ? "fiber" : "thread"; };
    return std::string(name(s.left)) + "_" + name(s.right) + "_" + std::to_string(s.workers);
}

inline void PrintTo(const setting& s, std::ostream* out) { *out << name_of(s); }

inline std::vector<setting> all_settings() {
    std::vector<setting> all{{party::thread, party::thread, 1}};
    for (const unsigned workers : {1u, 2u, 4u, 8u}) {
        all.push_back({party::fiber, party::fiber, workers});
        all.push_back({party::fiber, party::thread, workers});
        all.push_back({party::thread, party::fiber, workers});
    }
    return all;
}

class crew {
public:
    explicit crew(unsigned workers = 2) : runtime_({.workers = workers}) {}
    crew(const crew&) = delete;
    crew& operator=(const crew&) = delete;
    ~crew() { finish(); }

    weft::runtime& runtime() noexcept { return runtime_; }

    /// A failure of f is reported by finish(); `cancelled` is none.
    template <class F>
    void start(party p, F f) {
        ++running_;
        auto body = [this, f = std::move(f)]() mutable {
            try {
                f();
            } catch (const weft::cancelled&) {
            } catch (...) {
                const std::scoped_lock guard(failures_lock_);
                failures_.push_back(std::current_exception());
            }
            --running_;
        };
        if (p == party::thread)
            threads_.emplace_back(std::move(body));
        else
            fibers_.push_back(runtime_.spawn({.name = "party"}, std::move(body)));
    }

    /// Waits for all; a party that hangs stops the program with a list of who waits for what.
    void finish() {
        const auto patience = std::chrono::steady_clock::now() + 60s;
        while (running_ != 0) {
            if (std::chrono::steady_clock::now() > patience) report_hang();
            std::this_thread::sleep_for(200us);
        }
        for (auto& t : threads_) t.join();
        for (auto& f : fibers_) f.join();
        threads_.clear();
        fibers_.clear();
        for (const auto& failure : std::exchange(failures_, {})) {
            try {
                std::rethrow_exception(failure);
            } catch (const std::exception& e) { ADD_FAILURE() << "a party failed: " << e.what(); } catch (...) {
                ADD_FAILURE() << "a party failed";
            }
        }
    }

private:
    void report_hang() {
        runtime_.for_each_fiber([](const weft::fiber_info& f) {
            std::fprintf(stderr, "fiber %llu %.*s: %.*s, waits for %.*s\n", static_cast<unsigned long long>(f.id.value),
                         static_cast<int>(f.name.size()), f.name.data(), static_cast<int>(f.state.size()), f.state.data(),
                         static_cast<int>(f.waits_for.size()), f.waits_for.data());
        });
        std::fprintf(stderr, "%d parties hang\n", running_.load());
        std::abort();
    }

    std::atomic<int> running_{0};
    std::mutex failures_lock_;
    std::vector<std::exception_ptr> failures_;
    weft::runtime runtime_;
    std::vector<std::thread> threads_;
    std::vector<weft::fiber<void>> fibers_;
};

/// Asks all to stop, some of them early, and waits for them; that they were stopped is no failure.
template <class Random>
void stop_in_any_order(std::vector<weft::fiber<void>>& crowd, Random& random) {
    for (std::size_t i = 0; i < crowd.size(); ++i) crowd[random() % crowd.size()].request_stop();
    for (auto& f : crowd) f.request_stop();
    for (auto& f : crowd) {
        try {
            f.join();
        } catch (const weft::fiber_cancelled&) {}
    }
}

/// From a plain thread: polls until the condition holds. \returns whether it did within ten seconds.
inline bool eventually(const std::function<bool()>& holds) {
    const auto patience = std::chrono::steady_clock::now() + 10s;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > patience) return false;
        std::this_thread::sleep_for(50us);
    }
    return true;
}

/// How many fibers wait for the given reason now.
inline int waiting_for(weft::runtime& rt, std::string_view reason) {
    int n = 0;
    rt.for_each_fiber([&](const weft::fiber_info& f) { n += f.waits_for == reason && f.state == "waiting"; });
    return n;
}

inline bool eventually_wait_for(weft::runtime& rt, std::string_view reason, int n) {
    return eventually([&] { return waiting_for(rt, reason) == n; });
}
