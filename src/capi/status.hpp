// status.hpp - how failures become statuses with words: the only place where exceptions become codes.
#pragma once

#include <weft/c.h>

#include <weft/detail/timeouts.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>

#include "sched/own_stack.hpp"

namespace weft::capi {

/// Keeps the words as those of weft_error() for the calling fiber or thread. \returns `s`.
[[gnu::cold]] weft_status fail(weft_status s, std::string_view words, int number = 0) noexcept;
/// Called in a catch block. \returns the status of the exception, whose words are kept.
[[gnu::cold]] weft_status caught() noexcept;
/// Keeps the words of a body that has ended by this exception. \returns WEFT_EFAILED, the status of
/// its join.
[[gnu::cold]] weft_status failure_of_body(const std::exception_ptr&) noexcept;
/// The words of such a failure. \throws std::bad_alloc
[[gnu::cold]] std::string words_of_failure(const std::exception_ptr&);
/// How many failures the calling fiber or thread has had: a number to compare with a later one.
unsigned failures() noexcept;
/// How many scopes the calling fiber or thread has opened and not closed. Nothing else closes them.
unsigned open_scopes() noexcept;
/// One more (1) or one less (-1). \throws std::bad_alloc if it is the first.
void count_open_scope(int change);
/// WEFT_EINVAL: "weft_send: the channel is null".
[[gnu::cold]] weft_status refuse(const char* function, const char* what) noexcept;
/// WEFT_ENOFIBER: the caller's runtime was asked for, and it has none.
[[gnu::cold]] weft_status no_runtime(const char* function) noexcept;
/// WEFT_ESTATE: the runtime runs in the parent process.
[[gnu::cold]] weft_status not_here(const char* function) noexcept;

/// Copies the words, and a zero byte, to the n bytes of the program. \returns WEFT_OK, or a refusal.
weft_status copy_text(const char* function, std::string_view words, char* text, std::size_t n) noexcept;

/// The number for weft_error_errno(); 0 for what is no errno, such as the codes of look-ups.
inline int errno_of(const std::error_code& e) noexcept {
    return e.category() == std::system_category() || e.category() == std::generic_category() ? e.value() : 0;
}

/// Runs f, which returns a status. Nothing it throws gets out.
template <class F>
weft_status guarded(F&& f) noexcept {
    try {
        return f();
    } catch (...) {
        return caught();
    }
}

/// Calls the body of a fiber or of a blocking call. If the body returns WEFT_EFAILED, the call throws
/// an exception that carries its words to the join. If the body leaves a frame open, the program
/// stops, because weft would go on to use that frame.
struct body_call {
    weft_body f;
    void* arg;
    unsigned failures_before = 0;  // of the thread, where the body is not that of a fiber
    int operator()() const {
        return run([this] { return f(arg); }, failures_before);
    }
    /// Does that with a body of another form.
    template <class Body>
    static int run(Body&& body, unsigned failures_before = 0) {
        const int result = run_closed(body);
        if (result == WEFT_EFAILED) [[unlikely]]
            throw_failure(failures_before);
        return result;
    }
    /// Only stops the program if the body leaves a frame open. \returns what the body returns.
    template <class Body>
    static int run_closed(Body&& body) {
        const auto frames = detail::frames_here();
        const auto scopes = open_scopes();
        const int result = body();
        if (detail::frames_here() != frames || open_scopes() != scopes) [[unlikely]]
            leave_open_frame();
        return result;
    }

private:
    [[noreturn, gnu::cold]] static void leave_open_frame() noexcept;
    [[noreturn, gnu::cold]] static void throw_failure(unsigned failures_before);
};

/// Rule 5 of weft/c.h.
inline weft::detail::time_point deadline_of(std::int64_t timeout_ns) noexcept {
    if (timeout_ns == WEFT_FOREVER) return weft::detail::never;
    return weft::detail::deadline_after(std::chrono::nanoseconds(std::max<std::int64_t>(timeout_ns, 0)));
}
/// The status of a wait that ended because its timeout has passed.
constexpr weft_status too_late(std::int64_t timeout_ns) noexcept { return timeout_ns <= 0 ? WEFT_BUSY : WEFT_TIMEDOUT; }

/// The status of a wait that tells whether what it waited for came in time.
constexpr weft_status in_time(bool came, std::int64_t timeout_ns) noexcept { return came ? WEFT_OK : too_late(timeout_ns); }

/// Rule 6 of weft/c.h: copies the options of the caller, whose header may be newer or older. Null:
/// the defaults. \returns WEFT_OK, or a refusal.
weft_status copy_options(const char* function, const void* from, void* to, std::size_t bytes) noexcept;
template <class Options>
weft_status read_options(const char* function, const Options* given, Options& into) noexcept {
    return copy_options(function, given, &into, sizeof into);
}

}  // namespace weft::capi
