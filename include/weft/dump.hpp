// dump.hpp - every fiber of the process: what it is, what it waits for, who has that, since when, and where it stands.
//
// Nobody stops for a dump: each fiber is looked at once, one after the other, and one that waits is kept from going on for the moment (some
// microseconds) in which its stack is read. So what is said of one fiber fits together, while two may be shown as they were at
// different times. Cycles are looked at twice, and are true.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include <weft/runtime.hpp>

namespace weft {

/// What a dump knows of one fiber.
struct fiber_snapshot {
    fiber_id id;
    std::string name;  ///< may be empty
    std::source_location site;  ///< line 0 if it was spawned with arguments and without attributes
    std::string_view state;  ///< created, runnable, running, waiting
    std::string_view waits_for;  ///< "mutex", "channel receive", ...; or "nothing"
    const void* object =
        nullptr;  ///< what it waits at: the address of the mutex, the channel's core, the fiber it joins; may be null
    std::vector<fiber_id>
        owners;  ///< whose move it waits for: the mutex's holder, the fiber it joins, a scope's children (64 at most)
    std::optional<std::chrono::milliseconds>
        waited;  ///< known to some milliseconds; counted from the last look, if it looks now and then
    std::optional<unsigned> worker;  ///< of the runtime's, if it runs and has one
    int thread = 0;  ///< the kernel's number of the thread, if it runs
    bool external = false;  ///< it waits for time, I/O, a signal, a process or a blocking call, and not for a fiber only
    bool detached = false;
    weft::priority priority = weft::priority::normal;
    std::vector<void*> stack;  ///< return addresses, innermost first; may be empty
};

struct runtime_snapshot {
    std::string name;
    unsigned workers = 0;
    bool has_timers = false;          ///< some wait has a limit of time
    std::vector<fiber_snapshot> fibers;
};

struct process_snapshot {
    std::vector<runtime_snapshot> runtimes;
    /// At one moment all fibers there were waited, each for another fiber or a thread: not for I/O, a signal, a process, a blocking call or time.
    bool at_rest = false;
    std::vector<std::vector<fiber_id>> cycles;  ///< each of which waits for the next, and the last for the first
};

/// Of fibers that wait; and of those that run, if their runtime has a `hog_signal`. They are what takes time in a dump.
enum class stacks { shown, left_out };
enum class dump_format { text, json };

struct dump_options {
    dump_format format = dump_format::text;
    weft::stacks stacks = weft::stacks::shown;
};

/// All runtimes of this process and their fibers, as values. From any thread or fiber, but not from a signal handler.
/// \throws std::bad_alloc
process_snapshot take_snapshot(stacks = stacks::shown);

/// The same for people, alike fibers together, or as one JSON object. \throws std::bad_alloc, and what `to` throws
void dump(std::ostream& to, const dump_options& = {});

}  // namespace weft
