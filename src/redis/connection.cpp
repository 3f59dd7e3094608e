// connection.cpp - opens, reads, writes and loses one connection.
#include "redis/connection.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include <weft/deadline.hpp>
#include <weft/fiber.hpp>
#include <weft/net/tcp.hpp>

#include "base/duration_text.hpp"

namespace weft::detail::redis {

using namespace std::chrono_literals;

namespace {

// chosen: a server that sends more at once is read in several pieces
constexpr std::size_t read_buffer_bytes = std::size_t{64} * 1024;
// chosen: what the write buffer keeps after an unusually large turn
constexpr std::size_t kept_write_bytes = std::size_t{1024} * 1024;

}  // namespace

connection::connection(const server_url& url, const weft::redis::client_options& options)
    : url_(url), options_(options), commands_(options.max_waiting) {}

void connection::run() {
    try {
        for (;;) {
            commands_.wait_wanted();
            const std::string reason = serve_once();
            commands_.lost("redis " + url_.name() + ": " + reason, next_attempt());
        }
    } catch (const cancelled&) {
        commands_.close("redis " + url_.name() + ": the client is closed");
    }
}

/// Serves one connection. Returns why it has ended.
std::string connection::serve_once() {
    ++failures_;  // reset when a command is answered
    std::string stage = "cannot connect: ";
    try {
        decoder replies(options_.max_reply_bytes);
        io::byte_stream stream = open(replies);
        stage = "connection lost: ";
        commands_.opened();
        std::error_code write_failure;
        std::string given_up;
        {
            const auto writer = weft::spawn({.name = "redis-writer"}, [&] { write_commands(stream, write_failure); });
            const auto watch = weft::spawn({.name = "redis-silence"}, [&] { watch_silence(stream, given_up); });
            read_replies(stream, replies);
        }
        if (!given_up.empty()) return stage + given_up;
        return stage + (write_failure ? write_failure.message() : "closed by the server");
    } catch (const timeout_error&) {
        return stage + "no answer in time";
    } catch (const std::system_error& failure) {
        return stage + failure.code().message();
    } catch (const std::exception& failure) {
        return stage + failure.what();
    }
}

/// A connection that worked is reopened at once, since a server that closes idle connections is
/// healthy.
time_point connection::next_attempt() const noexcept {
    if (failures_ == 0) return clock::now();
    constexpr unsigned most_doublings = 6;
    return clock::now() + std::min<duration>(50ms * (1u << std::min(failures_ - 1, most_doublings)), 2s);
}

io::byte_stream connection::open(decoder& replies) {
    return with_timeout(options_.connect_timeout, [&] {
        const net::endpoint server{.host = url_.host, .port = url_.port};
        auto stream = options_.connect ? options_.connect(server) : io::byte_stream(tcp::stream::connect(server));
        log_in(stream, replies);
        return stream;
    });
}

void connection::log_in(io::byte_stream& stream, decoder& replies) {
    std::string bytes;
    std::vector<const char*> names;
    if (!url_.password.empty()) {
        names.push_back("AUTH");
        if (url_.user.empty()) append_command(bytes, std::array<weft::redis::argument, 2>{"AUTH", url_.password});
        else append_command(bytes, std::array<weft::redis::argument, 3>{"AUTH", url_.user, url_.password});
    }
    if (url_.database != 0) {
        names.push_back("SELECT");
        append_command(bytes, std::array<weft::redis::argument, 2>{"SELECT", url_.database});
    }
    stream.write_all(bytes);
    std::array<std::byte, 1024> buffer;
    for (const char* name : names) {
        std::optional<weft::redis::value> reply;
        while (!(reply = replies.next())) {
            const auto n = stream.read_some(buffer);
            if (n == 0) throw std::runtime_error(std::string(name) + ": closed by the server");
            replies.feed(std::span(buffer).first(n));
        }
        if (const auto* refused = std::get_if<weft::redis::error_reply>(&reply->content()))
            throw std::runtime_error(std::string(name) + ": " + refused->text);
    }
}

void connection::write_commands(io::byte_stream& stream, std::error_code& failed) {
    std::string bytes;
    while (!failed) {
        commands_.wait_queued();
        // Every fiber that can run now gets to append its commands before the write.
        this_fiber::yield();
        commands_.take(bytes);
        stream.write_all(bytes, failed);
        bytes.clear();
        if (bytes.capacity() > kept_write_bytes) std::string().swap(bytes);
    }
    std::error_code ignored;
    // The reader then sees the end and gives the connection up.
    stream.shutdown(io::side::both, ignored);
}

/// Without this, the system would notice a peer that vanished silently after a quarter of an hour,
/// and a single missing reply would never be noticed. It looks four times per limit, so commands
/// and replies have no extra cost.
void connection::watch_silence(io::byte_stream& stream, std::string& given_up) {
    const auto limit = options_.silence_timeout;
    if (limit <= 0ns || limit == forever) return;
    auto seen = commands_.look();
    for (auto since = clock::now(); !seen.reply_due || clock::now() - since < limit;) {
        this_fiber::sleep_for(std::max<duration>(limit / 4, 1ms));
        const auto now = commands_.look();
        if (!seen.reply_due || !now.reply_due || now.arrivals != seen.arrivals) since = clock::now();
        seen = now;
    }
    given_up = "no reply for " + duration_text(limit);
    std::error_code ignored;
    stream.shutdown(io::side::both, ignored);
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
        if (!batch.empty()) failures_ = 0;
        if (!commands_.deliver(batch)) throw std::runtime_error("the server sent a reply that nothing asked for");
        if (broken) std::rethrow_exception(broken);
        batch.clear();
    }
}

}  // namespace weft::detail::redis
