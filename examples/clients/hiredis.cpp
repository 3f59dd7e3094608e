// hiredis.cpp - ECHO of the number.
#include <hiredis/hiredis.h>

#include "libraries.hpp"

namespace clients {

namespace {

class by_hiredis final : public connection {
public:
    explicit by_hiredis(const address& to) : context_(::redisConnect(to.host.c_str(), to.port), ::redisFree) {
        if (!context_) throw failure("hiredis: no memory");
        if (context_->err) throw failure(std::string("hiredis: ") + context_->errstr);
    }
    std::string ask(int number) override {
        const std::unique_ptr<void, void (*)(void*)> answer(::redisCommand(context_.get(), "ECHO %d", number), ::freeReplyObject);
        if (!answer) throw failure(std::string("hiredis: ") + context_->errstr);
        const auto& reply = *static_cast<const redisReply*>(answer.get());
        return reply.str ? std::string(reply.str, reply.len) : std::string();
    }

private:
    std::unique_ptr<redisContext, void (*)(redisContext*)> context_;
};

}  // namespace

std::unique_ptr<connection> connect_by_hiredis(const address& to) { return std::make_unique<by_hiredis>(to); }

}  // namespace clients
