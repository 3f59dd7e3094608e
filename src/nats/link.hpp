// link.hpp - the connection of a client: what waits to be sent, who waits for what, and the state.
//
//  state       publish                      leaves by
//  connecting  is kept, within the bound    opened() -> connected | close() -> closed
//  connected   is kept, or parks for room   lost() -> connecting | close() -> closed
//  closed      fails                        -
//
// Invariants
//   NATS_LINK-1  A batch is written in the order subscribe_, publish_, ask_. So a message published
//                after a subscribe() is sent behind it, and a PING behind all that was published before.
//                subscribe_ and ask_ belong to one connection; publish_ outlives it.
//   NATS_LINK-2  rounds_ has one entry per PING that was appended and not answered, in order.
//   NATS_LINK-3  A request and a round belong to their caller, which takes them out of the table under
//                lock_ before it goes. They are completed under lock_, too.
//   NATS_LINK-4  lock_ is held while a piece of what has come is parsed and delivered. Nothing parks
//                there; hooks are called after it.
//   NATS_LINK-5  What the writer has taken and has not written whole is counted as dropped when the
//                connection is lost. Nothing is ever sent twice.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include <weft/condition_variable.hpp>
#include <weft/event.hpp>
#include <weft/mutex.hpp>
#include <weft/nats/client.hpp>

#include "nats/codec.hpp"
#include "nats/server_list.hpp"
#include "nats/subscriber.hpp"

namespace weft::detail::nats {

inline constexpr std::uint64_t inbox_sid = 1;  // of the subscription to which answers come

enum class at_full : std::uint8_t { park, refuse };

class link final : private listener_of_parser {
public:
    explicit link(weft::nats::client_options);

    // For callers.

    bool publish(std::string_view subject, std::string_view payload, const weft::nats::publish_options&, at_full);
    std::shared_ptr<subscriber> subscribe(std::string_view subject, const weft::nats::subscribe_options&);
    void unsubscribe(subscriber&) noexcept;
    std::uint64_t lost_by(const subscriber&) noexcept;
    void drain(subscriber&, std::chrono::nanoseconds limit);
    weft::nats::message request(std::string_view subject, std::string_view payload, std::chrono::nanoseconds limit,
                                const weft::nats::publish_options&);
    void flush(std::chrono::nanoseconds limit);
    void drain(std::chrono::nanoseconds limit);
    void close(const std::string& why) noexcept;
    std::string new_inbox();
    weft::nats::client_stats stats();
    weft::nats::server_info server();

    /// The body of the client's fiber. Ends when stopped or closed.
    void run();

private:
    enum class state : std::uint8_t { connecting, connected, closed };
    enum class outcome : std::uint8_t { waiting, done, lost, closed };
    struct pending_request {
        weft::event over;
        outcome how = outcome::waiting;
        weft::nats::message answer;
        std::uint64_t batch = 0;  // with which it is sent
    };
    struct round {
        weft::event over;
        outcome how = outcome::waiting;
    };
    struct failure {
        weft::nats::nats_errc code;
        std::string text;
    };
    using lock_type = std::unique_lock<mutex>;

    bool append(lock_type&, std::string_view subject, std::string_view payload, std::string_view reply,
                const std::string& header_block, at_full, time_point until);
    void check_open() const;
    void wake_writer();
    void await_round(time_point until);
    [[noreturn]] void fail_late(const std::string& what);
    void remove(subscriber&);

    failure serve_once();
    io::byte_stream open(parser&);
    void opened();
    void lost(const failure&);
    void write(io::byte_stream&);
    void watch();
    void read(io::byte_stream&, parser&);
    void pause();
    void tell();
    void end_waits(outcome how);

    void on_message(const arrival&) override;
    void on_answer(const arrival&);
    void announce();
    void on_info(std::string_view json) override;
    void on_ping() override;
    void on_pong() override;
    void on_error(std::string_view text) override;

    const weft::nats::client_options options_;
    const std::string inbox_;  // "_INBOX.<random>"

    mutex lock_;  // guards all that follows, but what the comments say
    state state_ = state::connecting;
    bool drains_ = false;
    failure why_{weft::nats::nats_errc::not_connected, "it has not connected yet"};
    std::string subscribe_, publish_, ask_;  // NATS_LINK-1
    std::uint64_t published_ = 0;            // messages in publish_
    std::uint64_t in_flight_ = 0;            // messages that the writer has taken
    std::uint64_t batches_ = 0;              // that the writer has taken
    bool writer_sleeps_ = false;
    unsigned unanswered_ = 0;  // pings of watch()
    std::deque<round*> rounds_;
    std::unordered_map<std::uint64_t, pending_request*> requests_;
    std::list<kept_message> spares_;  // of the subscribers
    subscriber* receiving_ = nullptr;  // to which the last message of this piece went
    std::unordered_map<std::uint64_t, std::shared_ptr<subscriber>> subscribers_;
    std::uint64_t last_sid_ = inbox_sid;
    std::uint64_t last_request_ = 0;
    bool uses_inbox_ = false;
    std::uint64_t refused_ = 0;  // messages that were not kept while there was no connection
    weft::nats::server_info info_;
    weft::nats::client_stats stats_;
    std::string last_error_;  // -ERR of this connection
    std::vector<weft::nats::event> events_;  // to be told
    condition_variable room_;
    condition_variable changed_;  // the state
    weft::event wake_{weft::event::automatic};

    // Of the reader fiber.
    server_list servers_;
    std::minstd_rand chance_;
    std::size_t failures_ = 0;
};

}  // namespace weft::detail::nats
