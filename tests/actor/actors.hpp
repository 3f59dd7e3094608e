// actors.hpp - small actors and helpers that the tests of actors share.
#pragma once

#include <weft/actor.hpp>
#include <weft/deadline.hpp>
#include <weft/scope.hpp>
#include <weft/select.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"
#include "support/random.hpp"
#include "support/scale.hpp"

using namespace std::chrono_literals;

namespace weft::test {

/// The actor of the documentation.
class account {
public:
    struct deposit {
        int cents;
    };
    struct balance {
        using reply = int;
    };
    struct fail {
        std::string why;
    };

    explicit account(int cents) : cents_(cents) {}
    void handle(deposit d) { cents_ += d.cents; }
    int handle(balance) const { return cents_; }
    void handle(const fail& f) { throw std::runtime_error(f.why); }

private:
    int cents_;
};

/// Runs what it is sent.
struct worker {
    using task = std::function<void()>;
    void handle(const task& t) { t(); }
};

inline void run_on(const actor_ref<worker>& w, std::function<void()> f) { w.send(worker::task(std::move(f))); }

/// Dead letters while alive.
class dead_letter_log {
public:
    dead_letter_log()
        : before_(on_dead_letter([this](const dead_letter& l) {
              const std::lock_guard guard(lock_);
              seen_.push_back(std::string(l.actor) + (l.why == dead_letter::cause::actor_gone ? " gone" : " no room"));
          })) {}
    ~dead_letter_log() { on_dead_letter(before_); }

    std::vector<std::string> seen() {
        const std::lock_guard guard(lock_);
        return seen_;
    }

private:
    std::mutex lock_;
    std::vector<std::string> seen_;
    std::function<void(const dead_letter&)> before_;
};

/// What a monitor says, in words.
inline std::string end_of(const receiver<exit_reason>& monitor) {
    exit_reason why;
    if (monitor.receive_for(why, 10s) != channel_op::done) return "no reason";
    return why.what();
}

/// Text of the E that f throws.
template <class E>
std::string thrown_by(const std::function<void()>& f) {
    try {
        f();
    } catch (const E& e) {
        return e.what();
    }
    return "nothing thrown";
}

/// A gate that test bodies stand at; any thread opens it.
struct gate {
    weft::channel<int> way{unbounded};
    void open() { way.close(); }
    void pass() { way.receive(); }
};

/// Takes back what a runtime reports.
class actors : public on_workers {
private:
    std::mutex lock_;
    std::vector<std::string> reported_;

protected:
    std::vector<std::string> reported() {
        const std::lock_guard guard(lock_);
        return reported_;
    }

    watched_runtime rt{{.workers = GetParam(), .on_unhandled = [this](const fiber_info&, const std::exception_ptr& e) {
                            const std::lock_guard guard(lock_);
                            reported_.push_back(exit_reason{.kind = exit_kind::failed, .failure = e}.what());
                        }}};

    /// No fiber but the caller's is left; in a body of rt.run().
    void expect_no_fibers() {
        EXPECT_TRUE(eventually_here([&] { return rt.stats().fibers == 1; })) << rt.stats().fibers;
    }
};

}  // namespace weft::test
