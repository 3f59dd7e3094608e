// runtime.hpp - owns workers, threads, stacks and I/O; and run(), the shortest way into a runtime.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/at_limit.hpp>
#include <weft/detail/export.hpp>
#include <weft/fiber.hpp>
#include <weft/no_limit.hpp>
#include <weft/priority.hpp>
#include <weft/simulation.hpp>

namespace weft {

/// Describes a hog: a fiber that kept its thread for ten time slices or more while others waited.
/// It was given a thread of its own, or would have been if there were one to give. Also describes a
/// fiber that was asked to stop and goes on, because it swallows `cancelled`. Valid only during the
/// call of on_hog. See docs/guide/9-preemption.md.
struct hog_report {
    /// `computes`: the fiber uses its CPU. `blocks`: its thread sleeps in the kernel.
    /// `ignores_stop`: `cancelled` was thrown in the fiber a hundred times or more, over a second
    /// or more, so a catch (...) swallows it. That one is reported again when ten times as long has
    /// passed.
    enum class doing { computes, blocks, ignores_stop };
    fiber_info fiber;
    doing what = doing::computes;
    /// How long the fiber has kept its thread so far. With ignores_stop: how long ago `cancelled`
    /// was first thrown in it.
    std::chrono::nanoseconds held{};
    /// CPU time it used since the thread of the reports first looked at it. `held` begins earlier,
    /// and what the fiber used before that look is not counted.
    std::chrono::nanoseconds computed{};
    int thread = 0;                       ///< the kernel's number of the thread
    /// If it blocks: where, as in "flock, locks_lock_inode_wait"; may be empty.
    std::string_view blocked_in;
    /// If it computes: its return addresses, innermost first, as far as its code keeps frame
    /// pointers. Empty if the kernel refuses perf events and there is no `hog_signal`.
    std::span<void* const> stack;
    /// Hogs not reported since the last report, because there were too many.
    std::uint64_t left_out = 0;
    /// If it ignores a stop: how often `cancelled` was thrown in it.
    std::uint32_t cancelled = 0;
};

struct deadlock;

/// How a runtime is set up. Each option may be left out. An environment variable that "overrides"
/// an option is read when the runtime is made. A limit takes weft::no_limit (no_limit.hpp). The
/// hooks keep the contract of docs/guide/14-looking-inside.md.
///
///     weft::runtime rt({.workers = 2, .stack_bytes = 64 * 1024, .name = "db"});
struct runtime_options {
    /// How many workers there are; 0: one for each usable CPU (affinity mask, cgroup quota along
    /// the whole path). With 0 the runtime reads the quota again each second, and keeps no more
    /// workers awake than the quota allows, and no more than there were CPUs at the start.
    /// WEFT_WORKERS overrides any value, 0 included.
    unsigned workers = 0;
    /// Address space per fiber, guard excluded; 16 KiB to 1 GiB.
    std::size_t stack_bytes = std::size_t{256} * 1024;
    /// A fiber that computes for longer than this while others wait loses its worker; it goes on
    /// beside the worker, on its own thread. If one of those that wait was woken by a timer or by
    /// I/O, a fifth of this is enough, but at least a millisecond. no_limit or zero: no fiber ever
    /// loses its worker, not even one that blocks its thread. WEFT_TIME_SLICE_US overrides. In a
    /// weft that was built with WEFT_PREEMPT=OFF this default counts as zero, and any other value
    /// is refused by std::invalid_argument.
    std::chrono::nanoseconds time_slice = std::chrono::milliseconds(5);
    /// The least time between two wakes of a sleeping worker for sleeps and limits that end, 0 to
    /// 1 s. Those that end within it share the next wake, so they end that much later at most,
    /// besides what a wake takes; one that ends alone does not wait. While a fiber computes without
    /// a worker, none waits. Zero: none ever waits, and each may cost a wake. WEFT_TIMER_SLACK_US
    /// overrides.
    std::chrono::nanoseconds timer_slack = std::chrono::microseconds(100);
    /// Called for hogs, on a thread of its own, one report at a time: for the first ten, then for
    /// one per second. It may take its time; the runtime ends only after it has returned. What it
    /// throws is printed and ignored. Default: one line on stderr. With time_slice zero there are
    /// no reports.
    std::function<void(hog_report const&)> on_hog = {};
    /// Called for deadlocks (deadlock.hpp): for fibers that wait for one another, or for what
    /// cannot come. The runtime looks for them when none of its fibers has run for a second, and
    /// calls this on the thread of on_hog. The fibers may be of any runtime. It is called once for
    /// each deadlock that is certain. What it throws is printed and ignored. Default: a report on
    /// stderr. The program goes on
    /// waiting, so if it is to end, this function must end it. With time_slice zero there is no
    /// search.
    std::function<void(deadlock const&)> on_deadlock = {};
    /// A signal by which a fiber that computes shows its stack to on_hog; 0: none, and the kernel
    /// is asked for a sample, which it refuses if kernel.perf_event_paranoid is above 2 and the
    /// process lacks CAP_PERFMON. The signal interrupts whatever the thread does at that time. It
    /// must have no other user: if it has a handler, the constructor throws std::invalid_argument.
    /// WEFT_HOG_SIGNAL overrides.
    int hog_signal = 0;
    /// A signal that makes the process write a dump of all its runtimes (weft/dump.hpp) to stderr;
    /// 0: none. While a runtime has one, `weft dump PID` is answered, too. The signal must have no
    /// other user, and must be the same in all runtimes. WEFT_DUMP_SIGNAL overrides.
    int dump_signal = 0;
    /// If true, `weft dump PID` is answered while this runtime lives, to the same user and to root.
    /// A thread that sleeps until it is asked does so, on a unix socket that has no file. No signal
    /// is taken. WEFT_INSPECT=1 or =0 overrides.
    bool inspect = false;
    /// When a fiber computes and has lost its worker, the nice value of its thread is raised by
    /// this much, 0 to 19, unless other fibers are pinned to that thread. With 10, the other fibers
    /// are punctual beside a hundred hogs in most runs. But then every thread that is less nice
    /// comes before such a fiber, the program's other threads among them; and the threads and
    /// processes that it starts are as nice as it is, threads of weft::blocking among them.
    /// WEFT_HOG_NICE overrides.
    int hog_nice = 0;
    /// The most threads that may run fibers: those that have a worker and those that lost one; 1
    /// to 65536, or no_limit, which is 65536. WEFT_MAX_CARRIERS overrides.
    unsigned max_carriers = 512;
    /// How many identities that no fiber has are kept for the next fibers; no_limit: all. An identity
    /// is what makes a fiber a thread (attributes::as_thread). Each takes some 9 KiB, and thread_local
    /// objects live as long as their identity. 0: an identity ends with its fiber or with its call of
    /// this_fiber::as_thread, which then takes as long as the destructors of its thread_local objects.
    unsigned keep_identities = 256;
    /// Whether calls that block park in fibers that are threads (attributes::as_thread): read(), poll(),
    /// sleep(), pthread_mutex_lock() and their like, made by the program or by any library below it.
    /// They need libweft_hooks.so, linked or loaded before the program; without it one line on stderr
    /// says so, and the calls block. WEFT_HOOKS, 0 or 1, overrides. See
    /// docs/guide/20-libraries-that-block.md.
    bool hooks = false;
    /// The most threads of weft::blocking; 1 to 65536, or no_limit, which is 65536. Up to 64 are
    /// started as they are wanted; beyond that, one more is started each time calls have waited for
    /// 100 ms. The first time a call has waited for a second, one line on stderr names the calls
    /// that keep the threads busy. Look-ups of names and starts of processes have threads of their
    /// own. WEFT_BLOCKING_THREADS overrides.
    unsigned blocking_threads = 256;
    /// The most fibers that may exist at once, made and not yet ended; no_limit or 0: no limit.
    std::size_t max_fibers = no_limit;
    weft::at_limit at_limit = weft::at_limit::park;  ///< what spawn does at max_fibers
    /// Measures how much of their stacks fibers need (runtime::stack_census); costs some
    /// microseconds for each fiber. WEFT_STACK_CENSUS=1 turns it on, too, and has the result
    /// printed on stderr when the runtime ends.
    bool stack_census = false;
    /// `torture` is for tests, with two or more workers: fibers that may move do so whenever they
    /// park or yield, and priorities do not count. WEFT_MIGRATION=normal or =torture overrides.
    migration_policy migration = migration_policy::normal;
    /// If set, one seed decides what happens. There is one worker then (`workers` must be 0 or 1),
    /// and neither a time slice nor hogs nor limits of carriers, whatever the other options say.
    std::optional<simulation> simulate = {};
    /// Called for failures that no join() takes, on the fiber that failed, or where its handle is
    /// dropped; several calls may run at once. It may park, but whatever follows waits for it. If
    /// it throws, the program ends by std::terminate. Default: prints name and message on stderr,
    /// and then calls std::terminate if the fiber was detached. A failure of a scope's body on a
    /// plain thread comes with id 0.
    std::function<void(fiber_info const&, std::exception_ptr)> on_unhandled = {};
    std::string name = "weft";  ///< begins the names of its threads; at most 10 characters are kept
};

/// How much of their stacks the fibers needed that were spawned at one place. Bytes are counted
/// from the upper end of the stack. See docs/guide/12-process.md.
struct stack_use {
    /// line 0 if they were spawned with more than five arguments, without attributes and not by
    /// spawn(runtime&, ...)
    std::source_location site;
    std::string body;  ///< the type of what the first of these fibers ran
    std::uint64_t fibers = 0;  ///< how many of them have ended
    std::size_t most_bytes = 0;
    std::size_t mean_bytes = 0;
    std::size_t stack_bytes = 0;  ///< size of the stack of the fiber that needed most
};

/// What runtime::stats() returns. The values are hints, because the runtime goes on while they are
/// read. Each worker counts for itself; what plain threads do is counted in `spawned` and
/// `refused` only.
///
///     std::uint64_t parks = weft::runtime::current()->stats().parks;
struct runtime_stats {
    unsigned workers = 0;
    std::uint64_t fibers = 0;  ///< born and not yet ended
    std::uint64_t spawned = 0;
    /// calls of spawn that threw instead of making a fiber: at max_fibers, for lack of memory, or
    /// because the caller was stopped while it waited for a place (of the runtime or of a scope)
    std::uint64_t refused = 0;
    std::uint64_t switches = 0;  ///< dispatches of a fiber
    std::uint64_t parks = 0;  ///< times a fiber left its worker to wait
    std::uint64_t steals = 0;  ///< fibers taken from other workers
    /// times a worker without work searched the others for some; one worker searches at a time
    std::uint64_t searches = 0;
    std::uint64_t sleeps = 0;  ///< times a worker found nothing to do and slept
    /// times such a worker was woken because there was work, not by a timer or by I/O
    std::uint64_t wakes = 0;
    unsigned carriers = 0;  ///< threads that run fibers or wait to run some
    std::uint64_t hand_offs = 0;  ///< times a fiber lost its worker
    std::uint64_t blocked = 0;  ///< those of the hand_offs in which the fiber blocked its thread
    unsigned blocking_threads = 0;  ///< threads of weft::blocking, idle ones included
    std::size_t blocking_waiting = 0;  ///< calls of weft::blocking that wait for a thread
    unsigned identities = 0;  ///< that fibers have (attributes::as_thread), or that are kept for the next
    std::size_t stacks_in_use = 0;
    std::size_t stacks_idle = 0;
    /// stacks without a guard; an overflow of one is noticed only when its fiber ends
    std::size_t stacks_unguarded = 0;
};

namespace detail {
class simulator;
class runtime_core;

/// One run() of a simulated runtime, from before its main fiber is started until that has ended.
class WEFT_EXPORT simulated_run {
public:
    explicit simulated_run(runtime_core&);
    /// Whether a run needs this: it does if the runtime is simulated and the caller is not one of
    /// its own fibers.
    explicit operator bool() const noexcept { return simulator_ != nullptr; }
    void go(const fiber_ref& main) noexcept;
    /// Waits. \returns false if all fibers were stopped or given up. \parks
    bool succeeds() noexcept;
    [[noreturn]] void fail();

private:
    runtime_core& core_;
    simulator* simulator_;
};

WEFT_EXPORT scheduler& scheduler_of(const runtime&) noexcept;
}  // namespace detail

/// Owns workers, threads, stacks and I/O, and runs fibers. Several runtimes may coexist, one after
/// another or side by side. Not movable, because fibers keep its address.
///
///     weft::runtime rt({.workers = 2});
///     weft::fiber<int> f = rt.spawn([] { return 42; });   // from any thread
///     int answer = rt.run([&] { return f.join(); });
class WEFT_EXPORT runtime {
public:
    /// Starts the workers' threads.
    /// \throws std::invalid_argument that names the option; std::system_error
    explicit runtime(runtime_options options = {});
    /// Requests stop of all fibers and waits for them. Names stragglers on stderr every 5 s.
    ~runtime();
    runtime(const runtime&) = delete;
    runtime& operator=(const runtime&) = delete;

    /// Starts a fiber in this runtime, from any thread; otherwise does what weft::spawn() does.
    WEFT_DETAIL_SPAWN_FORMS(spawn, this->spawn_at)
    template <class F, class... A>
    auto spawn(const attributes& a, F&& f, A&&... args) {
        return detail::spawn_in(scheduler(), a, std::forward<F>(f), std::forward<A>(args)...);
    }
    WEFT_DETAIL_SPAWN_FORMS(spawn_detached, this->spawn_detached_at)
    template <class F, class... A>
    void spawn_detached(const attributes& a, F&& f, A&&... args) {
        detail::start_fiber<detail::start_as::detached>(scheduler(), a, std::forward<F>(f), std::forward<A>(args)...);
    }

    /// Runs main as a fiber and waits for it. Other fibers go on afterwards.
    ///
    /// In a simulated runtime the other fibers go on only while a run is under way, and there is
    /// one run at a time. When no fiber can go on, or a limit is passed, all fibers are stopped;
    /// those that cannot be stopped are abandoned, with all that they hold; and simulation_failed
    /// says which fiber waited for what. The runtime cannot run again after that.
    ///
    /// \returns the result of main.
    /// \throws  what main threw; fiber_cancelled if it was stopped; simulation_failed.
    /// \parks   if a fiber of another runtime calls.
    template <class F>
        requires detail::not_attributes<F>
    auto run(F&& main, detail::call_site site = {}) {
        return run(attributes{.site = site.where}, std::forward<F>(main));
    }
    /// Runs main as a fiber with these attributes: a stack size, a priority and so on. If they have
    /// no name, the fiber is called "main".
    template <class F>
    auto run(attributes how, F&& main) {
        if (how.name.empty()) how.name = "main";
        if (detail::simulated_run simulated{*core_}) [[unlikely]] {
            auto f = spawn(how, std::forward<F>(main));
            simulated.go(f.ref());
            if (simulated.succeeds()) return f.join();
            if (!f.done()) f.detach();  // given up
            simulated.fail();
        }
        return spawn(how, std::forward<F>(main)).join();
    }

    /// Stops all fibers and waits for up to `grace`. Fibers that are started later start stopped.
    /// \returns false if some fibers did not end in time; stderr names them.
    bool shutdown(std::chrono::nanoseconds grace);
    template <class Rep, class Period>
    bool shutdown(const std::chrono::duration<Rep, Period>& grace) {
        return shutdown(detail::saturated(grace));
    }

    [[nodiscard]] runtime_stats stats() const;
    /// \returns one entry for each place that spawned fibers, those that needed most first; empty
    ///          without runtime_options::stack_census. A fiber that its spawner ran inline
    ///          (at_limit::run_inline) counts as part of the spawner.
    [[nodiscard]] std::vector<stack_use> stack_census() const;
    /// Gives back memory that the stacks of waiting fibers hold below what these fibers use while
    /// they wait: a deep call leaves such memory behind. Costs two or three system calls for each
    /// fiber that has any. \returns how many bytes were given back. \throws std::bad_alloc
    std::size_t trim_stacks();
    /// For a forked child, in which no runtime of the parent runs: makes this runtime begin anew,
    /// with the same options and without fibers. What the parent's fibers held stays held.
    /// \throws what the constructor throws; nothing has changed then.
    void restart();
    /// \returns whether the runtime was made before a fork and not restarted: it runs in the
    ///          parent.
    [[nodiscard]] bool inherited() const noexcept;
    /// Calls f for each live fiber, from any thread.
    void for_each_fiber(const std::function<void(fiber_info const&)>& f) const;
    /// \returns the runtime of the calling fiber; null outside fibers.
    [[nodiscard]] static runtime* current() noexcept;

    /// For with_scope().
    friend detail::scheduler& scheduler_behind(const runtime& rt) noexcept { return rt.scheduler(); }

private:
    template <class F, class... A>
    auto spawn_at(detail::call_site site, F&& f, A&&... args) {
        return spawn(attributes{.site = site.where}, std::forward<F>(f), std::forward<A>(args)...);
    }
    template <class F, class... A>
    void spawn_detached_at(detail::call_site site, F&& f, A&&... args) {
        spawn_detached(attributes{.site = site.where}, std::forward<F>(f), std::forward<A>(args)...);
    }

    friend detail::scheduler& detail::scheduler_of(const runtime&) noexcept;
    [[nodiscard]] detail::scheduler& scheduler() const noexcept;

    std::unique_ptr<detail::runtime_core> core_;
};

/// Makes a runtime and runs `main` in it: runtime rt(options); return rt.run(main);
template <class F>
    requires detail::not_attributes<F>
auto run(F&& main, runtime_options options = {}, detail::call_site site = {}) {
    runtime rt(std::move(options));
    return rt.run(std::forward<F>(main), site);
}
/// Does what the run() above does, with these attributes for the main fiber:
///
///     weft::run({.stack_bytes = 8 << 20}, [] { return deep_recursion(); });
template <class F>
auto run(const attributes& how, F&& main, runtime_options options = {}) {
    runtime rt(std::move(options));
    return rt.run(how, std::forward<F>(main));
}

}  // namespace weft
