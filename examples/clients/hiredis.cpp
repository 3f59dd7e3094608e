#include <hiredis/hiredis.h>

#include "libraries.hpp"

namespace clients {

hiredis_connection::hiredis_connection(const address& to) : context_(::redisConnect(to.host.c_str(), to.port), ::redisFree) {
    if (!context_) throw failure("hiredis: no memory");
    if (context_->err) throw failure(std::string("hiredis: ") + context_->errstr);
}

std::string hiredis_connection::ask(int number) { return run({"ECHO", std::to_string(number)}).value_or(""); }

std::optional<std::string> hiredis_connection::run(const std::vector<std::string>& command) {
    std::vector<const char*> words;
    std::vector<std::size_t> lengths;
    for (const auto& word : command) words.push_back(word.data()), lengths.push_back(word.size());
    const std::unique_ptr<void, void (*)(void*)> answer(
        ::redisCommandArgv(context_.get(), static_cast<int>(words.size()), words.data(), lengths.data()), ::freeReplyObject);
    if (!answer) throw failure(std::string("hiredis: ") + context_->errstr);
    const auto& reply = *static_cast<const redisReply*>(answer.get());
    if (reply.type == REDIS_REPLY_ERROR) throw failure("hiredis: " + std::string(reply.str, reply.len));
    if (reply.type == REDIS_REPLY_INTEGER) return std::to_string(reply.integer);
    return reply.str ? std::optional<std::string>(std::in_place, reply.str, reply.len) : std::nullopt;
}

}  // namespace clients
