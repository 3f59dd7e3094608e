// client.cpp - sends commands on the connection of the caller's worker, and returns the results.
#include <weft/redis/client.hpp>

#include <algorithm>
#include <array>
#include <stdexcept>

#include <weft/fiber.hpp>

#include "base/in_quotes.hpp"
#include "redis/codec.hpp"
#include "redis/connection.hpp"
#include "redis/refusal.hpp"
#include "redis/url.hpp"
#include "sched/current_place.hpp"

namespace weft::redis {

namespace {

unsigned connection_count(const client_options& options) {
    const unsigned workers = detail::find_current_place().workers;
    if (workers == 0) throw std::logic_error("weft: redis::client needs a runtime: create it inside weft::run()");
    return options.connections != 0 ? options.connections : workers;
}

}  // namespace

struct client::impl {
    impl(std::string_view address, const client_options& o)
        : url(detail::redis::parse_url(address)), options(o), rules(options.module_commands) {
        const unsigned count = connection_count(options);
        for (unsigned i = 0; i < count; ++i) {
            auto& made = *connections.emplace_back(std::make_unique<detail::redis::connection>(url, options));
            fibers.push_back(weft::spawn({.name = "redis-reader"}, [&made] { made.run(); }));
        }
    }
    ~impl() {
        // All fibers are asked to stop before the first is joined.
        for (auto& f : fibers) f.request_stop();
    }

    /// \throws  redis::error of kind refused.
    void check(std::span<const argument> words) const {
        const auto reason = rules.refusal(words);
        if (reason.empty()) return;
        const auto name = words.empty() ? std::string_view() : words[0].view();
        const auto who = name.empty() ? std::string("redis: ") : "redis: " + detail::in_quotes(name) + " refused: ";
        throw error(error_kind::refused, who + std::string(reason));
    }

    std::vector<value> call(std::string bytes, std::size_t replies) {
        auto& mine = *connections[detail::find_current_place().worker % connections.size()];
        return mine.commands().call(std::make_unique<detail::redis::slot>(std::move(bytes), replies));
    }

    const detail::redis::server_url url;
    const client_options options;
    const detail::redis::command_rules rules;
    std::vector<std::unique_ptr<detail::redis::connection>> connections;
    std::vector<weft::fiber<>> fibers;  // declared after what they use, so joined first
};

client::client(std::string_view url, client_options options) : impl_(std::make_unique<impl>(url, options)) {}
client::~client() = default;

value client::run(std::span<const argument> words) {
    impl_->check(words);
    std::string bytes;
    detail::redis::append_command(bytes, words);
    auto reply = std::move(impl_->call(std::move(bytes), 1).front());
    if (const auto* failure = std::get_if<error_reply>(&reply.content())) throw error(error_kind::reply, failure->text);
    return reply;
}

value client::command(std::span<const std::string> words) {
    return run(std::vector<argument>(words.begin(), words.end()));
}

std::optional<std::string> client::get(std::string_view key) {
    auto reply = run(std::array<argument, 2>{"GET", key});
    if (reply.is_nil()) return std::nullopt;
    if (auto* text = std::get_if<std::string>(&reply.content())) return std::move(*text);
    // This throws: GET has no other kind of reply.
    return reply.text();
}

void client::set(std::string_view key, std::string_view text) { run(std::array<argument, 3>{"SET", key, text}); }

void client::set(std::string_view key, std::string_view text, std::chrono::milliseconds lifetime) {
    if (lifetime.count() < 1) throw std::invalid_argument("redis: a key must live for at least one millisecond");
    run(std::array<argument, 5>{"SET", key, text, "PX", lifetime.count()});
}

std::vector<value> client::pipeline(std::initializer_list<std::initializer_list<argument>> commands) {
    for (const auto& words : commands) impl_->check(words);
    std::string bytes;
    for (const auto& words : commands) detail::redis::append_command(bytes, words);
    return commands.size() == 0 ? std::vector<value>() : impl_->call(std::move(bytes), commands.size());
}

std::vector<value> client::pipeline(std::span<const std::vector<std::string>> commands) {
    std::string bytes;
    for (const auto& texts : commands) {
        const std::vector<argument> words(texts.begin(), texts.end());
        impl_->check(words);
        detail::redis::append_command(bytes, words);
    }
    return commands.empty() ? std::vector<value>() : impl_->call(std::move(bytes), commands.size());
}

}  // namespace weft::redis
