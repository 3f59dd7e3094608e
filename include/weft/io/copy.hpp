// copy.hpp - all bytes of one stream to another, and of two streams to each other: proxies, downloads, pipes of processes.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <system_error>
#include <vector>

#include <weft/io/stream.hpp>
#include <weft/scope.hpp>

namespace weft::detail {

class io_source;

/// A stream that is a descriptor of the system's and nothing else says so by a friend source_of().
template <class S>
concept of_descriptor = requires(const S& s) {
    { source_of(s) } -> std::same_as<io_source*>;
};

/// Notices when nothing has happened for a while.
class idle_watch {
public:
    explicit idle_watch(std::chrono::nanoseconds limit);
    ~idle_watch();
    idle_watch(const idle_watch&) = delete;
    idle_watch& operator=(const idle_watch&) = delete;

    void touch() noexcept;
    /// \parks until nothing has been touched for the limit, which may be found out a quarter of it later. \throws timeout_error
    [[noreturn]] void wait();

private:
    struct state;
    std::unique_ptr<state> state_;
};

enum class splice_result : std::uint8_t { ended, failed, not_here };

/// Moves bytes within the system, through a pipe, to the end of `from`. not_here: it has done nothing, and another way is to be taken.
splice_result splice_all(io_source* from, io_source* to, std::uint64_t& count, idle_watch* watch,
                         std::error_code& error) noexcept;

inline constexpr std::size_t copy_piece = std::size_t{64} * 1024;  // chosen: as much as a pipe of the system's holds

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
    if constexpr (of_descriptor<From> && of_descriptor<To>)
        if (splice_all(source_of(from), source_of(to), count, watch, error) != splice_result::not_here) return count;
    copy_through_buffer(from, to, count, watch, error);
    return count;
}

/// cancelled, or std::system_error.
[[noreturn]] void throw_copy_error(std::error_code error);

}  // namespace weft::detail

namespace weft::io {

/// Reads `from` to its end and writes all of it to `to`. Neither is closed or shut down: `to` may get more, from elsewhere. Between
/// sockets and pipes the bytes stay in the system (splice(2)); elsewhere, and where that is refused, they pass a buffer of 64 KiB.
///
/// \returns  how many bytes were written; in the form with an error_code also on failure.
/// \parks    while there is nothing to read, and while `to` takes nothing. Interrupted, it may have read 64 KiB that are not written.
/// \throws   std::system_error of either stream; weft::cancelled.
template <readable From, writable To>
std::uint64_t copy(From& from, To& to, std::error_code& error) {
    return detail::copy_all(from, to, nullptr, error);
}
template <readable From, writable To>
std::uint64_t copy(From& from, To& to) {
    std::error_code error;
    const auto count = detail::copy_all(from, to, nullptr, error);  // copy() unqualified would find std::copy as well
    if (error) detail::throw_copy_error(error);
    return count;
}

/// A stream of which one direction can be ended while the other goes on.
template <class S>
concept half_closable = stream<S> && requires(S& s) { s.shutdown_send(); };

struct relay_options {
    std::chrono::nanoseconds idle_timeout =
        std::chrono::nanoseconds::zero();  ///< nothing for so long, either way: timeout_error; zero: never
};

struct relay_result {
    std::uint64_t forth = 0;  ///< bytes from the first stream to the second
    std::uint64_t back = 0;
};

/// Copies both ways at once, in a fiber each, until both streams have come to their ends. The end of one direction is handed on by
/// shutdown_send(), and the other goes on, as a client expects that ends its request so and waits for the answer.
///
/// A failure of either direction, a stop or a deadline ends both; the streams stay the caller's to close.
///
/// \parks   until both directions have ended.
/// \throws  as copy(); timeout_error after relay_options::idle_timeout.
template <half_closable A, half_closable B>
relay_result relay(A& a, B& b, const relay_options& options = {}) {
    detail::idle_watch watch(options.idle_timeout);
    const auto one_way = [&watch](auto& from, auto& to, std::uint64_t& count) {
        std::error_code error;
        count = detail::copy_all(from, to, &watch, error);
        if (error) detail::throw_copy_error(error);
        to.shutdown_send();
    };
    relay_result result;
    with_scope([&](scope& both) {
        auto forth = both.spawn({.name = "relay"}, [&] { one_way(a, b, result.forth); });
        auto back = both.spawn({.name = "relay back"}, [&] { one_way(b, a, result.back); });
        if (options.idle_timeout > std::chrono::nanoseconds::zero()) both.spawn({.name = "relay idle"}, [&] { watch.wait(); });
        forth.join();
        back.join();
        both.request_stop();  // the watch
    });
    return result;
}

}  // namespace weft::io
