// dump.hpp - shows every fiber of the process: its state, what it waits for since when, its stack;
// and how many connections of its servers have no fiber.
//
// A dump stops no fiber: fibers are looked at one after the other, each once. A fiber that waits
// cannot go on for the moment (some microseconds) in which its stack is read. So what is said of
// one fiber fits together, while two fibers may be shown as they were at different times. Cycles
// are looked at twice, and are true.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include <weft/detail/export.hpp>
#include <weft/runtime.hpp>

namespace weft {

/// A call of unmodified code that parks instead of blocking (docs/guide/20-libraries-that-block.md).
struct hooked_call_snapshot {
    std::string_view name;  ///< of the function: "read"
    int descriptor = -1;  ///< -1: it has none, or several
    const void* caller = nullptr;  ///< the return address
    const void* object = nullptr;  ///< the lock or the condition that it waits for
};

/// What a dump knows of one fiber. See take_snapshot() and docs/guide/14-looking-inside.md.
struct fiber_snapshot {
    fiber_id id;
    std::string name;  ///< may be empty
    /// line 0 if it was spawned with more than five arguments, without attributes and not by
    /// spawn(runtime&, ...)
    std::source_location site;
    std::string_view state;  ///< created, runnable, running, waiting
    std::string_view waits_for;  ///< "mutex", "channel receive", ...; or "nothing"
    /// What it waits at: the address of the mutex, the channel's core, the fiber it joins; may be
    /// null.
    const void* object = nullptr;
    std::optional<hooked_call_snapshot> call;  ///< if it waits in one
    /// The fibers whose move it waits for: the mutex's holder, the fiber it joins, a scope's
    /// children (64 at most).
    std::vector<fiber_id> owners;
    /// How long it has waited, to within some milliseconds. If the fiber looks now and then whether
    /// it may go on, the time counts from its last look.
    std::optional<std::chrono::milliseconds> waited;
    std::optional<unsigned> worker;  ///< its worker's number in the runtime, if it runs and has one
    int thread = 0;  ///< the kernel's number of its thread, if it runs
    /// Whether it waits for time, I/O, a signal, a process or a blocking call, and not for fibers
    /// only.
    bool external = false;
    bool detached = false;
    weft::priority priority = weft::priority::normal;
    std::vector<void*> stack;  ///< return addresses, innermost first; may be empty
};

/// The connections of one server that have no fiber, since they wait for their next message. See
/// take_snapshot() and docs/guide/14-looking-inside.md.
struct streams_asleep_snapshot {
    /// "tcp::sessions", "http::server"; "http::server, upgraded" for those whose protocol a handler has
    /// changed, such as WebSockets
    std::string_view owner;
    std::string address;     ///< where it listens; empty if its listener does not tell
    std::size_t count = 0;   ///< those included that have just been woken and get a fiber
    /// How long the one that has slept longest has had no fiber, to within some milliseconds; empty
    /// if none sleeps.
    std::optional<std::chrono::milliseconds> longest;
};

/// What a dump knows of one runtime. See take_snapshot() and docs/guide/14-looking-inside.md.
struct runtime_snapshot {
    std::string name;
    unsigned workers = 0;
    std::uint64_t refused = 0;        ///< runtime_stats::refused
    bool has_timers = false;          ///< whether any wait has a limit of time
    std::vector<fiber_snapshot> fibers;
    std::vector<streams_asleep_snapshot> asleep = {};  ///< one for each server, two for http::server
};

/// What a dump knows of the process. See take_snapshot() and docs/guide/14-looking-inside.md.
struct process_snapshot {
    std::vector<runtime_snapshot> runtimes;
    /// Whether at one moment all fibers there were waited, each for another fiber or a thread: not
    /// for I/O, a signal, a process, a blocking call or time.
    bool at_rest = false;
    /// In each cycle, every fiber waits for the next one, and the last for the first.
    std::vector<std::vector<fiber_id>> cycles;
};

/// Whether a dump shows stacks: of fibers that wait, and of those that run if their runtime has a
/// `hog_signal` or the kernel allows perf events. Stacks are what takes time in a dump.
enum class stacks { shown, left_out };
enum class dump_format { text, json };

/// How dump() writes.
///
///     weft::dump(std::cout, {.format = weft::dump_format::json});
struct dump_options {
    dump_format format = dump_format::text;
    weft::stacks stacks = weft::stacks::shown;
};

/// Takes a snapshot of all runtimes of this process and of their fibers. From any thread or fiber,
/// but not from a signal handler.
///
///     const weft::process_snapshot all = weft::take_snapshot();
///     for (const auto& f : all.runtimes.front().fibers) std::cout << f.name << ' ' << f.state;
///
/// \throws std::bad_alloc
WEFT_EXPORT [[nodiscard]] process_snapshot take_snapshot(stacks = stacks::shown);

/// Writes a dump of all runtimes of this process, either as text for people, in which fibers that
/// are alike stand together, or as one JSON object. Example: weft::dump(std::cerr);
/// \throws std::bad_alloc, and what `to` throws
WEFT_EXPORT void dump(std::ostream& to, const dump_options& = {});

}  // namespace weft
