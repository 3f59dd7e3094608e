#include "support/stop_matrix.hpp"

#include <stdexcept>

#include <weft/actor.hpp>

using namespace std::chrono_literals;

namespace weft::test::matrix {

namespace {

std::string name(cause c) { return c == cause::stop ? "stop" : "deadline"; }
std::string name(moment m) { return m == moment::before ? "before" : m == moment::during ? "during" : "after"; }
std::string name(place p) { return p == place::fiber ? "a_fiber" : p == place::actor ? "an_actor" : "a_thread"; }
std::string name(protection p) { return p == protection::none ? "bare" : p == protection::shield ? "shielded" : "unwinding"; }

/// A plain thread is stopped by nobody.
bool is_meaningful(const row& r) {
    if (r.expected() == outcome::untried) return false;
    if (r.where == place::thread && r.why == cause::stop) return false;
    return r.point.waits == park_point::waits::yes || r.when != moment::during;
}

}  // namespace

outcome row::expected() const {
    return where == place::fiber ? point.on_fiber : where == place::actor ? point.on_actor : point.on_thread;
}

bool row::interrupts() const {
    switch (expected()) {
        case outcome::throws:
        case outcome::throws_late: return when != moment::after;
        case outcome::on_entry_only: return when == moment::before;
        case outcome::never:
        case outcome::untried: break;
    }
    return false;
}

std::string name_of(const row& r) { return name(r.why) + "_" + name(r.when) + "_" + r.point.name + "_on_" + name(r.where); }

void PrintTo(const row& r, std::ostream* out) { *out << name_of(r); }

std::vector<row> rows_of(const std::vector<park_point>& points) {
    std::vector<row> all;
    for (const auto& p : points)
        for (const auto where : {place::fiber, place::actor, place::thread})
            for (const auto why : {cause::stop, cause::deadline})
                for (const auto when : {moment::before, moment::during, moment::after})
                    if (const row r{p, where, why, when}; is_meaningful(r)) all.push_back(r);
    return all;
}

scene::scene(const row& r, protection p, unsigned workers, std::chrono::nanoseconds late)
    : row_(r), protection_(p), workers_(workers), late_(late) {}

std::chrono::nanoseconds scene::delay() const {
    return expect_interruption() && row_.expected() == outcome::throws ? std::chrono::nanoseconds(1h) : late_ / 5;
}

void scene::reported(const std::error_code& error) const {
    if (error != std::errc::operation_canceled && error != std::errc::timed_out) {
        EXPECT_FALSE(error) << error.message();
        return;
    }
    EXPECT_EQ(error, row_.why == cause::stop ? std::errc::operation_canceled : std::errc::timed_out);
    throw cancelled();
}

bool scene::play() {
    const auto start = clock::now();
    switch (row_.where) {
        case place::fiber: play_on_a_fiber(); break;
        case place::actor: play_on_an_actor(); break;
        case place::thread: std::thread([&] { expect_its_exception([&] { act(); }); }).join(); break;
    }
    const bool came_after_the_wait = passed_ && expect_interruption() && row_.when == moment::during;
    // A deadline that is over before the wait has begun, since the machine is busy.
    const bool came_before_the_wait = !passed_ && !expect_interruption() && row_.when == moment::during;
    if (too_late_ || came_after_the_wait || came_before_the_wait) return false;
    EXPECT_EQ(passed_, !expect_interruption());
    EXPECT_LT(clock::now() - start, 10s);
    return true;
}

void scene::play_on_a_fiber() {
    watched_runtime rt(workers_);
    auto f = rt.spawn([&] { act(); });
    if (row_.why == cause::stop) stop([&] { f.request_stop(); });
    if (row_.why == cause::stop)
        EXPECT_THROW(f.join(), fiber_cancelled);
    else
        EXPECT_THROW(f.join(), timeout_error);
}

void scene::play_on_an_actor() {
    watched_runtime rt(workers_);
    std::exception_ptr thrown;
    const auto body = [&](mailbox<int>&) {
        try {
            act();
        } catch (...) {
            thrown = std::current_exception();
        }
    };
    const auto party = spawn_actor<int>(rt, {.name = "party"}, body);
    if (row_.why == cause::stop) stop([&] { party.kill(); });
    party.monitor().receive();
    expect_its_exception([&] {
        if (thrown) std::rethrow_exception(thrown);
    });
}

void scene::act() {
    if (row_.why == cause::stop) return act_inside();
    const auto soon = row_.when == moment::before ? -1s : row_.when == moment::during ? 3ms : late_;
    deadline_ = clock::now() + soon;
    with_deadline(deadline_, [this] { act_inside(); });
}

void scene::act_inside() {
    if (row_.when == moment::before) let_it_come();
    switch (protection_) {
        case protection::none: park(); break;
        case protection::shield: {
            const shield none;
            park();
            break;
        }
        case protection::unwinding: park_while_unwinding(); break;
    }
    passed_ = true;
    if (row_.when != moment::before) let_it_come();
    this_fiber::yield();  // level-triggered: the next one is interrupted
}

void scene::park() {
    try {
        row_.point.park(*this);
    } catch (const cancelled&) {
        too_late_ = is_late();
        throw;
    }
    too_late_ = is_late();
}

void scene::park_while_unwinding() {
    struct parks_when_destroyed {
        scene& of;
        ~parks_when_destroyed() { of.park(); }
    };
    try {
        const parks_when_destroyed guard{*this};
        throw std::runtime_error("unwinds");
    } catch (const std::runtime_error&) {}
}

void scene::let_it_come() {
    const shield until_it_has_come;
    ready_ = true;
    if (row_.why == cause::deadline)
        this_fiber::sleep_until(deadline_);
    else
        while (!stopped_) this_fiber::sleep_for(50us);
}

void scene::stop(const std::function<void()>& request) {
    if (row_.when == moment::during) {
        ASSERT_TRUE(eventually([&] { return about_to_wait_.load(); }));
        std::this_thread::sleep_for(2ms);  // it waits by now, most likely; if not, this is one more of `before`
    } else {
        ASSERT_TRUE(eventually([&] { return ready_.load(); }));
    }
    request();
    stopped_ = true;
}

template <class F>
void scene::expect_its_exception(F&& f) {
    if (row_.why == cause::stop)
        EXPECT_THROW(f(), cancelled);
    else
        EXPECT_THROW(f(), timeout_error);
}

void interruption::check() {
    for (const auto p : {protection::none, protection::shield, protection::unwinding})
        for (const unsigned workers : {1u, 2u}) {
            if (GetParam().where == place::thread && workers != 1) continue;
            SCOPED_TRACE(name(p) + ", " + std::to_string(workers) + " workers");
            constexpr auto enough = 1min;  // chosen: no machine is that slow, and a wait that does not end is found
            for (std::chrono::nanoseconds late = 40ms;; late *= 4) {
                scene s(GetParam(), p, workers, late);
                if (s.play()) break;
                ASSERT_LT(late, enough);
            }
        }
}

}  // namespace weft::test::matrix
