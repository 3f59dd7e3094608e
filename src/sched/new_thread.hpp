// new_thread.hpp - starts a thread of the runtime's, and says what for if the system refuses.
#pragma once

#include <system_error>
#include <thread>
#include <utility>

#include "sched/inspect/quiet_threads.hpp"

namespace weft::detail {

/// \throws std::system_error
template <class F>
std::thread new_thread(const char* refused, F&& body) {
    try {
        return std::thread([its = std::forward<F>(body)]() mutable {
            const quiet_thread of_weft;
            its();
        });
    } catch (const std::system_error& e) {
        throw std::system_error(e.code(), refused);
    }
}

}  // namespace weft::detail
