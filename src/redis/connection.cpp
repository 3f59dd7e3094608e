// connection.cpp - reads, writes and loses one shared connection.
#include "redis/connection.hpp"

#include <algorithm>
#include <stdexcept>

#include <weft/deadline.hpp>
#include <weft/fiber.hpp>

#include "base/duration_text.hpp"
#include "redis/pauses.hpp"

namespace weft::detail::redis {

using namespace std::chrono_literals;

namespace {

// chosen: a server that sends more at once is read in several pieces
constexpr std::size_t read_buffer_bytes = std::size_t{64} * 1024;
// chosen: what the write buffer keeps after an unusually large turn
constexpr std::size_t kept_write_bytes = std::size_t{1024} * 1024;

/// Runs f, which works for the connection beside the reader. Whatever it throws is the reason that the
/// connection ends with; the reader sees the end of the stream, and gives the connection up.
template <class F>
void run_beside_reader(io::byte_stream& stream, std::string& reason, F&& f) {
    try {
        f();
    } catch (const cancelled&) {  // the reader has ended first
        throw;
    } catch (...) {
        std::error_code ignored;
        stream.shutdown(io::side::both, ignored);
        reason = reason_of_current_exception();
    }
}

}  // namespace

connection::connection(const settings& of) : settings_(of), commands_(of.options.max_waiting) {}

void connection::run() {
    try {
        for (;;) {
            commands_.wait_wanted();
            const std::string reason = serve_once();
            commands_.lost("redis " + settings_.url.name() + ": " + reason, pause_after(failures_));
        }
    } catch (const cancelled&) {
        commands_.close("redis " + settings_.url.name() + ": the client is closed");
    }
}

/// Serves one connection. Returns why it has ended.
std::string connection::serve_once() {
    ++failures_;  // reset when a command is answered
    std::string stage = "cannot connect: ";
    std::string not_written;
    std::string given_up;
    const auto unless_ended_beside = [&](std::string seen_by_reader) {
        return stage + (!given_up.empty() ? given_up : !not_written.empty() ? not_written : seen_by_reader);
    };
    try {
        decoder replies(settings_.options.max_reply_bytes, settings_.protocol);
        io::byte_stream stream = open_stream(settings_, replies, settings_.protocol);
        stage = "connection lost: ";
        commands_.opened();
        {
            const auto writer = weft::spawn({.name = "redis-writer"},
                                            [&] { run_beside_reader(stream, not_written, [&] { write_commands(stream); }); });
            const auto watch =
                weft::spawn({.name = "redis-silence"}, [&] { run_beside_reader(stream, given_up, [&] { watch_silence(); }); });
            read_replies(stream, replies);
        }
        return unless_ended_beside("closed by the server");
    } catch (const cancelled&) {
        throw;
    } catch (...) {
        return unless_ended_beside(reason_of_current_exception());
    }
}

void connection::write_commands(io::byte_stream& stream) {
    std::string bytes;
    for (;;) {
        commands_.wait_queued();
        // Every fiber that can run now gets to append its commands before the write.
        this_fiber::yield();
        commands_.take(bytes);
        stream.write_all(bytes);
        bytes.clear();
        if (bytes.capacity() > kept_write_bytes) std::string().swap(bytes);
    }
}

/// Without this, the system would notice a peer that vanished silently after a quarter of an hour,
/// and a single missing reply would never be noticed. It looks four times per limit, so commands
/// and replies have no extra cost.
void connection::watch_silence() {
    const auto limit = settings_.options.silence_timeout;
    if (limit <= 0ns || limit == forever) return;
    auto seen = commands_.look();
    for (auto since = clock::now(); !seen.reply_due || clock::now() - since < limit;) {
        this_fiber::sleep_for(std::max<duration>(limit / 4, 1ms));
        const auto now = commands_.look();
        if (!seen.reply_due || !now.reply_due || now.arrivals != seen.arrivals) since = clock::now();
        seen = now;
    }
    throw std::runtime_error("no reply for " + duration_text(limit));
}

void connection::read_replies(io::byte_stream& stream, decoder& replies) {
    std::vector<std::byte> buffer(read_buffer_bytes);
    std::vector<weft::redis::value> batch;
    while (const std::size_t n = stream.read_some(buffer)) {
        std::exception_ptr broken;
        try {
            replies.feed(std::span(buffer).first(n));
            while (auto reply = replies.next()) batch.push_back(std::move(*reply));
        } catch (const std::exception&) {
            // Rethrown below, after the replies before it were delivered.
            broken = std::current_exception();
        }
        // A server that is full answers by an error, too, and closes the connection.
        if (!std::ranges::all_of(batch, &weft::redis::value::is_error)) failures_ = 0;
        if (const auto wrong = commands_.deliver(batch); !wrong.empty()) throw std::runtime_error(wrong);
        if (broken) std::rethrow_exception(broken);
        batch.clear();
    }
}

}  // namespace weft::detail::redis
