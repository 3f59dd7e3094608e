// listener.cpp - opens, reads, writes and loses the connection of the subscriptions.
#include "redis/listener.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <weft/fiber.hpp>

#include "base/duration_text.hpp"
#include "redis/pauses.hpp"
#include "redis/silence.hpp"

namespace weft::detail::redis {

using namespace std::chrono_literals;

namespace {

// chosen: messages are mostly short
constexpr std::size_t message_buffer_bytes = std::size_t{16} * 1024;
// chosen: how late UNSUBSCRIBE may follow the end of a receiver in which nothing arrives
constexpr auto sweep_every = 1s;
// chosen: a server that closes connections sooner than this is not reconnected to without a pause
constexpr auto worked_after = 1s;

}  // namespace

/// A server says nothing while nobody publishes. So a silent one is asked by PING, and is given up
/// if it stays silent.
class listener::patience {
public:
    explicit patience(std::chrono::nanoseconds limit) : limit_(limit) {}

    bool is_limited() const noexcept { return is_limit(limit_); }
    std::chrono::nanoseconds look_every() const noexcept {
        return is_limited() ? std::clamp<std::chrono::nanoseconds>(limit_ / 4, 1ms, sweep_every) : sweep_every;
    }

    enum class verdict { wait, ask, give_up };
    verdict look(std::uint64_t arrivals, bool delivers) noexcept {
        const auto now = clock::now();
        if (arrivals != seen_ || delivers) {
            heard_ = now;
            asked_.reset();
        }
        seen_ = arrivals;
        if (!is_limited() || now - heard_ < limit_ / 2) return verdict::wait;
        if (!asked_) {
            asked_ = now;
            return verdict::ask;
        }
        // From the question on, since this process itself may have stood still before.
        return now - *asked_ < limit_ / 2 ? verdict::wait : verdict::give_up;
    }

private:
    const std::chrono::nanoseconds limit_;
    time_point heard_ = clock::now();
    std::uint64_t seen_ = 0;
    std::optional<time_point> asked_;
};

void listener::run() {
    const auto name = "redis " + settings_.url.name() + ": ";
    try {
        for (;;) {
            topics_.wait_wanted();
            answered_at_.reset();
            const auto reason = serve_once();
            if (answered_at_ && (!reason || clock::now() - *answered_at_ >= worked_after)) failures_ = 0;
            if (reason)
                topics_.lost(name + *reason, pause_after(failures_));
            else
                topics_.rest();
        }
    } catch (const cancelled&) {
        topics_.close(name + "the client is closed");
    }
}

/// Serves one connection. Returns why it was lost; nothing if there were no topics any more.
std::optional<std::string> listener::serve_once() {
    ++failures_;
    delivers_.store(false, relaxed);
    std::string stage = "cannot connect: ";
    ending how;
    try {
        decoder replies(settings_.options.max_reply_bytes);
        io::byte_stream stream = open_stream(settings_, replies, resp::two);
        stage = "connection lost: ";
        {
            const auto writer = weft::spawn({.name = "redis-subscriber"}, [&] { write_questions(stream, how); });
            read_messages(stream, replies);
        }
        if (how.unused) return std::nullopt;
        return stage + (how.given_up.empty() ? "closed by the server" : how.given_up);
    } catch (const cancelled&) {
        throw;
    } catch (...) {
        // A reader may also be told by an exception that the writer has ended the connection.
        if (how.unused) return std::nullopt;
        return stage + (how.given_up.empty() ? reason_of_current_exception() : how.given_up);
    }
}

/// The reader sees that the stream is shut down, and gives the connection up.
void listener::write_questions(io::byte_stream& stream, ending& how) {
    std::error_code ignored;
    try {
        write_while_wanted(stream);
        how.unused = true;
        stream.shutdown(io::side::both, ignored);
    } catch (const cancelled&) {
        throw;
    } catch (...) {
        stream.shutdown(io::side::both, ignored);
        how.given_up = reason_of_current_exception();
    }
}

void listener::write_while_wanted(io::byte_stream& stream) {
    const auto limit = settings_.options.silence_timeout;
    patience silence(limit);
    for (std::string bytes; topics_.take(bytes); bytes.clear()) {
        const auto verdict = silence.look(arrivals_.load(relaxed), delivers_.load(relaxed));
        if (verdict == patience::verdict::give_up) throw std::runtime_error("no answer to PING for " + duration_text(limit));
        if (verdict == patience::verdict::ask) topics_.ping(bytes);
        write_within(limit, stream, bytes);
        topics_.wait_changed(silence.look_every());
    }
}

void listener::read_messages(io::byte_stream& stream, decoder& replies) {
    std::vector<std::byte> buffer(message_buffer_bytes);
    while (const std::size_t n = stream.read_some(buffer)) {
        arrivals_.fetch_add(1, relaxed);
        delivers_.store(true, relaxed);
        replies.feed(std::span(buffer).first(n));
        while (auto reply = replies.next()) {
            const auto [message, receivers] = topics_.accept(std::move(*reply));
            if (!answered_at_) answered_at_ = clock::now();
            for (const auto& r : receivers) r->push(message);
        }
        delivers_.store(false, relaxed);
    }
}

}  // namespace weft::detail::redis
