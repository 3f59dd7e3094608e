// engine.hpp - what src/io asks of an I/O engine, which is also the scheduler's driver.
//
// An engine reports readiness, edge by edge, of the sources that were added to it. It calls
// io_source::on_event(), and nothing else of this layer. Each engine has a folder of its own;
// only that folder names it. docs/design/io.md, "Engines", says where completions will go.
//
// Invariants
//   ENGINE-1  add() of a descriptor that is ready already is followed by an event, and so is each
//             change to ready after it. An event may come too often, and for an earlier use of the
//             source, but never too seldom (SOURCE-3, SOURCE-4).
//   ENGINE-2  A thread that calls into an engine for a source, and is not running a fiber of the
//             engine's runtime, holds a pin, which it took under the source's lock.
//   ENGINE-3  The destructor of an engine calls leave_all_sources() before it gives anything up:
//             every source is detached then, and there is no pin any more.
#pragma once

#include <memory>

#include "base/atomic.hpp"
#include "sched/driver.hpp"

namespace weft::detail {

class io_source;

class io_engine : public driver {
public:
    ~io_engine() override;
    io_engine(const io_engine&) = delete;
    io_engine& operator=(const io_engine&) = delete;

    /// Reports the events of `fd` to `source` from now on, for both ways, until remove().
    /// \returns 0, or a negated errno; then nothing was added.
    virtual long add(int fd, io_source& source) noexcept = 0;
    /// Ends that. An event of the source may still be under way (SOURCE-3).
    virtual void remove(int fd) noexcept = 0;

    // Called under the lock of a source that names this engine (ENGINE-2).
    void pin() noexcept { pins_.fetch_add(1, relaxed); }
    // Pairs with the acquire in leave_all_sources().
    void unpin() noexcept { pins_.fetch_sub(1, release); }

protected:
    io_engine() noexcept;

    /// Its sources live on, unregistered; their waiters look for another way to wait (ENGINE-3).
    void leave_all_sources() noexcept;

private:
    atomic<unsigned> pins_{0};
};

/// The engine of a runtime. \throws std::system_error
std::unique_ptr<io_engine> make_io_engine();

}  // namespace weft::detail
