// new_thread.hpp - starts a thread of the runtime; says what it was for if the system refuses.
#pragma once

#include <system_error>
#include <thread>
#include <utility>

#include "sched/inspect/quiet_threads.hpp"

namespace weft::detail {

/// Starts a thread that runs `body`. \throws std::system_error with the text `refused`
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
