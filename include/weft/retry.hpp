// retry.hpp - tries again what has failed, after a pause that grows.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <type_traits>
#include <utility>

#include <weft/stop.hpp>

namespace weft {

/// How often and when retry() tries again. Each limit takes weft::no_limit. See
/// docs/guide/7-meeting-points.md.
struct retry_options {
    unsigned attempts = 5;  ///< attempts in all; 0 counts as 1
    std::chrono::nanoseconds first_pause = std::chrono::milliseconds(100);
    double growth = 2;  ///< each pause is so many times as long as the one before
    std::chrono::nanoseconds longest_pause = std::chrono::seconds(10);
    /// The part of a pause that is random, 0 to 1, so that callers that failed together do not try
    /// again together. weft::draw() draws it.
    double jitter = 0.5;
    /// Says whether a failure is worth another attempt. Called where retry() was; it may park, and
    /// what it throws leaves retry(). Default: each one is.
    std::function<bool(std::exception_ptr const&)> worth_it = {};
    /// Called for each failure that another attempt follows, before the pause, with the number of
    /// the failed attempt, counted from 1, and the length of the pause. Called where retry() was;
    /// it may park, and what it throws leaves retry().
    std::function<void(unsigned, std::exception_ptr const&, std::chrono::nanoseconds)> on_failure = {};
};

namespace detail {

/// The attempts of one retry().
class WEFT_EXPORT attempts {
public:
    explicit attempts(const retry_options& o) noexcept : options_(o) {}
    /// To be called when an attempt has failed: waits until the next one is due.
    /// \parks \throws `failure` if there is no further attempt; cancelled; what the options throw
    void failed(const std::exception_ptr& failure);

private:
    [[nodiscard]] std::chrono::nanoseconds pause() const;

    const retry_options& options_;
    unsigned made_ = 0;
};

}  // namespace detail

/// Calls f until it returns, at most `attempts` times.
///
///     auto answer = weft::retry({.attempts = 3, .first_pause = 10ms}, [&] { return ask(host); });
///
/// A `cancelled` does not count as a failure: a stop, or a deadline around the retry, ends it at
/// once, also in a pause. A timeout_error of a with_timeout() inside f does count as one.
///
/// \returns what f returns. \throws the last failure; cancelled.
/// \parks   between the attempts, and as f does.
template <class F>
auto retry(const retry_options& options, F&& f) -> std::invoke_result_t<F&> {
    for (detail::attempts so_far(options);;) {
        std::exception_ptr failure;
        try {
            return std::invoke(f);
        } catch (const cancelled&) {
            throw;
        } catch (...) {
            failure = std::current_exception();
        }
        so_far.failed(failure);
    }
}
template <class F>
auto retry(F&& f) -> std::invoke_result_t<F&> {
    return retry(retry_options{}, std::forward<F>(f));
}

}  // namespace weft
