// stop_matrix.hpp - tries a park point in all ways to be interrupted: by a stop or a deadline that comes before, during or after it, bare,
// under a shield and while an exception unwinds, on a fiber, on an actor's fiber and on a plain thread.
//
// A park point is a function that waits once. The matrix knows from its outcomes what has to come of it, and checks besides that the
// interruption is level-triggered: whatever became of the first park point, the next one throws.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <ostream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <weft/scope.hpp>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"

namespace weft::test::matrix {

enum class cause { stop, deadline };
enum class moment { before, during, after };
enum class protection { none, shield, unwinding };
enum class place { fiber, actor, thread };  ///< actor: a function actor of ints, which is stopped by kill()

enum class outcome {
    throws,  ///< the wait is cut short
    throws_late,  ///< the wait is not cut short, and then it throws
    on_entry_only,  ///< it throws if it is interrupted before
    never,
    untried,  ///< there is no such thing here
};

class scene;

struct park_point {
    std::string name;
    std::function<void(scene&)> park;
    outcome on_fiber = outcome::throws;
    outcome on_thread = outcome::throws;
    outcome on_actor = outcome::untried;
    enum class waits : bool { no, yes } waits = waits::yes;  ///< no: nothing can come during it
};

struct row {
    park_point point;
    place where;
    cause why;
    moment when;

    outcome expected() const;
    bool interrupts() const;
    friend void PrintTo(const row&, std::ostream*);
};

std::string name_of(const row&);
std::vector<row> rows_of(const std::vector<park_point>&);

/// One try: the party under test, and what its park point may use.
class scene {
public:
    scene(const row& r, protection p, unsigned workers, std::chrono::nanoseconds late);

    /// Runs it. \returns false if the machine was so slow that the interruption came too early or too late for this row: that shows
    /// nothing, and is tried again with more time.
    bool play();

    // For park points.

    /// When what is waited for comes: not for long, if the wait is to be cut short.
    std::chrono::nanoseconds delay() const;
    /// Where those live who bring what is waited for.
    runtime& helper() { return helper_; }
    /// The last thing before the wait.
    void about_to_wait() { about_to_wait_ = true; }

    /// signal() comes after delay(), unless wait() has ended before. It may come before the wait
    /// has begun: a signal that the object does not keep is repeated, as in the row
    /// `condition_variable`.
    template <class Signal, class Wait>
    void wait_for_signal(Signal signal, Wait wait) {
        const auto signaller = helper_.spawn([=, this] {
            this_fiber::sleep_for(delay());
            signal();
        });
        about_to_wait();
        wait();
    }

    /// A fiber of the helper's is in the midst of take(), and gives back after delay().
    template <class Take, class GiveBack, class Wait>
    void wait_for_holder(Take take, GiveBack give_back, Wait wait) {
        std::atomic<bool> held{false};
        const auto holder = helper_.spawn([=, this, &held] {
            const shield until_given_back;
            take();
            held = true;
            this_fiber::sleep_for(delay());
            give_back();
        });
        prepare([&] { EXPECT_TRUE(eventually_here([&] { return held.load(); })); });
        about_to_wait();
        wait();
    }

    /// f(), not interrupted.
    template <class F>
    decltype(auto) prepare(F f) {
        const shield while_preparing;
        return f();
    }

    /// An error_code form has ended: if it reports an interruption, it is the right one, and the throwing form would have thrown.
    void reported(const std::error_code&) const;

private:
    bool expect_interruption() const { return protection_ == protection::none && row_.interrupts(); }
    bool is_late() const { return row_.why == cause::deadline && row_.when == moment::after && clock::now() >= deadline_; }
    void act();
    void act_inside();
    void park();
    void park_while_unwinding();
    void let_it_come();
    void play_on_a_fiber();
    void play_on_an_actor();
    void stop(const std::function<void()>& request);
    template <class F>
    void expect_its_exception(F&&);

    using clock = std::chrono::steady_clock;

    const row& row_;
    const protection protection_;
    const unsigned workers_;
    const std::chrono::nanoseconds late_;
    steady_time_point deadline_;
    std::atomic<bool> about_to_wait_{false}, ready_{false}, stopped_{false};
    bool passed_ = false, too_late_ = false;
    watched_runtime helper_{1};
};

/// A test suite of rows says TEST_P(its_name, is_as_documented) { check(); }
class interruption : public no_leaks, public ::testing::WithParamInterface<row> {
protected:
    void check();
};

}  // namespace weft::test::matrix
