// runtime.hpp - the object that owns workers, threads, stacks and I/O; and run(), the shortest way into it.
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

#include <weft/detail/at_limit.hpp>
#include <weft/detail/priority.hpp>
#include <weft/fiber.hpp>
#include <weft/simulation.hpp>

namespace weft {

/// A fiber that has kept its thread for ten time slices and more while others waited, so that it had to be given a thread of its
/// own, or would have had if there were one. Or one that was asked to stop and goes on, since it swallows `cancelled`. Valid during the
/// call.
struct hog_report {
    /// `blocks`: its thread sleeps in the kernel. `ignores_stop`: `cancelled` was thrown in it a hundred times and more for a second and
    /// longer, so a catch (...) swallows it; told again when ten times as long has passed.
    enum class doing { computes, blocks, ignores_stop };
    fiber_info fiber;
    doing what = doing::computes;
    std::chrono::nanoseconds held{};      ///< how long it has kept its thread so far; or since `cancelled` was first thrown in it
    std::chrono::nanoseconds computed{};  ///< CPU time it had of that, but for what came before its worker was taken
    int thread = 0;                       ///< the kernel's number of the thread
    std::string_view blocked_in;          ///< if it blocks: "flock, locks_lock_inode_wait" or the like; may be empty
    std::span<void* const> stack;         ///< if it computes and there is a `hog_signal`: return addresses, innermost first
    std::uint64_t left_out = 0;           ///< hogs not reported since the last report, because there were too many
    std::uint32_t cancelled = 0;          ///< if it ignores a stop: how often `cancelled` was thrown in it
};

struct deadlock;

struct runtime_options {
    /// 0: usable CPUs (affinity mask, cgroup quota along the whole path). While it runs, the quota is looked at each second, and no more
    /// workers than it allows are kept awake, nor more than there were CPUs at the start. WEFT_WORKERS overrides, also 0
    unsigned workers = 0;
    std::size_t stack_bytes = std::size_t{256} * 1024;  ///< address space per fiber, guard excluded; 16 KiB to 1 GiB
    /// A fiber that computes for longer while others wait loses its worker, and goes on beside it; zero: never, and nor does one that
    /// blocks its thread. WEFT_TIME_SLICE_US overrides.
    std::chrono::nanoseconds time_slice = std::chrono::milliseconds(5);
    /// Told of hogs on a thread of its own, one at a time: the first ten, then one in a second. It may take its time, and the runtime
    /// ends after it has returned; what it throws is printed and forgotten. Default: one line on stderr. Without a slice there are none.
    std::function<void(hog_report const&)> on_hog = {};
    /// Told, on the same thread, of fibers that wait for one another or for nobody (deadlock.hpp) when no fiber of this runtime has run for a
    /// second, whichever runtime they are of; of each that is certain, once. Default: a report on
    /// stderr; the program goes on waiting, so to end it is this function's to do. Without a slice nobody looks.
    std::function<void(deadlock const&)> on_deadlock = {};
    /// A signal by which a fiber that computes shows its stack to on_hog; 0: none. It interrupts what the thread does at that time, and is
    /// to have no other user: std::invalid_argument if it has a handler. WEFT_HOG_SIGNAL overrides.
    int hog_signal = 0;
    /// A signal that makes the process write a dump of all its runtimes (weft/dump.hpp) to stderr; 0: none. While a runtime has one, `weft
    /// dump PID` is answered, too. It is to have no other user, and to be one and the same for all. WEFT_DUMP_SIGNAL overrides.
    int dump_signal = 0;
    /// `weft dump PID` is answered while this runtime lives, for the same user and root: on a unix socket without a file, by a thread that
    /// sleeps until asked. Takes no signal. WEFT_INSPECT=1 or =0 overrides.
    bool inspect = false;
    /// How much nicer than the runtime's threads one gets whose fiber computes and has lost its worker, 0 to 19; not one that other fibers are
    /// bound to. 10 keeps the others punctual beside a hundred hogs in most runs; but all threads of other kinds come before such a fiber
    /// then, and the threads and processes it starts are as nice, those of weft::blocking among them. WEFT_HOG_NICE overrides.
    int hog_nice = 0;
    unsigned max_carriers =
        512;  ///< threads that run fibers, at most: workers and those that lost one. WEFT_MAX_CARRIERS overrides
    /// Threads of weft::blocking, at most. 64 are started as they are wanted; while calls have waited for 100 ms, one more each. A call that has
    /// waited for a second is said on stderr, once, with who has the threads. Look-ups of names and starts of processes have threads of
    /// their own. WEFT_BLOCKING_THREADS overrides.
    unsigned blocking_threads = 256;
    std::size_t max_fibers = 0;  ///< made and not yet ended, at once; 0: no limit
    weft::at_limit at_limit = weft::at_limit::park;  ///< what spawn does then
    /// Measures what fibers need of their stacks (runtime::stack_census), at some microseconds for each. WEFT_STACK_CENSUS=1 does so, too,
    /// and prints it on stderr when the runtime ends.
    bool stack_census = false;
    /// `torture` is for tests, with two workers and more: fibers that may move do so whenever they park or yield; priorities do not
    /// count then.
    /// WEFT_MIGRATION=normal or =torture overrides.
    migration_policy migration = migration_policy::normal;
    /// One seed decides what happens. With one worker; without a time slice, hogs and limits of carriers, whatever is said of them.
    std::optional<simulation> simulate = {};
    /// Failures nobody joins. Default: name and message on stderr; then std::terminate if the fiber was detached. Those of a scope's
    /// body on a plain thread come with id 0.
    std::function<void(fiber_info const&, std::exception_ptr)> on_unhandled = {};
    std::string name = "weft";  ///< of its threads; at most 10 characters are kept
};

/// What the fibers that were spawned at one place needed of their stacks. In bytes, counted from the upper end of the stack.
struct stack_use {
    std::source_location site;  ///< line 0 if they were spawned with arguments and without attributes
    std::string body;  ///< the type of what the first of them ran
    std::uint64_t fibers = 0;  ///< that have ended
    std::size_t most_bytes = 0;
    std::size_t mean_bytes = 0;
    std::size_t stack_bytes = 0;  ///< the size of the stack of the one that needed most
};

/// Hints: the runtime goes on while they are read. Each worker counts for itself; who stands outside is in none but `spawned`.
struct runtime_stats {
    unsigned workers = 0;
    std::uint64_t fibers = 0;  ///< born and not yet ended
    std::uint64_t spawned = 0;
    std::uint64_t switches = 0;  ///< dispatches of a fiber
    std::uint64_t parks = 0;  ///< times a fiber left its worker to wait
    std::uint64_t steals = 0;  ///< fibers taken from other workers
    std::uint64_t searches = 0;  ///< times a worker without work went looking among the others; one does at a time
    std::uint64_t sleeps = 0;  ///< times a worker found nothing to do and slept
    std::uint64_t wakes = 0;  ///< times a worker was woken from that because there was work, not by a timer or by I/O
    unsigned carriers = 0;  ///< threads that run fibers, or wait to
    std::uint64_t hand_offs = 0;  ///< times a fiber lost its worker
    std::uint64_t blocked = 0;  ///< of these, because it blocked its thread
    unsigned blocking_threads = 0;  ///< of weft::blocking, those that wait for a call among them
    std::size_t blocking_waiting = 0;  ///< calls of weft::blocking that wait for a thread
    std::size_t stacks_in_use = 0;
    std::size_t stacks_idle = 0;
    std::size_t stacks_unguarded = 0;  ///< overflow of these is noticed only when they end
};

namespace detail {
class simulator;
class runtime_core;

/// One run() of a simulated runtime: from before its main fiber is started until that has ended.
class simulated_run {
public:
    explicit simulated_run(runtime_core&);
    /// Whether there is any need for it: not if the runtime is not simulated, or the caller is one of its own fibers.
    explicit operator bool() const noexcept { return simulator_ != nullptr; }
    void go(const fiber_ref& main) noexcept;
    /// Waits. False: all fibers were stopped, or given up. \parks
    bool succeeds() noexcept;
    [[noreturn]] void fail();

private:
    runtime_core& core_;
    simulator* simulator_;
};

scheduler& scheduler_of(const runtime&) noexcept;
}  // namespace detail

/// Several may coexist, one after another or side by side. Not movable: fibers know where it is.
class runtime {
public:
    /// Starts the workers' threads.
    /// \throws std::invalid_argument naming the option; std::system_error
    explicit runtime(runtime_options options = {});
    /// Requests stop of all fibers, waits for them, names stragglers on stderr every 5 s.
    ~runtime();
    runtime(const runtime&) = delete;
    runtime& operator=(const runtime&) = delete;

    /// As weft::spawn(), from any thread.
    template <class F>
        requires detail::not_attributes<F>
    auto spawn(F&& f, detail::call_site site = {}) {
        return spawn(attributes{.site = site.where}, std::forward<F>(f));
    }
    template <class F, class... A>
        requires(detail::not_attributes<F> && sizeof...(A) > 0)
    auto spawn(F&& f, A&&... args) {
        return spawn(attributes{.site = {}}, std::forward<F>(f), std::forward<A>(args)...);
    }
    template <class F, class... A>
    auto spawn(const attributes& a, F&& f, A&&... args) {
        return detail::spawn_in(scheduler(), a, std::forward<F>(f), std::forward<A>(args)...);
    }
    template <class F>
        requires detail::not_attributes<F>
    void spawn_detached(F&& f, detail::call_site site = {}) {
        spawn_detached(attributes{.site = site.where}, std::forward<F>(f));
    }
    template <class F, class... A>
        requires(detail::not_attributes<F> && sizeof...(A) > 0)
    void spawn_detached(F&& f, A&&... args) {
        spawn_detached(attributes{.site = {}}, std::forward<F>(f), std::forward<A>(args)...);
    }
    template <class F, class... A>
    void spawn_detached(const attributes& a, F&& f, A&&... args) {
        detail::start_fiber<detail::start_as::detached>(scheduler(), a, std::forward<F>(f), std::forward<A>(args)...);
    }

    /// Runs main as a fiber and waits for it. Other fibers go on afterwards.
    /// In a simulated runtime the others go on only while a run is under way, and one is at a time: where nobody can go on, or a limit is
    /// passed, all fibers are stopped, those that cannot be are left for good with all that they hold, and simulation_failed says who
    /// waited for what. The runtime has had its last run then.
    ///
    /// \returns its result. \throws what it threw; fiber_cancelled if it was stopped; simulation_failed. \parks if called by a fiber of another runtime.
    template <class F>
        requires detail::not_attributes<F>
    auto run(F&& main, detail::call_site site = {}) {
        return run(attributes{.site = site.where}, std::forward<F>(main));
    }
    /// With a stack, a priority and so on of its own. Without a name it is called "main".
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

    /// Stops all fibers and waits up to `grace`; fibers started later start stopped. False: stragglers were named on stderr.
    bool shutdown(std::chrono::nanoseconds grace);

    runtime_stats stats() const;
    /// By place, those that needed most first; empty without runtime_options::stack_census. Fibers run inline by their spawner
    /// (at_limit::run_inline) count as part of it.
    std::vector<stack_use> stack_census() const;
    /// Gives the memory back that waiting fibers' stacks hold below what they use while they wait: a deep call leaves it there. Costs two
    /// or three system calls for each fiber that has any. \returns how many bytes. \throws std::bad_alloc
    std::size_t trim_stacks();
    /// In a forked child, where no runtime of the parent's runs: begins anew, with the same options and without fibers. What the
    /// parent's fibers held stays held. \throws as the constructor does, and then nothing has changed
    void restart();
    /// Whether it was made before a fork, and not restarted: it runs in the parent.
    bool inherited() const noexcept;
    /// Calls f for each live fiber, from any thread.
    void for_each_fiber(const std::function<void(fiber_info const&)>& f) const;
    /// The runtime of the calling fiber; null outside fibers.
    static runtime* current() noexcept;

    /// For with_scope().
    friend detail::scheduler& scheduler_behind(const runtime& rt) noexcept { return rt.scheduler(); }

private:
    friend detail::scheduler& detail::scheduler_of(const runtime&) noexcept;
    detail::scheduler& scheduler() const noexcept;

    std::unique_ptr<detail::runtime_core> core_;
};

/// runtime rt(options); return rt.run(main);
template <class F>
    requires detail::not_attributes<F>
auto run(F&& main, runtime_options options = {}, detail::call_site site = {}) {
    runtime rt(std::move(options));
    return rt.run(std::forward<F>(main), site);
}
/// Runs `main` as run() above does, in a fiber with these attributes: run({.stack_bytes = 8 << 20}, main).
template <class F>
auto run(const attributes& how, F&& main, runtime_options options = {}) {
    runtime rt(std::move(options));
    return rt.run(how, std::forward<F>(main));
}

}  // namespace weft
