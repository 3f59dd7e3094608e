// event_source.hpp - gives each event to all handlers that have been added, one event after another, on a fiber of its own.
//
// Rules
//   1  A handler gets the events notified after it was added, those of one notifier in the order notified. Handlers are called in the
//      order in which they were added.
//   2  A handler that throws is removed, and its failure goes to runtime_options::on_unhandled; the others go on.
//   3  A handler may notify. It does not add or remove handlers, or wait for an event: that is waiting for itself (actor_deadlock).
//   4  It ends as an actor does: with its last handle, once all events were handled, or by stop().
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <weft/actor.hpp>

namespace weft {

/// Names a handler of an event_source.
struct handler_id {
    std::uint64_t value = 0;
    friend bool operator==(const handler_id&, const handler_id&) = default;
};

namespace detail {

/// A failure of a handler, which is removed: to on_unhandled.
void report_here(std::exception_ptr) noexcept;

template <class E>
class event_actor {
public:
    using handler = std::function<void(const E&)>;
    struct add {
        using reply = handler_id;
        handler f;
    };
    struct remove {
        using reply = bool;
        handler_id id;
    };
    struct count {
        using reply = std::size_t;
    };
    struct event {
        E value;
    };

    handler_id handle(add a) {
        handlers_.push_back({++last_.value, std::move(a.f)});
        return last_;
    }
    bool handle(remove r) {
        return std::erase_if(handlers_, [&](const entry& h) { return h.id == r.id.value; }) != 0;
    }
    std::size_t handle(count) const { return handlers_.size(); }
    void handle(const event& e) {
        std::erase_if(handlers_, [&](const entry& h) {
            try {
                h.f(e.value);
                return false;
            } catch (const cancelled&) {
                throw;
            } catch (...) {
                report_here(std::current_exception());
                return true;
            }
        });
    }

private:
    struct entry {
        std::uint64_t id;
        handler f;
    };
    std::vector<entry> handlers_;
    handler_id last_;
};

}  // namespace detail

/// A handle: copies name the same one.
template <class E>
class event_source {
    using actor = detail::event_actor<E>;

public:
    /// In the current runtime, or in `rt`; as spawn_actor().
    explicit event_source(const actor_attributes& a = {}) : actor_(spawn_actor<actor>(a)) {}
    explicit event_source(runtime& rt, const actor_attributes& a = {}) : actor_(spawn_actor<actor>(rt, a)) {}

    /// \returns  when the handler gets all events to come. \parks \throws actor_gone, weft::cancelled
    handler_id add(std::function<void(const E&)> f) const { return actor_.ask(typename actor::add{std::move(f)}); }
    /// When it returns, the handler is not called any more. \returns false if there is none. \parks \throws as add()
    bool remove(handler_id id) const { return actor_.ask(typename actor::remove{id}); }

    /// Does not wait for the handlers. \parks \throws as actor_ref::send()
    void notify(E e) const { actor_.send(typename actor::event{std::move(e)}); }
    /// Waits until all handlers have had the event. \parks \throws as actor_ref::ask()
    void notify_and_wait(E e) const { actor_.ask(typename actor::event{std::move(e)}); }

    /// How many handlers there are. \parks \throws as add()
    [[nodiscard]] std::size_t size() const { return actor_.ask(typename actor::count{}); }
    void stop() const noexcept { actor_.stop(); }
    /// For monitors, links and names.
    const actor_handle& as_actor() const noexcept { return actor_; }

private:
    actor_ref<actor> actor_;
};

}  // namespace weft
