// new_thread.hpp - starts a thread of the runtime's, and says what for if the system refuses.
#pragma once

#include <system_error>
#include <thread>
#include <utility>

namespace weft::detail {

/// \throws std::system_error
template <class F>
std::thread new_thread(const char* refused, F&& body) {
    try {
        return std::thread(std::forward<F>(body));
    } catch (const std::system_error& e) {
        throw std::system_error(e.code(), refused);
    }
}

}  // namespace weft::detail
