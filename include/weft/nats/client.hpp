// client.hpp - a NATS client shared by many fibers: publish, subscribe, request and reply.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <weft/channel.hpp>
#include <weft/detail/export.hpp>
#include <weft/detail/timeouts.hpp>
#include <weft/io/byte_stream.hpp>
#include <weft/io/stream_layer.hpp>
#include <weft/nats/error.hpp>
#include <weft/nats/message.hpp>
#include <weft/net/endpoint.hpp>
#include <weft/no_limit.hpp>

namespace weft::detail::nats {
class link;
class subscriber;
}// namespace weft::detail::nats

namespace weft::nats {

class delivery;

/// Something has happened to a client; see client_options::on_event.
struct event {
    enum class kind {
        connected,      ///< `text` names the server
        disconnected,   ///< or an attempt has failed; `text` says why
        lame_duck,      ///< the server is about to end
        dropped,        ///< `count` messages that were published are lost
        slow_consumer,  ///< a subscription to `text` has begun to lose messages
        server_error,   ///< the server has said -ERR `text`, such as for a missing permission
        closed,         ///< for good; `text` says why
    };
    kind what;
    std::string text = {};
    std::uint64_t count = 0;
};

struct client_options {
    /// nats://[user:password@ | token@]host[:port], or tls:// with the same parts. They are tried in order.
    std::vector<std::string> servers = {"nats://127.0.0.1:4222"};
    std::string name = {};  ///< which the server shows
    std::string user = {};
    std::string password = {};
    std::string token = {};
    std::string nkey = {};       ///< a seed, "SU..."
    std::string nkey_file = {};  ///< a file with a seed, which only its owner may read
    /// `&context` of a tls::context, which must stay as long as the client. It is used if the URL begins with
    /// tls:// or the server asks for it.
    const io::stream_layer* tls = nullptr;
    /// For the connection, the handshake of TLS and the login.
    std::chrono::nanoseconds connect_timeout = std::chrono::seconds(5);
    /// A server that has not answered two pings is lost. no_limit or zero: no pings.
    std::chrono::nanoseconds ping_interval = std::chrono::seconds(20);
    /// Before a server is tried again: this long, doubled after each failure up to the largest, and
    /// each time between a half and the whole of it, by chance.
    std::chrono::nanoseconds reconnect_pause = std::chrono::milliseconds(100);
    std::chrono::nanoseconds reconnect_pause_most = std::chrono::seconds(2);
    /// After so many failures in a row the client closes.
    std::size_t most_reconnects = no_limit;
    /// How much is kept that the server has not been sent. While there is a connection a publisher parks
    /// for room; while there is none, what does not fit is refused.
    std::size_t pending_bytes = std::size_t{8} << 20;
    std::size_t max_message_bytes = std::size_t{64} << 20;  ///< a larger message ends the connection
    std::string inbox_prefix = "_INBOX";  ///< of the subjects to which answers come
    bool echo = true;  ///< whether subscriptions get what this client publishes
    /// Is told what happens, on a fiber of the client. It must not wait for the client, and what it throws is
    /// dropped.
    std::function<void(const event&)> on_event = {};
    /// Opens the connections, instead of tcp::stream::connect(): through a tunnel, or a
    /// net::simulated_network. It runs within connect_timeout; it may park and throw.
    std::function<io::byte_stream(const net::endpoint&)> connect = {};
};

struct publish_options {
    std::string_view reply = {};
    nats::headers headers = {};
};

/// The limits of a subscription. A message that does not fit is lost, and counted.
struct subscribe_options {
    /// Subscriptions with the same queue share the messages: each goes to one of them.
    std::string queue = {};
    std::size_t capacity = 8192;                              ///< messages that wait for the receiver
    std::size_t most_bytes = std::size_t{64} << 20;           ///< of payloads that wait
    /// drop_oldest or drop_newest. A connection serves many subscriptions, so one must not stop it.
    overflow when_full = overflow::drop_newest;
};

/// What a server has said about itself.
struct server_info {
    std::string id, name, version, host;
    std::uint16_t port = 0;
    std::size_t max_payload = 0;
    bool headers = false;
    bool jetstream = false;
    bool lame_duck = false;
    std::vector<std::string> connect_urls;  ///< other servers of its cluster
};

struct client_stats {
    std::uint64_t published = 0, published_bytes = 0;
    std::uint64_t received = 0, received_bytes = 0;
    std::uint64_t dropped = 0;     ///< published, and lost with a connection or for want of room
    std::uint64_t undelivered = 0; ///< received, and lost by subscriptions that were full
    std::uint64_t reconnects = 0;
    std::size_t pending_bytes = 0;
    std::size_t subscriptions = 0;
    bool connected = false;
};

/// Receives what is published to a subject, like the receiver of a channel: receive(), receive_for(),
/// try_receive(), a case on_receive() of weft::select(), or a range. It ends with the client.
/// Destroying it unsubscribes.
class WEFT_EXPORT subscription : public weft::detail::channel_handle<message>,
                                 public weft::detail::receive_operations<subscription, message> {
public:
    explicit subscription(std::shared_ptr<weft::detail::nats::link>, std::shared_ptr<weft::detail::nats::subscriber>);
    ~subscription();
    subscription(subscription&&) noexcept = default;
    subscription& operator=(subscription&&) noexcept;

    /// No further message is received; those that wait can still be taken.
    void unsubscribe() noexcept;
    void close() noexcept { unsubscribe(); }
    /// Unsubscribes, and waits for what the server has sent until then; receive() ends behind it.
    /// \parks   until the server answers. \throws  timeout_error; error; weft::cancelled.
    void drain(std::chrono::nanoseconds limit = std::chrono::seconds(10));
    /// How many messages were lost because they did not fit.
    [[nodiscard]] std::uint64_t dropped() const noexcept;
    [[nodiscard]] const std::string& subject() const noexcept;

private:
    std::shared_ptr<weft::detail::nats::link> link_;
    std::shared_ptr<weft::detail::nats::subscriber> own_;
};

/// A client of a NATS server, or of a cluster of them:
///
///     weft::nats::client nats({.servers = {"nats://127.0.0.1:4222"}});
///     auto orders = nats.subscribe("orders.*");
///     nats.publish("orders.eu", "7 apples");
///     for (const weft::nats::message& m : orders) std::cout << m.payload << '\n';
///
/// It is created and destroyed inside a runtime; any fiber or thread may call its members. It connects at
/// once, without waiting; what is published before it has connected is kept, up to pending_bytes. When the
/// connection is lost it connects again, and subscribes again. NATS delivers at most once: what was on its
/// way is lost, and what this client knows of that is told by on_event. See docs/guide/25-nats.md.
class WEFT_EXPORT client {
public:
    /// \throws  std::invalid_argument naming the option; error for an nkey; std::logic_error outside a
    ///          runtime.
    explicit client(client_options options = {});
    /// As close(), and waits for the fibers of the client.
    ~client();
    client(client&&) noexcept;
    client& operator=(client&&) noexcept;

    /// Sends a message to all that have subscribed to the subject. Returning means that it is in the buffer.
    ///
    /// \parks   while the buffer is full and there is a connection.
    /// \throws  error: bad_subject, bad_header, payload_too_large, buffer_full, no_headers, closed;
    ///          weft::cancelled, with nothing sent.
    void publish(std::string_view subject, std::string_view payload, const publish_options& how = {});
    void publish(std::string_view subject, std::string_view payload, const publish_options& how, std::error_code& failed);
    /// As publish(), but \returns false instead of waiting for room.
    bool try_publish(std::string_view subject, std::string_view payload, const publish_options& how = {});

    /// Receives what is published to a subject; `*` stands for one token, a last `>` for one or more. The
    /// server learns of it with the next write; flush() waits for that.
    ///
    /// \throws  error: bad_subject, closed; std::invalid_argument for another overflow.
    [[nodiscard]] subscription subscribe(std::string_view subject, const subscribe_options& how = {});

    /// Publishes with a reply subject, and waits for the first answer.
    ///
    /// \parks   until then.
    /// \throws  no_responders; timeout_error; error, of connection_lost if the connection was lost meanwhile,
    ///          of not_connected if there was none within the limit; weft::cancelled.
    message request(std::string_view subject, std::string_view payload, std::chrono::nanoseconds limit,
                    const publish_options& how = {});
    message request(std::string_view subject, std::string_view payload, std::chrono::nanoseconds limit,
                    const publish_options& how, std::error_code& failed);

    /// Waits until the server has handled all that was published and subscribed before.
    ///
    /// \parks   until then. \throws  timeout_error; error; weft::cancelled.
    void flush(std::chrono::nanoseconds limit = std::chrono::seconds(10));
    void flush(std::chrono::nanoseconds limit, std::error_code& failed);

    /// Unsubscribes everything, waits until all that was published is sent and all that was sent has come,
    /// and closes. Messages that have come can still be received.
    void drain(std::chrono::nanoseconds limit = std::chrono::seconds(30));
    /// Gives what was published up to a second, fails the calls that wait, ends the subscriptions and the
    /// connection. Shielded.
    void close() noexcept;

    /// A new subject to which answers can be sent, below that of this client's own requests.
    [[nodiscard]] std::string new_inbox();
    [[nodiscard]] client_stats stats() const;
    /// What the server said when it was connected to last; empty before.
    [[nodiscard]] server_info server() const;
    [[nodiscard]] bool connected() const noexcept;

private:
    friend class jetstream;
    delivery delivered(message&&, std::chrono::nanoseconds limit);

    struct impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace weft::nats
