// sweep.hpp - looks at all WebSockets of a runtime now and then, so that none of them needs a timer.
//
// One fiber, which begins with the first WebSocket and ends with the last. Where fibers are limited there is
// none: then nobody is pinged.
//
// Invariants
//   SWEEP-1  The list, period_ and is_running_ change under mutex_, and so does an element only while it is in
//            the list. The lock of an element is taken under mutex_, never the other way round.
//   SWEEP-2  While there are elements, the fiber runs. It ends because it has seen, under mutex_, that there are
//            none; the next one to enter begins another.
#pragma once

#include <chrono>
#include <memory>

#include <weft/detail/annotated_locks.hpp>
#include <weft/detail/clock.hpp>
#include <weft/event.hpp>
#include <weft/mutex.hpp>

#include "base/intrusive_list.hpp"

namespace weft::detail::ws {

class sweep;

class swept : public list_hook<swept> {
public:
    /// Does what is due, without waiting.
    virtual void look(time_point now) noexcept = 0;
    /// The shortest time that it wants to keep.
    virtual std::chrono::nanoseconds period() const noexcept = 0;

    /// Before anything else. \throws std::bad_alloc
    void enter();
    void leave() noexcept;

protected:
    ~swept() = default;

private:
    std::shared_ptr<sweep> in_;
};

class sweep : public std::enable_shared_from_this<sweep> {
public:
    /// That of the caller's runtime.
    static std::shared_ptr<sweep> here();

    void enter(swept& s);
    void leave(swept& s) noexcept;

private:
    void begin();
    void run();
    bool goes_on(std::chrono::nanoseconds& period);
    void look_at_all() noexcept;

    weft::mutex mutex_;
    weft::event wake_{event::automatic};  // the last has left, or the period is shorter
    intrusive_list<swept> all_ WEFT_GUARDED_BY(mutex_);
    std::chrono::nanoseconds period_ WEFT_GUARDED_BY(mutex_){};
    bool is_running_ WEFT_GUARDED_BY(mutex_) = false;
};

}  // namespace weft::detail::ws
