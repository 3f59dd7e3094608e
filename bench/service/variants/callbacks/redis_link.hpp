// redis_link.hpp - one connection to a Redis server, whose replies come to functions.
//
// It behaves as weft::redis::client does for fibers: it connects when first used; the commands of
// one turn leave by one write; when the connection is lost, the commands under way fail, and none
// is repeated; while the server cannot be reached, commands fail at once, and it tries again after
// 50 ms, doubling to 2 s.
//
//  state       meaning                                 leaves by
//  idle        no connection                           call() after retry_at_ -> connecting
//  connecting  commands are kept until it is there     writable -> open | lost() -> idle
//  open        commands and replies flow               lost() -> idle
#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <weft/redis/argument.hpp>
#include <weft/redis/value.hpp>

#include "callbacks/loop.hpp"
#include "redis/codec.hpp"
#include "redis/refusal.hpp"
#include "redis/url.hpp"

namespace variants {

class redis_link {
public:
    /// Called once: with the reply, or with the failure and nil. Not called at all if the link is
    /// destroyed first.
    using on_reply = std::function<void(weft::redis::value reply, std::exception_ptr failure)>;

    /// \throws  std::invalid_argument naming the part of the URL that is wrong; it takes a numeric
    ///          address, no password and no database.
    redis_link(loop& in, std::string_view url);

    void call(std::span<const weft::redis::argument> command, on_reply then);

private:
    enum class state : std::uint8_t { idle, connecting, open };

    void connect();
    void connected();
    void flush();
    void receive();
    void lost(const std::string& why);
    void tick();
    void sweep();

    loop& loop_;
    const weft::detail::redis::server_url url_;
    const weft::detail::redis::command_rules rules_;  // as for commands of fibers
    state state_ = state::idle;
    std::unique_ptr<watched> socket_;
    std::vector<std::unique_ptr<watched>> gone_;  // until the end of the turn (LOOP-2)
    std::optional<weft::detail::redis::decoder> replies_;
    std::deque<on_reply> waiting_;
    std::string out_;
    std::size_t sent_ = 0;  // of out_
    std::vector<char> in_;
    std::string reason_;  // of the last loss
    unsigned failures_ = 0;  // attempts since the server last answered a command
    weft::detail::time_point retry_at_{}, heard_{};
};

}  // namespace variants
