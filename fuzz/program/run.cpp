#include "program/run.hpp"

#include <thread>

#include "program/machine.hpp"
#include "program/verdict.hpp"
#include "sched/scheduler.hpp"
#include "sched/simulate/simulator.hpp"

namespace weft::fuzz {
namespace {

using namespace std::chrono_literals;

/// What a run needs. It stays for good if fibers do.
struct world {
    world(const program_text& text, plant wrong) : text_(text), machine_(text, history_, wrong) {}

    program_text text_;
    history history_;
    machine machine_;
};

void add(std::string& to, const std::vector<std::string>& lines) {
    for (const auto& l : lines) to.append(l).append("\n");
}

weft::runtime_options options_for(const program_text& text, bool simulated) {
    weft::runtime_options o{.workers = simulated ? 1u : 2u,
                            .on_unhandled = [](const weft::fiber_info&, const std::exception_ptr&) {}};
    if (simulated) o.simulate = weft::simulation{.seed = text.seed, .switch_one_in = text.switch_one_in};
    return o;
}

/// Until everybody sleeps, or, where that cannot be known, until the first have ended or had a while.
void wait_for_rest(const machine& m) {
    if (auto* const s = weft::detail::simulator_here()) {
        static_cast<void>(s->come_to_rest());
        return;
    }
    for (int i = 0; i < 20 && !m.first_have_ended(); ++i) weft::this_fiber::sleep_for(50us);
}

standing standing_of(const machine& m) { return {.tokens = m.tokens(), .alarm_is_on = m.alarm_is_on()}; }

run_report run(const program_text& text, plant wrong, bool simulated) {
    run_report report;
    auto w = std::make_unique<world>(text, wrong);
    auto& [copy, h, m] = *w;
    bool all_ended = false;
    {
        weft::runtime rt(options_for(text, simulated));
        try {
            rt.run([&] {
                m.start();
                wait_for_rest(m);
                if (!simulated) return;
                report.asleep =
                    static_cast<std::size_t>(std::ranges::count_if(h.books(), [](const book& b) { return b.ended == 0; }));
                add(report.wrong, judge_at_rest(text, h, standing_of(m)));
            });
        } catch (const weft::simulation_failed& e) {
            report.wrong.append(e.what()).append("\n");
        }
        if (auto* const s = weft::detail::scheduler_of(rt).simulated()) report.trace = s->last_run().trace;
        h.all_stopped = h.now();
        all_ended = rt.shutdown(20s);
        m.let_go(all_ended);
    }
    if (!all_ended) {
        report.wrong += "not all fibers have ended although all were stopped\n" + written(h);
        static_cast<void>(w.release());
        return report;
    }
    m.take_what_is_left();
    add(report.wrong, judge(text, h, standing_of(m)));
    add(report.wrong, h.complaints());
    report.course = written(h);
    report.fibers = h.books().size();
    for (const auto& b : h.books()) report.operations += b.operations.size();
    w.reset();
    if (const auto alive = owned_number::alive.load(); alive != 0)
        report.wrong += std::to_string(alive) + " values outlive their channels\n";
    return report;
}

}  // namespace

run_report run_simulated(const program_text& text, plant wrong) { return run(text, wrong, true); }

run_report run_by_two_workers(const program_text& text) { return run(text, plant::nothing, false); }

std::string find_wrong(const program_text& text, plant wrong) {
    const auto first = run_simulated(text, wrong);
    auto what = first.wrong;
    if (what.empty()) {
        const auto again = run_simulated(text, wrong);
        if (again.trace != first.trace || again.course != first.course)
            what = "a second run took another course\n" + again.course;
    }
    return what.empty() ? what : what + written(text) + first.course;
}

}  // namespace weft::fuzz
