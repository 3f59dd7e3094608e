// loop.hpp - functions that weft's I/O engine calls, on one thread and without fibers.
//
// The engine and its sources are those under every stream of weft, unchanged: the engine wakes
// what waits for a source. Here no fiber waits, but a cell that calls a function on the spot. What a
// fiber adds (a switch, a run queue, the scheduler's loop) is missing; so the difference to the
// variant `fibers` is the price of the fibers (bench/service/README.md).
//
// Invariants
//   LOOP-1  A function is called from the engine's poll(), when the engine holds no lock
//           (ENGINE-5). It may receive, send, and wait again.
//   LOOP-2  A watched descriptor is destroyed only by a function of at_turn_end(), or after the
//           loop. Otherwise the engine might be about to call it for the other way.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "fiber/waiter.hpp"
#include "io/engine.hpp"
#include "io/source.hpp"

namespace variants {

/// One in a process at a time.
class loop {
public:
    /// \throws  std::system_error
    loop();
    ~loop();
    loop(const loop&) = delete;
    loop& operator=(const loop&) = delete;

    /// Calls functions until end(). A turn is what one poll of the engine brings.
    void run();
    void end() noexcept { ended_ = true; }

    /// `f` is called after each turn, in order of addition. To be called before run().
    void at_turn_end(std::function<void()> f) { turn_ends_.push_back(std::move(f)); }
    /// `f` is called about once in each `tick`. To be called before run().
    void at_tick(std::function<void()> f) { ticks_.push_back(std::move(f)); }

    /// The time at which the current turn began.
    weft::detail::time_point now() const noexcept { return now_; }

    static constexpr std::chrono::milliseconds tick{250};  // chosen: limits are whole seconds

private:
    const std::unique_ptr<weft::detail::io_engine> engine_;
    std::vector<std::function<void()>> turn_ends_, ticks_;
    weft::detail::time_point now_, next_tick_;
    bool ended_ = false;
};

/// A non-blocking descriptor, and the functions to call when it is ready. It is made and used on the
/// thread of the loop.
class watched {
public:
    struct functions {
        std::function<void()> readable;
        std::function<void()> writable;
    };

    /// Takes `fd`, and closes it at the end.
    watched(int fd, functions call);
    ~watched();
    watched(const watched&) = delete;
    watched& operator=(const watched&) = delete;

    int descriptor() const noexcept { return source_->descriptor(); }

    // Each tries once. If it would block, the result is -EAGAIN, and the function of that way is
    // called once when another attempt makes sense. Other failures are negated errnos.

    /// Receives from a socket. 0: the end.
    long receive(std::span<char> into);
    /// Sends what fits.
    long send(std::string_view from);
    /// \returns  a new non-blocking descriptor.
    long accept();
    /// Reads from a descriptor that is no socket.
    long read(std::span<char> into);

    /// Has the writable function called when the descriptor is writable.
    /// \returns  -EAGAIN, or 0 if it is writable already.
    long await_writable();

private:
    using io_direction = weft::detail::io_direction;

    struct side : weft::detail::wait_cell {
        explicit side(std::function<void()> f);
        const std::function<void()> call;
        std::optional<weft::detail::waiter> entry;  // has a value while it waits
    };

    side& of(io_direction way) noexcept { return way == io_direction::read ? reading_ : writing_; }
    bool await(io_direction way, weft::detail::io_source::event_count seen, long& refusal);
    void give_up(io_direction way) noexcept;
    template <class Attempt>
    long attempt(io_direction way, Attempt&& call);

    weft::detail::io_source* const source_;
    side reading_, writing_;
};

}  // namespace variants
