// session.cpp - checks the commands of a session, and gives its connection back.
#include "redis/session.hpp"
#include "redis/failed_reply.hpp"

namespace weft::redis {

session::session(std::unique_ptr<impl> made) noexcept : impl_(std::move(made)) {}

session::~session() {
    auto& connection = *impl_->lent;
    if (connection->may_be_lent_again())
        connection->begin_anew();
    else
        impl_->lent.discard();
}

value session::run(std::span<const argument> words) {
    impl_->check(words);
    detail::redis::own_commands commands;
    commands.add(words);
    return detail::redis::successful(std::move(impl_->call(commands).front()));
}

value session::command(std::span<const std::string> words) { return run(std::vector<argument>(words.begin(), words.end())); }

std::vector<value> session::pipeline(std::initializer_list<std::initializer_list<argument>> commands) {
    detail::redis::own_commands all;
    for (const auto& words : commands) {
        impl_->check(words);
        all.add(words);
    }
    return commands.size() == 0 ? std::vector<value>() : impl_->call(all);
}

std::vector<value> session::pipeline(std::span<const std::vector<std::string>> commands) {
    detail::redis::own_commands all;
    for (const auto& texts : commands) {
        const std::vector<argument> words(texts.begin(), texts.end());
        impl_->check(words);
        all.add(words);
    }
    return commands.empty() ? std::vector<value>() : impl_->call(all);
}

}  // namespace weft::redis
