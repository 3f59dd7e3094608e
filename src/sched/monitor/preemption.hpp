// preemption.hpp - all that the rest of the runtime knows of the monitor: one interface, there or empty.
//
// A build with WEFT_PREEMPT=OFF (CMake; here WEFT_NO_PREEMPTION) has no monitor: no_monitor.hpp has
// the same interface without any code behind it, and the sources of the monitor, the judge, the
// reporter of hogs and the kernel's slices are not compiled. The pool of carriers stays, since a
// fiber with migrate::own_carrier has its thread from there. Code outside of this folder includes
// this header and not the three behind it.
//
//                            with the monitor                    without
//  class monitor             monitor.hpp                         no thread; every call is empty
//  class demotion            demotion.hpp                        no fiber is ever demoted
//  set_slice_of(), ...       kernel_slice.hpp                    threads keep the kernel's usual slice
//  can_preempt               true                                false
#pragma once

#include <concepts>

#ifdef WEFT_NO_PREEMPTION
#include "sched/monitor/no_monitor.hpp"
#else
#include "sched/monitor/demotion.hpp"
#include "sched/monitor/kernel_slice.hpp"
#include "sched/monitor/monitor.hpp"
#endif

namespace weft::detail {

#ifdef WEFT_NO_PREEMPTION
inline constexpr bool can_preempt = false;
#else
inline constexpr bool can_preempt = true;
#endif

/// What the scheduler, its workers and its carriers call; monitor.hpp says what each call means.
template <class M>
concept takes_workers = std::constructible_from<M, scheduler&> && requires(M& m, const M& seen, control_block& f, time_point t) {
    m.start();
    m.stop();
    m.hurry();
    m.somebody_runs();
    m.somebody_dispatches(t);
    m.somebody_sleeps(t, duration());
    m.somebody_runs_alone();
    m.somebody_waits();
    { m.ask_for_report(f) } -> std::same_as<bool>;
    { seen.monitor_id() } -> std::same_as<pid_t>;
    { seen.computing_without_worker() } -> std::same_as<unsigned>;
    { seen.cpus() } -> std::same_as<unsigned>;
    { seen.statistics().taken } -> std::convertible_to<std::uint64_t>;
    { seen.statistics().blocked } -> std::convertible_to<std::uint64_t>;
};

/// The class of fibers that have lost a worker by computing, as carriers and the scheduler see it.
template <class D>
concept keeps_the_demoted =
    std::constructible_from<D, unsigned, duration> && requires(D& d, const D& seen, control_block& f, duration t) {
        D::demote(f, nullptr);
        { d.push(f) } -> std::same_as<bool>;
        { d.take() } -> std::same_as<control_block*>;
        d.give_back_place();
        { seen.is_rehabilitated(f) } -> std::same_as<bool>;
        seen.burst_ends(f, t);
    };

static_assert(takes_workers<monitor> && keeps_the_demoted<demotion>);

}  // namespace weft::detail
