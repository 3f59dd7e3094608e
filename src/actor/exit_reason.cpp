// exit_reason.cpp - why an actor ended, in words; and the exceptions that carry a reason.
#include <weft/exit_reason.hpp>

#include <cstring>
#include <utility>

#include "arch/sanitizer.hpp"
#include "base/in_quotes.hpp"

namespace weft {
namespace {

std::string text_of(const std::exception_ptr& failure) {
    if (!failure) return "unknown";
    try {
        std::rethrow_exception(failure);
    } catch (const std::exception& e) {
        return e.what();
    } catch (...) {
        return "an exception that is not a std::exception";
    }
}

std::string quoted(std::string_view actor) { return actor.empty() ? std::string("without a name") : detail::in_quotes(actor); }

}  // namespace

// libstdc++ counts the owners of an exception in a way that ThreadSanitizer does not see, so the
// last reader of an exception would seem to race with its destruction.
exit_reason::~exit_reason() {
#if WEFT_UNDER_TSAN
    void* object;
    static_assert(sizeof object == sizeof failure);
    std::memcpy(&object, static_cast<const void*>(&failure), sizeof object);
    if (!object) return;
    __tsan_acquire(object);
    __tsan_release(object);
#endif
}

std::string exit_reason::what() const {
    switch (kind) {
        case exit_kind::normal: return "normal";
        case exit_kind::stopped: return "stopped";
        case exit_kind::killed: return failure ? "killed: " + text_of(failure) : "killed";
        case exit_kind::failed: return "failed: " + text_of(failure);
    }
    return "?";
}

actor_gone::actor_gone(std::string_view actor, exit_reason why)
    : std::runtime_error("weft: actor " + quoted(actor) + " is gone: " + why.what()), why_(std::move(why)) {}

linked_failure::linked_failure(std::string_view actor, exit_reason why)
    : std::runtime_error("weft: linked with actor " + quoted(actor) + ", which ended: " + why.what()), why_(std::move(why)) {}

no_reply::no_reply(std::string_view actor) : std::runtime_error("weft: actor " + quoted(actor) + " has not answered") {}

actor_deadlock::actor_deadlock(const std::string& who_waits_for_whom) : std::logic_error("weft: " + who_waits_for_whom) {}

}  // namespace weft
