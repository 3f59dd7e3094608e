// signal.hpp - signals as events that a fiber waits for, so that a server can end in order.
#pragma once

#include <initializer_list>
#include <system_error>

#include <weft/detail/export.hpp>
#include <weft/detail/io_handle.hpp>

namespace weft::io {

/// Receives the given signals of this process during its lifetime, on whichever thread the system
/// delivers them, and returns them from wait():
///
///     weft::io::signals stop({SIGINT, SIGTERM});
///     stop.wait();
///     server.stop(10s);
///
/// The signal masks of threads stay as they are. Several objects may ask for the same signal, and
/// each gets it. When the last such object is destroyed, the previous action of the signal is
/// restored; a handler installed before is not called until then.
///
/// A signal that arrives several times before wait() takes it counts once. See docs/guide/4-tcp.md.
class WEFT_EXPORT signals {
public:
    /// \throws  std::system_error: invalid_argument, with the reason, for a number that cannot be
    ///          waited for: one that is no signal, SIGKILL, SIGSTOP, those the C library reserves
    ///          (32, 33), and faults (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS), which end
    ///          the program or go to a handler of their own.
    explicit signals(std::initializer_list<int> numbers);
    /// On failure the object gets no signals, and wait() fails with bad_file_descriptor.
    signals(std::initializer_list<int> numbers, std::error_code& error);
    ~signals();
    signals(const signals&) = delete;
    signals& operator=(const signals&) = delete;

    /// Waits for one of the signals and takes it.
    ///
    /// \returns  its number; if several are pending, the lowest.
    /// \parks    until one arrives.
    /// \throws   weft::cancelled.
    int wait();
    int wait(std::error_code& error);

    /// Takes one of the signals that have arrived, if there is one. A handler that runs on another
    /// thread meanwhile has finished first.
    ///
    /// \returns  its number; 0 if none has arrived.
    [[nodiscard]] int try_wait() noexcept;

private:
    void begin(std::initializer_list<int> numbers);

    detail::io_handle event_;
    int slot_ = -1;  // -1: none, since the constructor has failed
};

}  // namespace weft::io
