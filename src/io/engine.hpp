// engine.hpp - what src/io asks of an I/O engine, which is also the scheduler's driver.
//
// An engine reports readiness, edge by edge, of the sources that were added to it: it calls
// io_source::on_event() for each event. Each engine has a folder of its own; only that folder,
// make_engine.cpp and the list of tests/io/engines.hpp name it. docs/design/engines.md says what a
// second engine needs, and where completions will go.
//
// Invariants
//   ENGINE-1  add() of a descriptor that is ready already is followed by an event, and so is each
//             change to ready after it. There may be more events than that, and some may be meant
//             for an earlier use of the source, but none is missing (SOURCE-3, SOURCE-4).
//   ENGINE-2  add(), remove() and wake() may come from any thread, also during a poll(). A thread
//             outside the engine's runtime pins the engine before it calls it for a source, since
//             the engine might end meanwhile. It takes the pin under the lock of a source that
//             names the engine. io_source::close_descriptor(), which cannot tell which thread it
//             runs on, always takes one.
//   ENGINE-3  The destructor of an engine calls leave_all_sources() before it gives anything up:
//             every source is detached then, and there is no pin any more.
//   ENGINE-4  Each wake() ends a poll(): the one under way, or else the next one. Several that come
//             during one poll() may end that one only; a wake() that comes after it has returned
//             ends another. What a thread wrote before its wake() is visible after the poll() that
//             the wake() has ended.
//   ENGINE-5  An engine holds no lock of its own while it calls on_event(), which takes the
//             source's lock and unparks waiters: these may call wake(), add() and remove() at once.
//             Nor does it hold one while it calls hooked_descriptor::on_event(), whose waiters may call
//             report_once().
//   ENGINE-6  If a descriptor has one of the events of a report_once(), or gets one later, there is one
//             call of hooked_descriptor::on_event() for its number, and none more until the next
//             report_once(). Each engine watches a number for a source or for hooked calls, not for both:
//             add() takes a number over from hooked calls (hooked_descriptor::adopted_by()).
#pragma once

#include <cstdint>
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
    /// \returns 0, or a negated errno, and then nothing was added: -EPERM for a descriptor that
    ///     cannot be polled.
    virtual long add(int fd, io_source& source) noexcept = 0;
    /// No event of `fd` begins after this; one may still be under way (SOURCE-3). The engine no
    /// longer keeps the file open, so close() of its last descriptor takes effect. `fd` may be
    /// added again, for another source. Does nothing if `fd` was removed already.
    virtual void remove(int fd) noexcept = 0;
    /// Whether the close of the last descriptor of a file does what remove() does.
    virtual bool forgets_at_close() const noexcept { return false; }

    enum class once : bool { added, changed };
    /// Reports the first of these events (as those of poll(2); errors always count) of `fd` to
    /// hooked_descriptor::on_event(), from any thread of the runtime. `changed`: the engine was asked
    /// before for this number.
    /// \returns 0, or a negated errno: -EEXIST, -ENOENT if it was `added` or `changed` wrongly; -EPERM
    ///     for a descriptor that cannot be polled.
    virtual long report_once(int fd, short events, once how) noexcept = 0;
    /// A bit that no other engine of the process has at the moment; 0 if there are too many engines.
    std::uint32_t hooked_bit() const noexcept { return hooked_bit_; }

    /// Called under the lock of a source that names this engine (ENGINE-2).
    void pin() noexcept { pins_.fetch_add(1, relaxed); }
    /// Called without that lock.
    // Pairs with the acquire in leave_all_sources().
    void unpin() noexcept { pins_.fetch_sub(1, release); }

protected:
    io_engine() noexcept;

    /// Its sources live on, unregistered; their waiters look for another way to wait (ENGINE-3).
    void leave_all_sources() noexcept;

private:
    atomic<unsigned> pins_{0};
    const std::uint32_t hooked_bit_;
};

/// The engine of a runtime. \throws std::system_error
std::unique_ptr<io_engine> make_io_engine();

}  // namespace weft::detail
