// own_connection.cpp - writes the commands of a call and reads the replies, in the caller's fiber.
#include "redis/own_connection.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include <weft/fiber.hpp>
#include <weft/redis/error.hpp>
#include <weft/select.hpp>
#include <weft/stop.hpp>

#include "redis/silence.hpp"

namespace weft::detail::redis {

namespace {

using weft::redis::error;
using weft::redis::error_kind;
using weft::redis::error_reply;
using weft::redis::value;

// chosen: a reply of some elements; longer ones are read in several pieces
constexpr std::size_t own_buffer_bytes = std::size_t{16} * 1024;

std::size_t limit_in(const weft::redis::client_options& options) {
    if (options.max_exclusive == 0 || options.max_exclusive == std::size_t{no_limit})
        throw std::invalid_argument("redis: client_options::max_exclusive must be 1 or more, and not no_limit");
    return options.max_exclusive;
}

own_commands::step step_of(std::span<const weft::redis::argument> words) noexcept {
    const auto name = words[0].view();
    if (is_command(name, "WATCH")) return own_commands::step::watch;
    if (is_command(name, "UNWATCH")) return own_commands::step::unwatch;
    if (is_command(name, "MULTI")) return own_commands::step::multi;
    if (is_command(name, "EXEC") || is_command(name, "DISCARD")) return own_commands::step::end;
    return own_commands::step::other;
}

}  // namespace

void own_commands::add(std::span<const weft::redis::argument> words) {
    append_command(bytes, words);
    steps.push_back(step_of(words));
    may_block |= redis::may_block(words);
}

own_connection::own_connection(own_connections& pool)
    : pool_(pool), replies_(pool.common().options.max_reply_bytes, pool.common().protocol), buffer_(own_buffer_bytes) {
    try {
        stream_ = pool_.open(replies_);
    } catch (const cancelled&) {
        throw;
    } catch (...) {
        throw error(error_kind::connection, pool.said("cannot connect: " + reason_of_current_exception()));
    }
}

own_connection::~own_connection() { pool_.leave(stream_); }

std::vector<value> own_connection::call(const own_commands& commands) {
    auto before = state::ready;
    // acquire: pairs with the release below, for borrowers that hand a session on between fibers
    if (!state_.compare_exchange_strong(before, state::busy, acquire, relaxed)) {
        if (before == state::busy) throw std::logic_error("redis: two fibers use a session at the same time");
        throw error(error_kind::connection, pool_.said("the session has ended with the command before"));
    }
    try {
        auto replies = exchange(commands);
        state_.store(state::ready, release);  // pairs with the acquire above
        return replies;
    } catch (const std::exception&) {
        state_.store(state::broken, relaxed);  // nothing is read behind it
        throw error(error_kind::connection, pool_.said("connection lost: " + reason_of_current_exception()));
    } catch (...) {  // cancelled
        state_.store(state::broken, relaxed);  // nothing is read behind it
        throw;
    }
}

std::vector<value> own_connection::exchange(const own_commands& commands) {
    const auto usual = pool_.common().options.silence_timeout;
    std::string not_unwatched;
    if (unwatch_first_) {  // OWN_CONNECTION-2
        std::string bytes;
        append_command(bytes, std::array<weft::redis::argument, 1>{"UNWATCH"});
        write(bytes + commands.bytes);
        const auto reply = read_one(usual);
        if (const auto* refused = std::get_if<error_reply>(&reply.content())) not_unwatched = refused->text;
        unwatch_first_ = watches_ = false;
    } else {
        write(commands.bytes);
    }
    std::vector<value> replies;
    replies.reserve(commands.steps.size());
    for (const auto step : commands.steps) {
        replies.push_back(read_one(commands.may_block ? forever : usual));
        note(step, replies.back());
    }
    if (replies_.next()) throw std::runtime_error("the server sent a reply that nothing asked for");
    if (!not_unwatched.empty())
        throw std::runtime_error("the server refuses UNWATCH: " + not_unwatched + "; it has answered the command behind it");
    return replies;
}

void own_connection::write(std::string_view bytes) { write_within(pool_.common().options.silence_timeout, *stream_, bytes); }

value own_connection::read_one(std::chrono::nanoseconds silence) {
    for (;;) {
        if (auto reply = replies_.next()) return std::move(*reply);
        const auto n = within(silence, "no reply for ", [&] { return stream_->read_some(buffer_); });
        if (n == 0) throw std::runtime_error("closed by the server");
        replies_.feed(std::span(buffer_).first(n));
    }
}

/// Keeps what the server knows of a transaction. EXEC and DISCARD that fail leave it open, unless
/// the server says that it has ended.
void own_connection::note(own_commands::step step, const value& reply) noexcept {
    const auto* const failed = std::get_if<error_reply>(&reply.content());
    const bool ended = !failed || failed->text.starts_with("EXECABORT");
    switch (step) {
        case own_commands::step::other: break;
        case own_commands::step::watch: watches_ |= !failed; break;
        case own_commands::step::unwatch: watches_ &= failed || in_transaction_; break;
        case own_commands::step::multi: in_transaction_ |= !failed; break;
        case own_commands::step::end:
            if (ended) in_transaction_ = watches_ = false;
            break;
    }
}

bool own_connection::is_quiet() {
    std::array<std::byte, 1> unasked;
    std::error_code failed;
    if (pool_.is_closed() || stream_->try_read_some(unasked, failed) || failed) return false;
    // A stream without try_read_some() still says whether there is something to read.
    bool quiet = true;
    select(on_readable(*stream_, [&] { quiet = false; }), otherwise());
    return quiet;
}

own_connections::own_connections(std::shared_ptr<const settings> common)
    : home_(runtime_here("weft::redis::client")),
      settings_(std::move(common)),
      pool_([this] { return std::make_unique<own_connection>(*this); },
            {.limit = limit_in(settings_->options), .check = [](std::unique_ptr<own_connection>& c) { return c->is_quiet(); }}) {}

own_connections::lease own_connections::lend() {
    if (auto lent = pool_.acquire(stop_.get_token())) return std::move(*lent);
    throw error(error_kind::connection, said(""));
}

void own_connections::close() noexcept {
    const shield until_closed;
    std::vector<std::shared_ptr<io::byte_stream>> all;
    {
        const lock_guard guard(lock_);
        closed_ = true;
        all.swap(open_);
    }
    stop_.request_stop();
    for (const auto& stream : all) {
        try {
            std::error_code ignored;
            stream->shutdown(io::side::both, ignored);
        } catch (const std::exception&) {}  // the command under way then ends by its own limit
    }
    const auto wait_for_connects = [&] {
        const lock_guard guard(lock_);
        return connects_ != 0;
    };
    while (wait_for_connects()) no_connects_.wait();
}

std::shared_ptr<io::byte_stream> own_connections::open(decoder& replies) {
    {
        const lock_guard guard(lock_);
        if (closed_) throw std::runtime_error("closed");
        ++connects_;
    }
    const auto done = [this](std::shared_ptr<io::byte_stream> made) {
        const lock_guard guard(lock_);
        --connects_;
        if (closed_ && connects_ == 0) no_connects_.set();
        if (closed_) throw std::runtime_error("closed");
        if (made) open_.push_back(std::move(made));
    };
    std::shared_ptr<io::byte_stream> made;
    try {
        auto connects =
            spawn_in(home_, {.name = "redis-opener"}, [&] { return open_stream(*settings_, replies, settings_->protocol); });
        {
            const std::stop_callback stops(stop_.get_token(), [&] { connects.request_stop(); });
            connects.join_for(forever);
        }
        made = std::make_shared<io::byte_stream>(connects.join());
    } catch (...) {
        done(nullptr);
        throw;
    }
    done(made);
    return made;
}

void own_connections::leave(const std::shared_ptr<io::byte_stream>& stream) noexcept {
    const lock_guard guard(lock_);
    std::erase(open_, stream);
}

bool own_connections::is_closed() noexcept {
    const lock_guard guard(lock_);
    return closed_;
}

std::string own_connections::said(const std::string& why) {
    return "redis " + settings_->url.name() + ": " + (is_closed() ? "the client is closed" : why);
}

}  // namespace weft::detail::redis
