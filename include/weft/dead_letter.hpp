// dead_letter.hpp - messages that were accepted, or dropped by a full mailbox, and that no actor will ever handle.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <typeinfo>

namespace weft {

/// Valid during the call of the hook.
struct dead_letter {
    enum class cause : std::uint8_t { actor_gone, no_room };

    std::string_view actor;  ///< its name
    const std::type_info& type;  ///< of the message
    const void* message;
    cause why;

    /// The message, if it is an M.
    template <class M>
    const M* get_if() const noexcept {
        return type == typeid(M) ? static_cast<const M*>(message) : nullptr;
    }
};

/// What happens with dead letters, in the whole process: nothing, unless a hook is set. It runs wherever the message was lost, must
/// not throw, and should not wait. Messages whose sender is told instead, by an exception or by try_send(), are none.
///
/// \returns  the hook there was.
std::function<void(const dead_letter&)> on_dead_letter(std::function<void(const dead_letter&)> hook);

/// How many there have been in this process.
std::uint64_t dead_letters() noexcept;

}  // namespace weft
