// cell_model.cpp - cells as they are shipped, under every schedule: a computed cell never mixes two steps, answers to each step made
// before it is read, and cells that need each other are told so, and only those.
//
//  party        under the graph's lock                            without it
//  set()        numbers the step, stores it, announces it         makes the value; hands it to listeners
//  a computed   takes the next step; links what it reads, waits   runs its function, in a thread of its own until that is stopped
//  cell         for it; publishes, or begins again (CELL_STATE-6)
//  a reader     waits until the steps made so far have arrived    goes on with a version nobody changes
//
// The programs: a setter and a reader around one computed cell (CELL_STATE-2, CELL_STATE-5), a
// diamond (CELL_STATE-3: rule 1 of weft/cell.hpp), two setters, history and listeners
// (CELL_STATE-1, CELL_STATE-4), a circle (DATAFLOW-1), two cells that change places (CELL_STATE-6,
// CELL_STATE-7), a thread that is stopped. What each change of mutants.cmake breaks is at the end.
#include <weft/detail/cell_core.hpp>

#include <weft/stop.hpp>

#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "arch/sanitizer.hpp"
#include "model/primitives.hpp"
#include "sync/cell_state.hpp"

#if WEFT_UNDER_ASAN
#include <sanitizer/lsan_interface.h>
#endif

namespace litmus {
namespace {

using namespace weft::detail;

// Chosen, as those of primitives.hpp: a step of a cell takes a mutex some ten times.
const model::options with_two = {.preemptions = 2, .reorderings = 0, .max_steps = 4'000};
const model::options with_three = {.preemptions = 1, .reorderings = 0, .max_steps = 4'000};

/// The cells of one run, computed in its first threads. What a run that has failed leaves is kept: others may be in it.
class graph {
public:
    explicit graph(model::execution& t) : run_(t) { new (&cell_graph::one()) cell_graph; }
    graph(const graph&) = delete;
    graph& operator=(const graph&) = delete;
    ~graph() {
        if (run_.failed())
            abandoned().push_back(std::move(cells_));
        else
            while (!cells_.empty()) cells_.pop_back();  // rule 6
    }

    cell_core& add(std::size_t history = 1) { return *cells_.emplace_back(std::make_unique<cell_core>(history)); }
    cell_core& add(int value, std::size_t history = 1) {
        auto& c = add(history);
        set(c, value);
        return c;
    }
    /// Takes the next thread.
    template <class F>
    cell_core& compute(F f, std::size_t history = 1) {
        auto& c = add(history);
        compute(c, std::move(f));
        return c;
    }
    template <class F>
    void compute(cell_core& c, F f) {
        c.compute_by([f]() -> cell_value { return std::make_shared<const int>(f()); });
        ++computed_;
        run_.thread([&c] {
            try {
                c.run();
            } catch (const weft::cancelled&) {}
        });
    }
    /// Stops the threads that compute.
    void end() {
        for (unsigned t = 1; t <= computed_; ++t) all_.stop(t);
    }

    static void set(cell_core& c, int value) { c.set(std::make_shared<const int>(value)); }
    static int get(cell_core& c) { return *static_cast<const int*>(c.get().get()); }
    /// \returns  nothing if the cell is in a circle.
    static std::optional<int> get_if_open(cell_core& c) {
        try {
            return get(c);
        } catch (const weft::dataflow_cycle&) {
            return std::nullopt;
        }
    }

private:
    using cells = std::vector<std::unique_ptr<cell_core>>;
    static std::vector<cells>& abandoned() {
        static auto& all = *new std::vector<cells>;
        return all;
    }

    parties all_{parties::stops::some};
    model::execution& run_;
    cells cells_;
    unsigned computed_ = 0;
};

// ---- steps

class heard final : public cell_listener {
public:
    std::vector<int> values;

    bool is_gone() const noexcept override { return false; }
    void push(const void* value, std::size_t) noexcept override {
        calls_.set(calls_.get() + 1);  // two at once are a data race
        values.push_back(*static_cast<const int*>(value));
    }
    void close() noexcept override {}

private:
    plain<int> calls_{0};
};

/// A reader sees what it has set.
model::result one_step(const model::options& o) {
    return model::explore(o, [](model::execution& t) {
        graph g(t);
        auto& x = g.add(1);
        auto& twice = g.compute([&] { return 2 * g.get(x); });
        t.thread([&] {
            g.set(x, 2);
            model::check(g.get(twice) == 4, "CELL_STATE-2: the step has arrived");
            g.end();
        });
        t.join_all();
    });
}
TEST(cell, CELL_STATE_2_a_step_has_arrived_when_it_is_read) { expect_holds(one_step(with_two)); }

/// One cell is computed from another directly and through a third. A second step comes when the first has been read, but for the third.
model::result diamond(int steps, const model::options& o) {
    return model::explore(o, [=](model::execution& t) {
        graph g(t);
        auto& x = g.add(1);
        atomic<int> read{0};
        auto& twice = g.compute([&] { return 2 * g.get(x); });
        auto& both = g.compute([&] {
            const int n = g.get(x);
            read.store(n, release);
            return 100 * n + g.get(twice);
        });
        const auto listener = std::make_shared<heard>();
        both.listen(listener);
        t.thread([&] {
            for (int n = 2; n <= steps + 1; ++n) {
                g.set(x, n);
                while (n <= steps && read.load(acquire) != n) cpu_relax();
            }
            model::check(g.get(both) == 102 * (steps + 1), "CELL_STATE-2: the last step has arrived");
            g.end();
        });
        t.join_all();
        for (const int seen : listener->values) model::check(seen / 100 * 2 == seen % 100, "two steps in one value");
    });
}
TEST(cell, CELL_STATE_2_CELL_STATE_3_no_cell_mixes_two_steps) { expect_holds(diamond(1, with_three)); }
TEST(cell, CELL_STATE_5_a_step_that_was_dropped_is_answered_by_a_later_one) { expect_holds(diamond(2, with_three)); }

model::result two_setters(const model::options& o) {
    return model::explore(o, [](model::execution& t) {
        graph g(t);
        auto& x = g.add(0);
        auto& y = g.add(0);
        auto& sum = g.compute([&] { return g.get(x) + g.get(y); });
        atomic<int> ended{0};
        for (auto* const mine : {&x, &y})
            t.thread([&, mine] {
                const int n = mine == &x ? 1 : 10;
                g.set(*mine, n);
                const int seen = g.get(sum);
                model::check(seen == n || seen == 11, "CELL_STATE-2: at least its own step has arrived");
                if (ended.fetch_add(1, relaxed) == 1) g.end();
            });
        t.join_all();
    });
}
TEST(cell, CELL_STATE_2_two_setters) { expect_holds(two_setters(with_three)); }

TEST(cell, CELL_STATE_2_a_step_at_which_the_function_throws) {
    holds(with_two, [](model::execution& t) {
        graph g(t);
        auto& x = g.add(1);
        auto& inverse = g.compute([&] {
            const int n = g.get(x);
            if (n == 0) throw std::domain_error("none");
            return 10 / n;
        });
        t.thread([&] {
            g.set(x, 0);
            bool threw = false;
            try {
                g.get(inverse);
            } catch (const std::domain_error&) {
                threw = true;
            }
            model::check(threw, "it has arrived as its exception");
            g.set(x, 2);
            model::check(g.get(inverse) == 5, "and the next as its value");
            g.end();
        });
        t.join_all();
    });
}

/// Its thread is stopped; the reader does not wait for ever.
model::result stopped(const model::options& o) {
    return model::explore(o, [](model::execution& t) {
        graph g(t);
        auto& x = g.add(1);
        auto& twice = g.compute([&] { return 2 * g.get(x); });
        t.thread([&] {
            try {
                model::check(g.get(twice) == 2, "its value");
            } catch (const std::future_error&) {}
        });
        t.thread([&] { g.end(); });
        t.join_all();
    });
}
TEST(cell, CELL_STATE_2_the_end_of_a_cell_against_its_reader) { expect_holds(stopped(with_three)); }

// ---- history and listeners

/// Two set one cell with a history of `history`.
model::result listening(std::size_t history, const model::options& o) {
    return model::explore(o, [=](model::execution& t) {
        graph g(t);
        auto& x = g.add(history);
        const auto listener = std::make_shared<heard>();
        x.listen(listener);
        for (const int n : {1, 2}) t.thread([&, n] { g.set(x, n); });
        t.join_all();
        const auto& values = listener->values;
        model::check(!values.empty() && values.back() == g.get(x), "the last one is delivered, and last");
        model::check(history == 1 || values.size() == 2, "CELL_STATE-1: as many as are kept");
    });
}
TEST(cell, CELL_STATE_1_listeners_hear_one_value_after_the_other) {
    for (const std::size_t history : {1u, 2u}) expect_holds(listening(history, two_threads));
}

/// Two steps are kept for the computed cell, which is linked before they come, or between them.
model::result history(bool is_linked_before, const model::options& o) {
    return model::explore(o, [=](model::execution& t) {
        graph g(t);
        auto& x = g.add(1, 3);
        auto& twice = g.compute([&] { return 2 * g.get(x); });
        const auto listener = std::make_shared<heard>();
        t.thread([&] {
            if (is_linked_before) g.get(twice);
            twice.listen(listener);
            g.set(x, 2);
            g.set(x, 3);
            model::check(g.get(twice) == 6, "CELL_STATE-2");
            g.end();
        });
        t.join_all();
        if (is_linked_before) model::check(listener->values == std::vector{4, 6}, "CELL_STATE-4: none is skipped");
    });
}
TEST(cell, CELL_STATE_1_CELL_STATE_4_a_history_goes_on_to_who_is_computed) {
    for (const bool is_linked_before : {true, false}) expect_holds(history(is_linked_before, with_two));
}

// ---- circles

/// Each needs the other. The functions let the exception pass.
model::result circle(const model::options& o) {
    return model::explore(o, [](model::execution& t) {
        graph g(t);
        auto& a = g.add();
        auto& b = g.add();
        g.compute(a, [&] { return g.get(b); });
        g.compute(b, [&] { return g.get(a); });
        t.thread([&] {
            for (auto* const c : {&a, &b}) model::check(!g.get_if_open(*c), "DATAFLOW-1: both are told");
            g.end();
        });
        t.join_all();
    });
}
TEST(cell, DATAFLOW_1_a_circle_is_told) { expect_holds(circle(with_three)); }

TEST(cell, DATAFLOW_1_a_cell_that_needs_itself_is_told) {
    holds(with_two, [](model::execution& t) {
        graph g(t);
        auto& a = g.add();
        g.compute(a, [&] { return g.get(a); });
        t.thread([&] {
            model::check(!g.get_if_open(a), "DATAFLOW-1");
            g.end();
        });
        t.join_all();
    });
}

/// Which of the two is computed from the other changes with each step: there is never a circle at one step.
model::result changing_places(int steps, const model::options& o) {
    return model::explore(o, [=](model::execution& t) {
        graph g(t);
        auto& first = g.add(0);  // the one that needs nobody
        auto& a = g.add();
        auto& b = g.add();
        g.compute(a, [&] { return g.get(first) == 0 ? 10 : g.get(b) + 1; });
        g.compute(b, [&] { return g.get(first) == 1 ? 20 : g.get(a) + 1; });
        t.thread([&] {
            for (int n = 1; n <= steps; ++n) g.set(first, n % 2);
            model::check(g.get_if_open(a) == (steps % 2 == 0 ? 10 : 21), "CELL_STATE-6: no circle");
            model::check(g.get_if_open(b) == (steps % 2 == 0 ? 11 : 20), "CELL_STATE-6: no circle");
            g.end();
        });
        t.join_all();
    });
}
TEST(cell, CELL_STATE_6_CELL_STATE_7_two_that_change_places_are_no_circle) {
    for (const int steps : {1, 2}) expect_holds(changing_places(steps, with_three));
}

TEST(cell, CELL_STATE_6_a_later_step_opens_a_circle) {
    holds(with_three, [](model::execution& t) {
        graph g(t);
        auto& is_circle = g.add(1);
        auto& a = g.add();
        auto& b = g.add();
        g.compute(a, [&] { return g.get(is_circle) ? g.get(b) : 5; });
        g.compute(b, [&] { return g.get(a); });
        t.thread([&] {
            model::check(!g.get_if_open(a), "DATAFLOW-1");
            g.set(is_circle, 0);
            model::check(g.get_if_open(a) == 5 && g.get_if_open(b) == 5, "CELL_STATE-3: both have been told of the step");
            g.end();
        });
        t.join_all();
    });
}

// ---- mutations

TEST(cell, CELL_STATE_1_breaks_when_two_deliver_at_once) {
#if WEFT_UNDER_ASAN
    const __lsan::ScopedDisabler lost;  // two write one vector until that is found
#endif
    expect_found(listening(1, with(two_threads, "CELL_STATE-1")), "data race");
}
TEST(cell, CELL_STATE_2_breaks_when_a_step_is_not_announced) {
    expect_found(one_step(with(with_two, "CELL_STATE-2")), "CELL_STATE-2");
}
TEST(cell, CELL_STATE_2_breaks_when_the_end_wakes_nobody) { expect_found(stopped(with(with_three, "end")), "deadlock"); }
TEST(cell, CELL_STATE_3_breaks_when_who_reads_is_not_linked) {
    expect_found(one_step(with(with_two, "CELL_STATE-3")), "CELL_STATE-2");
}
TEST(cell, CELL_STATE_3_breaks_when_a_link_does_not_hear_of_what_was_before) {
    expect_found(history(false, with(with_two, "CELL_STATE-3 before")), "CELL_STATE-2");
}
TEST(cell, CELL_STATE_4_breaks_when_the_newest_is_read_at_each_step) {
    expect_found(history(true, with(with_two, "CELL_STATE-4")), "CELL_STATE-4");
}
TEST(cell, CELL_STATE_5_breaks_when_a_step_is_dropped_without_a_trace) {
    expect_found(diamond(2, with(with_three, "CELL_STATE-5")), "two steps");
}
TEST(cell, CELL_STATE_6_breaks_when_an_outdated_circle_is_taken_for_one) {
    expect_found(changing_places(1, with(with_three, "CELL_STATE-6")), "CELL_STATE-6");
}
TEST(cell, CELL_STATE_7_breaks_when_who_is_woken_still_waits) {
    expect_found(changing_places(1, with(with_three, "CELL_STATE-7")), "CELL_STATE-6");
}
TEST(cell, DATAFLOW_1_breaks_when_a_circle_may_close) { expect_found(circle(with(with_three, "DATAFLOW-1")), "deadlock"); }

}  // namespace
}  // namespace litmus
