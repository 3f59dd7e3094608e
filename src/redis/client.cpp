// client.cpp - sends commands on the connection of the caller's worker, and returns the results.
#include <weft/redis/client.hpp>

#include <algorithm>
#include <array>
#include <stdexcept>

#include <weft/fiber.hpp>

#include "redis/codec.hpp"
#include "redis/connection.hpp"
#include "redis/failed_reply.hpp"
#include "redis/listener.hpp"
#include "redis/session.hpp"
#include "redis/topics.hpp"
#include "redis/transaction.hpp"
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
    impl(std::string_view address, const client_options& options)
        : connection_number(connection_count(options)),
          common(std::make_shared<detail::redis::settings>(address, options)),
          own(std::make_shared<detail::redis::own_connections>(common)) {
        fibers.push_back(weft::spawn({.name = "redis-listener"}, [this] { listener.run(); }));
        for (unsigned i = 0; i < connection_number; ++i) {
            auto& made = *connections.emplace_back(std::make_unique<detail::redis::connection>(*common));
            fibers.push_back(weft::spawn({.name = "redis-reader"}, [&made] { made.run(); }));
        }
    }
    ~impl() {
        own->close();
        // All fibers are asked to stop before the first is joined.
        for (auto& f : fibers) f.request_stop();
    }

    void check(std::span<const argument> words) const { common->rules.check(words, detail::redis::used_by::many); }

    detail::redis::command_queue& any_connection() const {
        return connections[detail::find_current_place().worker % connections.size()]->commands();
    }
    std::vector<value> call(std::string bytes, std::size_t replies) {
        return any_connection().call(std::make_unique<detail::redis::slot>(std::move(bytes), replies));
    }
    /// Of words that were checked, or that this file names: GET and SET are never refused.
    value ask(std::span<const argument> words) {
        std::string bytes;
        detail::redis::append_command(bytes, words);
        return detail::redis::successful(std::move(call(std::move(bytes), 1).front()));
    }
    std::vector<value> call(detail::redis::transaction all) {
        auto made = std::make_unique<detail::redis::slot>(all.bytes(), all.replies());
        made->is_transaction = true;
        return all.results(any_connection().call(std::move(made)));
    }

    const unsigned connection_number;  // declared first: it checks that there is a runtime
    const std::shared_ptr<const detail::redis::settings> common;
    const std::shared_ptr<detail::redis::own_connections> own;
    const std::shared_ptr<detail::redis::topics> topics = std::make_shared<detail::redis::topics>(common->options.max_waiting);
    detail::redis::listener listener{*common, *topics};
    std::vector<std::unique_ptr<detail::redis::connection>> connections;
    std::vector<weft::fiber<>> fibers;  // declared after what they use, so joined first
};

client::client(std::string_view url, client_options options) : impl_(std::make_unique<impl>(url, options)) {}
client::~client() = default;

receiver<message> client::subscribe(std::string_view channel, subscription how) {
    const auto shared = impl_->topics;  // it may outlive the client
    return shared->join(detail::redis::topic_name::kind::channel, channel, how);
}

receiver<message> client::psubscribe(std::string_view pattern, subscription how) {
    const auto shared = impl_->topics;
    return shared->join(detail::redis::topic_name::kind::pattern, pattern, how);
}

session client::lend() { return session(std::make_unique<session::impl>(impl_->own)); }

value client::run(std::span<const argument> words) {
    impl_->check(words);
    return impl_->ask(words);
}

value client::command(std::span<const std::string> words) { return run(std::vector<argument>(words.begin(), words.end())); }

std::optional<std::string> client::get(std::string_view key) {
    auto reply = impl_->ask(std::array<argument, 2>{"GET", key});
    if (reply.is_nil()) return std::nullopt;
    if (auto* text = std::get_if<std::string>(&reply.content())) return std::move(*text);
    // This throws: GET has no other kind of reply.
    return reply.text();
}

void client::set(std::string_view key, std::string_view text) { impl_->ask(std::array<argument, 3>{"SET", key, text}); }

void client::set(std::string_view key, std::string_view text, std::chrono::milliseconds lifetime) {
    if (lifetime.count() < 1) throw std::invalid_argument("redis: a key must live for at least one millisecond");
    impl_->ask(std::array<argument, 5>{"SET", key, text, "PX", lifetime.count()});
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

std::vector<value> client::transaction(std::initializer_list<std::initializer_list<argument>> commands) {
    detail::redis::transaction all;
    for (const auto& words : commands) {
        impl_->check(words);
        all.add(words);
    }
    return commands.size() == 0 ? std::vector<value>() : impl_->call(std::move(all));
}

std::vector<value> client::transaction(std::span<const std::vector<std::string>> commands) {
    detail::redis::transaction all;
    for (const auto& texts : commands) {
        const std::vector<argument> words(texts.begin(), texts.end());
        impl_->check(words);
        all.add(words);
    }
    return commands.empty() ? std::vector<value>() : impl_->call(std::move(all));
}

}  // namespace weft::redis
