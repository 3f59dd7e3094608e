// without_pipe_signal.hpp - for calls that raise SIGPIPE and have no flag against it.
#pragma once

#include <errno.h>
#include <signal.h>
#include <time.h>

#include <cstddef>

namespace weft::detail {

/// Calls `call`, which moves up to `most` bytes and returns a system_result(). A SIGPIPE that this
/// raises in the calling thread is discarded, unless one was pending before. sendfile() and splice()
/// move in steps: the one that fails raises it, and the result is what those before have moved.
template <class Call>
long without_pipe_signal(std::size_t most, Call&& call) noexcept {
    sigset_t pipe_signal, before, pending;
    ::sigemptyset(&pipe_signal);
    ::sigaddset(&pipe_signal, SIGPIPE);
    ::sigpending(&pending);
    ::pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    const long result = call();
    const bool may_have_raised = result == -EPIPE || (result >= 0 && static_cast<std::size_t>(result) < most);
    if (may_have_raised && !::sigismember(&pending, SIGPIPE)) {
        constexpr timespec at_once{0, 0};
        while (::sigtimedwait(&pipe_signal, nullptr, &at_once) < 0 && errno == EINTR) {}
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return result;
}

}  // namespace weft::detail
