#include "io/files/perform_file.hpp"

#include <optional>

#include "io/blocking_calls.hpp"
#include "io/current.hpp"
#include "io/files/file_engine.hpp"
#include "io/operation.hpp"

namespace weft::detail {
namespace {

long fail_by(std::errc reason, std::error_code& error) noexcept {
    error = interrupt_error(reason);
    return -ECANCELED;
}

/// On a plain thread, which nobody can interrupt in a call.
long perform_in_place(const file_request& r) noexcept {
    for (;;)
        if (const long result = call(r); result != -EINTR) return result;
}

long perform_on_pool(const file_request& r, std::error_code& error) noexcept {
    return call_for_files(
        name(r.action), r.descriptor, [&] { return perform_in_place(r); }, error);
}

/// io_uring lets out what the kernel keeps to itself in a system call: 512 to 516, which mean EINTR here.
long result_of(const file_operation& op) noexcept {
    constexpr long first = -512, last = -516;
    return op.result() <= first && op.result() >= last ? -EINTR : op.result();
}

/// Empty: there is no ring. FILE_OPERATION-2.
std::optional<long> perform_on_engine(file_engine& engine, const file_request& r, std::error_code& error) noexcept {
    file_operation op(r);
    if (!engine.submit(op)) return std::nullopt;
    std::optional<std::errc> reason;
    if (op.wait_for_end(file_wait, interruptible::yes) != wait_end::notified) {
        reason = interrupt_reason();
        file_operation::cancellation wish(op);
        if (op.hold_for_cancellation()) engine.cancel(wish);
        static_cast<void>(op.wait_for_end(file_cancel_wait, interruptible::no));
    }
    if (op.was_refused()) return std::nullopt;
    const long result = result_of(op);
    if (reason && (result == -ECANCELED || result == -EINTR)) return fail_by(*reason, error);
    return result;
}

/// The system has no such call, or has none for this file.
bool is_no_answer(long result) noexcept {
    return result == -EAGAIN || result == -EOPNOTSUPP || result == -ENOSYS || result == -EPERM || result == -EINTR;
}

}  // namespace

long perform_file(const file_request& r, std::error_code& error) noexcept {
    error.clear();
    for (;;) {
        if (const auto interrupt = pending_interrupt()) return fail_by(*interrupt, error);
        auto* const engine = current_files();
        if (!engine) return perform_in_place(r);
        const auto result = perform_on_engine(*engine, r, error);
        if (!result) return perform_on_pool(r, error);
        if (*result != -EINTR) return *result;
    }
}

long perform_file_at_once(const file_request& r, std::error_code& error) noexcept {
    error.clear();
    if (!current_files()) return perform_file(r, error);
    if (const auto interrupt = pending_interrupt()) return fail_by(*interrupt, error);
    const long result = call_without_waiting(r);
    return is_no_answer(result) ? perform_file(r, error) : result;
}

bool would_wait(const file_request& r) noexcept { return call_without_waiting(r) == -EAGAIN; }

bool run_for_files(task& call, const char* name, int descriptor, std::error_code& error) noexcept {
    error.clear();
    if (const auto interrupt = pending_interrupt()) {
        error = interrupt_error(*interrupt);
        return false;
    }
    const hook_call shown{.name = name, .caller = nullptr, .descriptor = descriptor};
    try {
        const call_wait wait{.kind = file_wait, .after_interrupt = file_cancel_wait, .object = &shown};
        switch (run_blocking_to_its_end(pool_for::files, call, nullptr, &wait)) {
            case call_end::returned:
            case call_end::returned_interrupted: return true;
            case call_end::withdrawn: error = interrupt_error(interrupt_reason()); break;
            case call_end::refused: error = std::make_error_code(std::errc::resource_unavailable_try_again); break;
        }
    } catch (const std::system_error& e) {
        error = e.code();
    } catch (const std::bad_alloc&) {
        error = std::make_error_code(std::errc::not_enough_memory);
    }
    return false;
}

}  // namespace weft::detail
