// copy.hpp - copies one stream to another, or two streams to each other: proxies, downloads, pipes.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <system_error>
#include <vector>

#include <weft/detail/caught_error.hpp>
#include <weft/detail/export.hpp>
#include <weft/io/stream.hpp>
#include <weft/no_limit.hpp>
#include <weft/scope.hpp>
#include <weft/stop.hpp>

namespace weft::detail {

class io_source;

/// A stream that is a plain descriptor of the system provides a friend source_of().
template <class S>
concept of_descriptor = requires(const S& s) {
    { source_of(s) } -> std::same_as<io_source*>;
};

/// Notices when nothing has happened for a while.
class WEFT_EXPORT idle_watch {
public:
    explicit idle_watch(std::chrono::nanoseconds limit);
    ~idle_watch();
    idle_watch(const idle_watch&) = delete;
    idle_watch& operator=(const idle_watch&) = delete;

    void touch() noexcept;
    /// \parks until touch() has not been called for the limit; it may notice up to a quarter of the
    ///     limit late. \throws timeout_error
    [[noreturn]] void wait();

private:
    struct state;
    std::unique_ptr<state> state_;
};

/// Whether this limit of time is one; zero and no_limit are none.
constexpr bool is_limited(std::chrono::nanoseconds limit) noexcept {
    return limit > std::chrono::nanoseconds::zero() && limit != forever;
}

enum class splice_result : std::uint8_t { ended, failed, not_here };

/// Moves bytes inside the kernel, through a pipe, up to the end of `from`. not_here: nothing was
/// moved, and the caller must copy in another way.
WEFT_EXPORT splice_result splice_all(io_source* from, io_source* to, std::uint64_t& count, idle_watch* watch,
                                     std::error_code& error) noexcept;

// chosen: as much as a pipe of the system holds
inline constexpr std::size_t copy_piece = std::size_t{64} * 1024;

template <class From, class To>
void copy_through_buffer(From& from, To& to, std::uint64_t& count, idle_watch* watch, std::error_code& error) {
    std::vector<std::byte> buffer(copy_piece);
    while (const std::size_t n = from.read_some(buffer, error)) {
        if (error) return;
        for (std::span<const std::byte> left = std::span(buffer).first(n); !left.empty();) {
            const std::size_t written = to.write_some(left, error);
            if (error) return;
            left = left.subspan(written);
            count += written;
            if (watch) watch->touch();
        }
    }
}

template <class From, class To>
std::uint64_t copy_all(From& from, To& to, idle_watch* watch, std::error_code& error) {
    error.clear();
    std::uint64_t count = 0;
    if constexpr (of_descriptor<From> && of_descriptor<To>) {
        // Null: a closed stream, or a byte_stream that holds something else.
        auto *const source = source_of(from), *const sink = source_of(to);
        if (source && sink && splice_all(source, sink, count, watch, error) != splice_result::not_here) return count;
    }
    copy_through_buffer(from, to, count, watch, error);
    return count;
}

/// Throws weft::cancelled or std::system_error.
WEFT_EXPORT [[noreturn]] void throw_copy_error(std::error_code error);

/// Copies all of `from`, and passes its end on. \throws as io::copy()
template <class From, class To>
void relay_one_way(From& from, To& to, std::uint64_t& count, idle_watch& watch) {
    std::error_code error;
    count = copy_all(from, to, &watch, error);
    if (error) throw_copy_error(error);
    to.shutdown_send();
}

template <class A, class B>
void relay_both(A& a, B& b, std::chrono::nanoseconds idle_timeout, std::uint64_t& forth, std::uint64_t& back) {
    idle_watch watch(idle_timeout);
    with_scope([&](scope& both) {
        auto there = both.spawn({.name = "relay"}, [&] { relay_one_way(a, b, forth, watch); });
        auto here = both.spawn({.name = "relay back"}, [&] { relay_one_way(b, a, back, watch); });
        if (is_limited(idle_timeout)) both.spawn({.name = "relay idle"}, [&] { watch.wait(); });
        there.join();
        here.join();
        both.request_stop();  // ends the fiber of the idle watch
    });
}

}  // namespace weft::detail

namespace weft::io {

/// Reads `from` to its end and writes all of it to `to`. Closes and shuts down neither, so more may
/// be written to `to` afterwards. Between sockets and pipes the bytes stay in the kernel
/// (splice(2)). For other streams, and where the system refuses to splice, they pass through a
/// buffer of 64 KiB.
///
///     weft::io::copy(file_pipe, client);
///
/// \returns  how many bytes were written; the form with an error_code returns this also on failure.
/// \parks    while there is nothing to read, and while `to` accepts nothing. If interrupted, it may
///           have read up to 64 KiB that are not written.
/// \throws   std::system_error of either stream; weft::cancelled.
template <readable From, writable To>
std::uint64_t copy(From& from, To& to, std::error_code& error) {
    return detail::copy_all(from, to, nullptr, error);
}
template <readable From, writable To>
std::uint64_t copy(From& from, To& to) {
    std::error_code error;
    // An unqualified copy() would find std::copy as well.
    const auto count = detail::copy_all(from, to, nullptr, error);
    if (error) detail::throw_copy_error(error);
    return count;
}

/// A stream whose sending direction can be ended while the other goes on.
template <class S>
concept half_closable = stream<S> && requires(S& s) { s.shutdown_send(); };

struct relay_options {
    /// If no byte moves either way for this long, relay() throws timeout_error. no_limit or zero:
    /// no limit.
    std::chrono::nanoseconds idle_timeout = no_limit;
};

struct relay_result {
    std::uint64_t forth = 0;  ///< bytes from the first stream to the second
    std::uint64_t back = 0;
};

/// Copies in both directions at once, in one fiber each, until both streams have ended:
///
///     weft::io::relay(client, server, {.idle_timeout = 60s});
///
/// When one stream ends, relay() calls shutdown_send() on the other, and the opposite direction
/// goes on: a client may end its request that way and then wait for the answer.
///
/// A failure in either direction, a stop or a deadline ends both directions. The caller still has
/// to close the streams.
///
/// \returns  how many bytes were written each way; the form with an error_code returns this also on
///           failure, and the idle_timeout is the error timed_out.
/// \parks   until both directions have ended.
/// \throws  as copy(); timeout_error after relay_options::idle_timeout.
template <half_closable A, half_closable B>
relay_result relay(A& a, B& b, const relay_options& options = {}) {
    relay_result result;
    detail::relay_both(a, b, options.idle_timeout, result.forth, result.back);
    return result;
}
template <half_closable A, half_closable B>
relay_result relay(A& a, B& b, const relay_options& options, std::error_code& error) {
    relay_result result;
    error.clear();
    try {
        detail::relay_both(a, b, options.idle_timeout, result.forth, result.back);
    } catch (...) {
        error = detail::caught_error();
    }
    return result;
}
template <half_closable A, half_closable B>
relay_result relay(A& a, B& b, std::error_code& error) {
    return relay(a, b, {}, error);
}

}  // namespace weft::io
