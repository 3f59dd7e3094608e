// event_source.hpp - gives each event to all handlers, one event after another, on its own fiber.
//
// Rules
//   1  A handler gets the events notified after it was added; those of one notifier come in the
//      order notified. Handlers are called in the order in which they were added.
//   2  A handler that throws is removed, and its failure goes to runtime_options::on_unhandled. The
//      others go on.
//   3  A handler may notify. It must not add or remove handlers or wait for an event: it would wait
//      for itself (actor_deadlock).
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
#include <weft/detail/export.hpp>

namespace weft {

/// Names a handler of an event_source; add() returns it and remove() takes it. See
/// docs/guide/10-actors.md.
struct handler_id {
    std::uint64_t value = 0;
    friend bool operator==(const handler_id&, const handler_id&) = default;
};

namespace detail {

/// Reports a handler's failure to on_unhandled; the handler is then removed.
WEFT_EXPORT void report_here(std::exception_ptr) noexcept;

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

/// Calls its handlers for each event. A handle: copies name the same event source.
///
///     weft::event_source<std::string> news({.name = "news"});
///     news.add([](const std::string& n) { std::cout << n << '\n'; });
///     news.notify("rain");  // notify_and_wait() would also wait for the handlers
///
/// See docs/guide/10-actors.md.
template <class E>
class event_source {
    using actor = detail::event_actor<E>;

public:
    /// Starts the actor that calls the handlers, in the current runtime or in `rt`, as
    /// spawn_actor() does.
    explicit event_source(const actor_attributes& a = {}) : actor_(spawn_actor<actor>(a)) {}
    explicit event_source(runtime& rt, const actor_attributes& a = {}) : actor_(spawn_actor<actor>(rt, a)) {}

    /// Adds a handler. It gets all events notified after this call has returned.
    /// \returns the handler's id. \parks \throws actor_gone, weft::cancelled
    handler_id add(std::function<void(const E&)> f) const { return actor_.ask(typename actor::add{std::move(f)}); }
    /// Removes a handler. After this call has returned, the handler is not called any more.
    /// \returns false if there is no such handler. \parks \throws as add()
    bool remove(handler_id id) const { return actor_.ask(typename actor::remove{id}); }

    /// Sends an event and does not wait for the handlers. \parks \throws as actor_ref::send()
    void notify(E e) const { actor_.send(typename actor::event{std::move(e)}); }
    /// Sends an event and waits until all handlers have had it. \parks \throws as actor_ref::ask()
    void notify_and_wait(E e) const { actor_.ask(typename actor::event{std::move(e)}); }

    /// \returns how many handlers there are. \parks \throws as add()
    [[nodiscard]] std::size_t size() const { return actor_.ask(typename actor::count{}); }
    void stop() const noexcept { actor_.stop(); }
    /// The event source as an actor, for monitors, links and names.
    [[nodiscard]] const actor_handle& as_actor() const noexcept { return actor_; }

private:
    actor_ref<actor> actor_;
};

}  // namespace weft
