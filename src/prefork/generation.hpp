// generation.hpp - the workers that were started together, under a supervisor of their own.
//
//  a generation is  meaning                                        leaves by
//  next             started, not all of its workers were ready     ready -> current | a failure: abandoned -> ending
//  current          serves                                         a newer one is ready, a signal, or its limit of restarts
//                                                                  -> ending
//  ending           its workers have got SIGTERM                   its last worker -> ended
//  ended            its supervisor has no children; destroyed      -
//
// A generation is adopted if its workers were started by the program that was this process before.
// It is like any other: a worker that ends is started again, as the program that is there by then.
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <weft/channel.hpp>
#include <weft/child_process.hpp>
#include <weft/scope.hpp>

#include "prefork/role.hpp"

namespace weft::prefork {

/// What the master's fiber is told.
struct event_of_master {
    enum class kind : std::uint8_t {
        signal,  // `number` is the signal
        worker_ended,
        ready,
        ended,  // the whole generation
        checked  // a new program; `text` is empty, or says what is wrong with it
    };
    kind what;
    unsigned number = 0;  // of the generation
    std::string text = {};
    unsigned worker = 0;  // 1 to options::processes
    bool failed = false;  // the worker has not ended of its own accord after it was ready
};

class generation {
public:
    /// Starts the workers; `fibers` watch them, and `events` is told. The first ones are the
    /// processes `running`, if these are given.
    generation(unsigned number, const options&, const std::vector<std::string>& words, std::span<const named_descriptor> given,
               scope& fibers, channel<event_of_master>& events, std::vector<detail::running_process> running = {});

    unsigned number() const noexcept { return number_; }
    std::size_t size() const noexcept { return workers_.size(); }
    bool is_ending() const noexcept { return is_ending_; }
    bool has_ready_workers() const noexcept;
    /// Counts an end of a worker. \returns whether its limit of restarts is passed
    bool note_failure(unsigned worker);

    /// Ends the workers by SIGTERM, the youngest first, all at once.
    void end() noexcept;
    void kill() noexcept;

    /// Lets no worker be started until release(). \returns what the next program needs to know;
    /// nothing while a worker is being started
    std::optional<std::vector<detail::running_process>> hold();
    void release() noexcept;

private:
    const unsigned number_;
    const unsigned max_restarts_;
    const std::chrono::nanoseconds within_;
    std::vector<std::deque<std::chrono::steady_clock::time_point>> failures_;  // of each worker, within within_
    bool is_ending_ = false;
    std::vector<child_process> workers_;
    supervisor supervisor_;
};

}  // namespace weft::prefork
