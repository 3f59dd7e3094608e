// perform_file.hpp - makes an operation on a file for the caller: at once if that does not wait, else by
// the file engine of its runtime, or on a thread of a pool where there is no ring.
#pragma once

#include <cerrno>
#include <concepts>
#include <system_error>
#include <type_traits>

#include <weft/detail/task.hpp>

#include "io/files/file_request.hpp"

namespace weft::detail {

/// Runs it as call_for_files() says. \returns false, with an error, if it never ran.
bool run_for_files(task& call, const char* name, int descriptor, std::error_code& error) noexcept;

/// Makes the operation. On a plain thread and in a simulated runtime it is made in place, and may block
/// the thread.
///
/// \returns  the result, or a negated error. If a stop or a deadline has cancelled the operation, -ECANCELED,
///           and `error` says which; if the result came first, the result, and the interrupt stays pending.
/// \parks    until the operation has ended.
long perform_file(const file_request&, std::error_code& error) noexcept;

/// As perform_file(), but tries first whether the call can be made without waiting.
long perform_file_at_once(const file_request&, std::error_code& error) noexcept;

/// Whether a read of this one would wait for a disk. False if that cannot be told.
bool would_wait(const file_request&) noexcept;

/// Makes a call that io_uring has no entry for: it runs on a thread of the pool for files. A stop
/// or a deadline ends the wait only if the call has not begun. `call` returns a result or a negated error,
/// and throws nothing but std::bad_alloc, which is -ENOMEM.
template <class F>
    requires std::same_as<std::invoke_result_t<F&>, long>
long call_for_files(const char* name, int descriptor, F&& call, std::error_code& error) noexcept {
    struct kept_call final : task {
        explicit kept_call(F& f) noexcept : call(f) {}
        void body() override { result = call(); }
        F& call;
        long result = -ENOMEM;
    } kept(call);
    return run_for_files(kept, name, descriptor, error) ? kept.result : -ECANCELED;
}

}  // namespace weft::detail
