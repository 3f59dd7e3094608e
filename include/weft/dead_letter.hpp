// dead_letter.hpp - messages accepted, or dropped by a full mailbox, that no actor handles.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <cstdint>
#include <functional>
#include <string_view>
#include <typeinfo>

namespace weft {

/// A message that no actor will handle. Valid only during the call of the hook.
///
///     weft::on_dead_letter([](const weft::dead_letter& lost) {
///         std::cerr << "no actor handles a message to " << lost.actor << '\n';
///     });
struct dead_letter {
    enum class cause : std::uint8_t { actor_gone, no_room };

    std::string_view actor;  ///< the actor's name
    const std::type_info& type;  ///< the type of the message
    const void* message;
    cause why;

    /// \returns the message, if it is an M; else null.
    template <class M>
    [[nodiscard]] const M* get_if() const noexcept {
        return type == typeid(M) ? static_cast<const M*>(message) : nullptr;
    }
};

/// Sets the hook that is called for dead letters, in the whole process. Without a hook nothing
/// happens. The hook is called where the message was lost, on any fiber or thread, also several at
/// once; it must not park. What it throws is printed, at most once in five seconds, and ignored. A
/// message whose sender is told, by an exception or by try_send(), is no dead letter.
///
/// \returns  the previous hook.
WEFT_EXPORT std::function<void(const dead_letter&)> on_dead_letter(std::function<void(const dead_letter&)> hook);

/// \returns how many dead letters there have been in this process.
WEFT_EXPORT [[nodiscard]] std::uint64_t dead_letters() noexcept;

}  // namespace weft
