// hiredis_client.hpp - hiredis as the contract asks for it, with a redis-server of the test's own.
#pragma once

#include <hiredis/hiredis.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clients/support/server_process.hpp"
#include "redis/support/redis_server.hpp"

namespace weft::test {

struct hiredis_client {
    static constexpr const char* library = "libhiredis";

    struct server : redis_server {
        server() : redis_server({"--maxclients", "5000", "--timeout", "0"}) {}
    };

    class connection {
    public:
        explicit connection(const server& to) : context_(redisConnect("127.0.0.1", to.port()), redisFree) {
            if (!context_) throw call_failed("no memory");
            if (context_->err) throw call_failed(context_->errstr);
        }
        std::string echo(long number, std::string_view text) {
            return ask({"ECHO", std::to_string(number) + ' ' + std::string(text)});
        }
        std::string refusal(long number) { return ask({"NONSENSE_" + std::to_string(number)}); }
        void wait_long() { ask({"BLPOP", "nothing", "60"}); }

        /// \returns the text of an answer or of a refusal; "" for an answer without text.
        std::string ask(const std::vector<std::string>& words) { return find(words).value_or(""); }
        /// \returns the text of an answer or of a refusal, a number as text; empty for nil.
        std::optional<std::string> find(const std::vector<std::string>& words) {
            std::vector<const char*> pointers;
            std::vector<std::size_t> lengths;
            for (const auto& word : words) pointers.push_back(word.data()), lengths.push_back(word.size());
            const std::unique_ptr<void, void (*)(void*)> answer(
                redisCommandArgv(context_.get(), static_cast<int>(words.size()), pointers.data(), lengths.data()),
                freeReplyObject);
            if (!answer) throw call_failed(context_->errstr);
            const auto* const reply = static_cast<const redisReply*>(answer.get());
            if (reply->type == REDIS_REPLY_INTEGER) return std::to_string(reply->integer);
            return reply->str ? std::optional<std::string>(std::in_place, reply->str, reply->len) : std::nullopt;
        }

    private:
        std::unique_ptr<redisContext, void (*)(redisContext*)> context_;
    };

    static std::string refusal_of(long number) { return "unknown command 'NONSENSE_" + std::to_string(number) + "'"; }
    static std::string interruption(int error) { return std::strerror(error); }
};

}  // namespace weft::test
