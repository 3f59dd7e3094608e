// idle_streams.hpp - streams that wait for their peer without a fiber each.
//
// A server keeps thousands of connections that say nothing for minutes. As a fiber each of them
// holds a stack; here it holds its stream and a registration with it. When the peer sends something
// or leaves, next() returns the stream to the one fiber that waits for all of them.
//
//  an entry   list      means                                    leaves by
//  apart      none      it belongs to the caller                 add() -> asleep, or due
//  asleep     asleep_   its wait is registered with its stream   a claim of the wait -> due,
//                                                                take() -> apart
//  due        due_      its wait is over                         next() -> apart
//
// The wait is that of a wait_cell (fiber/waiter.hpp) whose `make_ready` puts the entry into due_.
// It is claimed by the first of: an event of the stream, the entry's time, take(), end().
//
// Invariants
//   IDLE_STREAMS-1  The lists, size_, is_watched_ and is_ended_ change only under lock_.
//   IDLE_STREAMS-2  The registration with the stream is made under lock_, after a look at the
//                   stream without it. It is refused if there was an event since that look
//                   (SOURCE-4). So every later event claims the wait of an entry in asleep_. The
//                   lock of a stream's waiters may be taken under lock_; no thread takes lock_
//                   under such a lock, since a waiter is unparked without it.
//   IDLE_STREAMS-3  The one thread that has claimed an entry's wait moves the entry to due_, and
//                   does not touch it afterwards; nor does add() after it has given lock_ up.
//   IDLE_STREAMS-4  An entry is apart only after its waiter has left the stream's list of waiters.
//                   A thread that claims the waiter in that list, or finds it claimed there, takes
//                   it out; for any other entry next(), take() and clear() do.
//   IDLE_STREAMS-5  While there are entries, exactly one caller is responsible for next(). add()
//                   returns true to the caller that becomes responsible. The duty ends when next()
//                   throws, or returns null because it has seen, under lock_, that there are no
//                   entries.
//   IDLE_STREAMS-6  watched_until_ is the time for which the caller of next() waits, or last waited. An
//                   entry that comes to the front with an earlier limit ends that wait.
#pragma once

#include <memory>

#include <weft/detail/annotated_locks.hpp>
#include <weft/detail/clock.hpp>
#include <weft/detail/export.hpp>
#include <weft/io/byte_stream.hpp>

#include "base/coarse_time.hpp"
#include "base/intrusive_list.hpp"
#include "base/spin_lock.hpp"
#include "fiber/waiter.hpp"

namespace weft::detail {

class idle_streams_core;

/// A stream that can be asleep. Owners derive from it to add what they know of the connection.
class WEFT_EXPORT idle_stream : public list_hook<idle_stream>, private wait_cell {
public:
    /// `limit`: when next() returns it although its peer is silent. Limits are looked at in the
    /// order of add(), so an entry whose limit is earlier than that of one before it may be late.
    idle_stream(io::byte_stream s, time_point limit) noexcept : wait_cell(make_due), stream(std::move(s)), until_(limit) {}

    io::byte_stream stream;

    /// For the next add(). It belongs to the caller.
    void set_limit(time_point limit) noexcept { until_ = limit; }
    /// After next(): whether its limit has passed, rather than that its peer did something.
    bool has_timed_out() const noexcept { return outcome == outcome_timed_out; }
    /// After next(): whether it has slept since add(), rather than been due at once.
    bool has_slept() const noexcept { return has_slept_; }
    time_point limit() const noexcept { return until_; }

private:
    friend class idle_streams_core;

    static void make_due(wait_cell& cell) noexcept;

    bool is_ready();  // looks at the stream
    idle_streams_core& in() const noexcept;  // `object` of the cell
    [[nodiscard]] bool enlist(coarse_time now) noexcept;
    void delist() noexcept;

    time_point until_;
    std::unique_ptr<io::byte_readiness> watch_;  // null: the stream is one descriptor
    std::uint32_t seen_ = 0;                     // its count of events at the last look
    bool has_slept_ = false;
    waiter me_{*this, 0};
};

/// What idle_streams below has for entries of any type. add() and next() are its.
class WEFT_EXPORT idle_streams_core {
public:
    explicit idle_streams_core(void (*destroy)(idle_stream&) noexcept) noexcept : destroy_(destroy) {}
    ~idle_streams_core() { clear(); }
    idle_streams_core(const idle_streams_core&) = delete;
    idle_streams_core& operator=(const idle_streams_core&) = delete;

    /// All entries are due from now on, those as well that are added later.
    void end() noexcept;

    /// Destroys all entries, and takes end() back. No other call may be under way.
    void clear() noexcept;

    std::size_t size() const noexcept {
        const lock_guard guard(lock_);
        return size_;
    }

    /// For dumps.
    struct sight {
        std::size_t count;  // as size()
        bool any_asleep;
        coarse_time since;  // when the one that has slept longest fell asleep, if there is one
    };
    sight look() const noexcept;

protected:
    bool add(idle_stream& e);
    idle_stream* next();
    bool take(idle_stream& e) noexcept;
    idle_stream* take_oldest() noexcept;

private:
    friend class idle_stream;

    void make_due(idle_stream& e) noexcept;
    std::size_t claim_until(time_point now, wait_outcome why, std::size_t most) noexcept WEFT_REQUIRES(lock_);
    idle_stream* pop_due() noexcept WEFT_REQUIRES(lock_);
    bool wake(idle_stream& e, wait_outcome why) noexcept WEFT_REQUIRES(lock_);

    void (*const destroy_)(idle_stream&) noexcept;
    mutable spin_lock lock_;
    intrusive_list<idle_stream> asleep_ WEFT_GUARDED_BY(lock_);  // in the order of add()
    intrusive_list<idle_stream> due_ WEFT_GUARDED_BY(lock_);
    std::size_t size_ WEFT_GUARDED_BY(lock_) = 0;           // of both lists
    wait_list watcher_ WEFT_GUARDED_BY(lock_);
    bool is_watched_ WEFT_GUARDED_BY(lock_) = false;
    time_point watched_until_ WEFT_GUARDED_BY(lock_) = never;
    bool is_ended_ WEFT_GUARDED_BY(lock_) = false;
};

/// Owns entries of one type, which derives from idle_stream.
template <class Entry>
class idle_streams : public idle_streams_core {
public:
    idle_streams() noexcept : idle_streams_core([](idle_stream& e) noexcept { delete static_cast<Entry*>(&e); }) {}

    /// Takes the entry, which is asleep or due from now on.
    ///
    /// \returns  whether the caller must call next() from now on until it returns null.
    /// \throws   std::bad_alloc for a stream that is not one descriptor; the entry is the caller's
    ///           then.
    /// \parks    if the look at a stream does: that of a simulated network.
    [[nodiscard]] bool add(std::unique_ptr<Entry>&& e) {
        const bool is_first = idle_streams_core::add(*e);
        static_cast<void>(e.release());  // IDLE_STREAMS-3: it may be gone already
        return is_first;
    }

    /// Takes an entry back that add() was given and next() has not returned, if no event of its stream has
    /// come. It does not wake the caller of next(), even if this was the last entry.
    ///
    /// \returns  the entry; null if it is due, and so next() returns it.
    std::unique_ptr<Entry> take(Entry& e) noexcept { return std::unique_ptr<Entry>(idle_streams_core::take(e) ? &e : nullptr); }
    /// Takes back the entry that has been asleep for longest; null if none is asleep.
    std::unique_ptr<Entry> take_oldest() noexcept {
        return std::unique_ptr<Entry>(static_cast<Entry*>(idle_streams_core::take_oldest()));
    }
    /// \returns  the next entry that is due; null if there are no entries.
    /// \parks    while none is due.
    /// \throws   weft::cancelled.
    std::unique_ptr<Entry> next() { return std::unique_ptr<Entry>(static_cast<Entry*>(idle_streams_core::next())); }
};

}  // namespace weft::detail
