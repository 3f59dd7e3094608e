// signal.hpp - signals as events that a fiber waits for, so that a server can end in an orderly way.
#pragma once

#include <initializer_list>
#include <system_error>

#include <weft/detail/io_handle.hpp>

namespace weft::io {

/// Takes the given signals of this process while it lives, whichever thread the system delivers them to, and hands them to
/// wait(). Threads' signal masks stay as they are. Several objects may ask for one signal: each gets it. When the last goes,
/// what the signal did before is restored; a handler installed before is not called meanwhile.
///
/// A signal that arrives several times before it is taken counts once.
class signals {
public:
    /// \throws  std::system_error: invalid_argument, with the reason, for a number that nobody can wait for: none at all, SIGKILL, SIGSTOP, those
    ///          that the C library keeps (32, 33), and faults (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS), which end the program or
    ///          go to a handler of its own.
    explicit signals(std::initializer_list<int> numbers);
    ~signals();
    signals(const signals&) = delete;
    signals& operator=(const signals&) = delete;

    /// Waits for one of the signals and takes it.
    ///
    /// \returns  its number; of several that are pending, the lowest.
    /// \parks    until one arrives.
    /// \throws   weft::cancelled.
    int wait();
    int wait(std::error_code& error);

private:
    detail::io_handle event_;
    int slot_ = -1;
};

}  // namespace weft::io
