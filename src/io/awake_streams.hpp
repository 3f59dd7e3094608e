// awake_streams.hpp - the streams of a server that hold a fiber each, and the end of their long waits.
//
// A connection that waits for its next message may do so for a second or more. A timer for each wait
// would cost a tenth of a request (docs/design/http.md). So one fiber looks at all of them now and
// then, and calls those that have waited for long.
//
//  a stream  means                                    leaves by
//  busy      its fiber does anything else             set_idle() -> idle | set_timed() -> timed
//  idle      its fiber waits for the next message     set_busy() -> busy | a sweep, call_all() -> called
//                                                     | hang_up() -> hung_up
//  timed     the same, and it has set a deadline      set_busy() -> busy | hang_up() -> hung_up
//  called    its wait is to end, with nothing read    set_busy() -> busy
//  hung_up   its owner was told to end it             set_busy() -> busy
//
// Invariants
//   AWAKE_STREAMS-1  A stream enters before its fiber waits, and leaves before it is moved or destroyed.
//                    Other fibers touch it only under mutex_.
//   AWAKE_STREAMS-2  A call is not missed. It is stored before an event of the stream's source is
//                    raised; the fiber reads the count of events before it looks whether it is
//                    called. So it sees the call, or the event ends its wait (SOURCE-4). The call of
//                    an earlier wait costs a later one at most a needless attempt.
//   AWAKE_STREAMS-3  A sweep calls no stream before its limit: word_ holds the number of sweeps before
//                    set_idle(), between n later sweeps lie n - 1 periods, and the call replaces
//                    just that word.
//   AWAKE_STREAMS-4  What a wave of streams has freed goes back to the system. A wave is `wave` called
//                    streams and more. It is over at a sweep that calls less than a sixteenth of what
//                    another sweep of the wave has called; so never while streams come and fall asleep
//                    steadily. Sweeps go on until then, also if no stream is left.
#pragma once

#include <chrono>
#include <cstdint>

#include <weft/detail/annotated_locks.hpp>
#include <weft/detail/export.hpp>
#include <weft/event.hpp>
#include <weft/io/byte_stream.hpp>
#include <weft/mutex.hpp>
#include <weft/no_limit.hpp>
#include <weft/scope.hpp>

#include "base/atomic.hpp"
#include "base/intrusive_list.hpp"
#include "io/awake_word.hpp"

namespace weft::detail {

class awake_streams;
class io_source;

/// What other fibers may know of a stream that holds a fiber.
class WEFT_EXPORT awake_stream : public list_hook<awake_stream> {
public:
    explicit awake_stream(const io::byte_stream& s) noexcept : source_(source_below(s)) {}

    /// Whether it is `s`, whose reads can be called: if it is one descriptor, or a layer over one.
    bool can_call(const io::byte_stream& s) const noexcept { return source_ && source_ == source_below(s); }
    /// Its reads may be called from now on: by read_late_socket().
    void set_idle(const awake_streams& in) noexcept;
    void set_timed() noexcept { word_.set_timed(); }
    void set_busy() noexcept { word_.set_busy(); }
    /// To be asked at each attempt of the read, after its count of events (AWAKE_STREAMS-2).
    bool is_called() const noexcept { return word_.is_called(); }

protected:
    /// \returns  whether it was idle, and is hung up now.
    bool set_hung_up() noexcept { return word_.hang_up(); }

private:
    friend class awake_streams;

    void call(std::uint32_t idle_word) noexcept;

    io_source* const source_;
    awake_word word_;
};

class WEFT_EXPORT awake_streams {
public:
    // chosen: a limit of a second is late by half a second at most, and a sweep of ten thousand streams
    // is short beside it
    static constexpr auto default_period = std::chrono::milliseconds(500);

    // chosen: each frees some hundred bytes, and a megabyte is worth some milliseconds
    static constexpr std::size_t default_wave = 4096;

    explicit awake_streams(std::chrono::nanoseconds period = default_period, std::size_t wave = default_wave) noexcept
        : period_(period), wave_(wave) {}

    /// Waits of `limit` and longer are ended, at most two periods later. Without effect for less than
    /// two periods, and for no_limit. Called before there are streams.
    void end_waits_after(std::chrono::nanoseconds limit) noexcept;
    bool ends_waits() const noexcept { return most_sweeps_ != 0; }
    /// The number of sweeps so far, and the time that has passed since there were `before`: never more
    /// than that, and a period less.
    std::uint32_t sweeps() const noexcept { return sweeps_.load(relaxed); }
    std::chrono::nanoseconds since(std::uint32_t before) const noexcept {
        const auto n = sweeps() - before;
        return n == 0 ? period_.zero() : (n - 1) * period_;  // the first of them may have come at once
    }

    void enter(awake_stream& s);
    void leave(awake_stream& s) noexcept;

    /// Sweeps while there are streams, in a fiber of its own.
    ///
    /// \parks   until it is stopped.
    /// \throws  weft::cancelled.
    void sweep_until_stopped();

    /// How many waves were over (AWAKE_STREAMS-4).
    unsigned waves() const noexcept { return waves_.load(relaxed); }

    /// Calls every stream that is idle, from now until it is busy.
    void call_all();

    /// Calls f(stream) for each; no stream leaves meanwhile.
    template <class F>
    void for_each(F&& f) {
        const lock_guard lock(mutex_);
        for (auto* s = streams_.front(); s; s = streams_.next(*s)) f(*s);
    }

private:
    bool has_swept() noexcept {
        const lock_guard lock(mutex_);
        return swept_ > 0;
    }
    void sweep();
    void end_wave() noexcept;

    const std::chrono::nanoseconds period_;
    const std::size_t wave_;
    // Used by the fiber that sweeps. Since the last wave was over: how many streams were called, and how many
    // by the sweep that has called most.
    std::size_t called_ = 0, most_called_ = 0;
    atomic<unsigned> waves_{0};
    std::uint32_t most_sweeps_ = 0;  // of one wait; 0: there is no limit
    atomic<std::uint32_t> sweeps_{0};
    weft::mutex mutex_;
    weft::event came_{event::automatic};  // set when there is one where there was none
    intrusive_list<awake_stream> streams_ WEFT_GUARDED_BY(mutex_);
    std::size_t swept_ WEFT_GUARDED_BY(mutex_) = 0;  // how many of streams_ may be called
};

inline void awake_stream::set_idle(const awake_streams& in) noexcept { word_.set_idle(in.sweeps()); }

/// Runs f, with sweeps if waits have a limit.
///
/// \parks   as f does.
/// \throws  what f throws, or if there is no fiber for the sweeps.
template <class F>
void with_sweeps(awake_streams& of, F&& f) {
    if (!of.ends_waits()) return f();
    with_scope([&](scope& sweeps) {
        sweeps.spawn({.name = "idle limits"}, [&of] { of.sweep_until_stopped(); });
        f();
        sweeps.request_stop();
    });
}

}  // namespace weft::detail
