// jetstream.hpp - streams that keep messages: publish with an acknowledgement, and pull consumers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <weft/detail/export.hpp>
#include <weft/nats/client.hpp>

namespace weft::nats {

struct jetstream_options {
    std::string domain = {};
    std::chrono::nanoseconds limit = std::chrono::seconds(5);  ///< of each call
};

struct stream_config {
    std::string name;
    std::vector<std::string> subjects = {};
    bool in_memory = false;
    unsigned replicas = 1;
    std::string retention = "limits";             ///< or "interest", "workqueue"
    std::string discard = "old";                  ///< what goes when the stream is full; or "new"
    std::int64_t most_messages = -1;              ///< -1: no limit
    std::int64_t most_bytes = -1;
    std::chrono::nanoseconds most_age = {};       ///< zero: no limit
    std::chrono::nanoseconds duplicate_window = std::chrono::minutes(2);
};

/// What change_limits() changes of a stream.
struct stream_limits {
    std::int64_t most_messages = -1;  ///< -1: no limit
    std::int64_t most_bytes = -1;
    std::chrono::nanoseconds duplicate_window = std::chrono::minutes(2);
};

struct stream_state {
    std::string name;
    std::uint64_t messages = 0, bytes = 0, first_sequence = 0, last_sequence = 0;
    std::size_t consumers = 0;
};

struct consumer_config {
    std::string name;
    std::string filter = {};                                  ///< a subject; empty: all of the stream
    std::chrono::nanoseconds ack_wait = std::chrono::seconds(30);  ///< then it is delivered again
    std::int64_t most_deliveries = -1;                        ///< of one message; -1: no limit
    std::int64_t most_unacknowledged = 1000;
};

struct js_publish_options {
    std::string id = {};  ///< a second message with it within the window of the stream is a duplicate
    std::optional<std::uint64_t> expected_last_sequence = {};
    std::optional<std::uint64_t> expected_last_subject_sequence = {};
    std::string expected_last_id = {};
    std::string expected_stream = {};
    nats::headers headers = {};
};

struct publish_ack {
    std::string stream;
    std::uint64_t sequence = 0;
    bool duplicate = false;
};

struct delivery_info {
    std::string stream, consumer;
    std::uint64_t delivered = 0, stream_sequence = 0, consumer_sequence = 0, pending = 0;
    std::chrono::sys_time<std::chrono::nanoseconds> time = {};  ///< when the stream has stored it
};

/// A message of a pull consumer, which is delivered again unless it is acknowledged in time.
class WEFT_EXPORT delivery {
public:
    delivery(std::shared_ptr<detail::nats::link> of, message m, std::chrono::nanoseconds limit)
        : link_(std::move(of)), message_(std::move(m)), limit_(limit) {}

    [[nodiscard]] const message& content() const noexcept { return message_; }
    /// \throws  error of protocol_error
    [[nodiscard]] delivery_info info() const;

    void ack();       ///< handled; the server may not learn of it
    void ack_sure();  ///< handled; waits until the server knows
    void nak(std::chrono::nanoseconds delay = {});  ///< deliver it again
    void in_progress();  ///< the time until it is delivered again begins anew
    void term();         ///< never deliver it again

private:
    void say(std::string_view word);

    std::shared_ptr<detail::nats::link> link_;
    message message_;
    std::chrono::nanoseconds limit_;
};

struct pull_options {
    std::size_t batch = 1;
    std::chrono::nanoseconds expires = std::chrono::seconds(5);
    bool no_wait = false;  ///< take what there is now; `expires` does not count
    /// How long the server's answer is awaited after `expires`; empty: jetstream_options::limit. What it
    /// sends after that goes to nobody, and counts as delivered.
    std::optional<std::chrono::nanoseconds> limit = {};
};

/// JetStream of the server that a client is connected to. The client must stay as long.
///
/// \throws  error: server_too_old, jetstream_error with the server's reason, and what client::request()
///          throws.
class WEFT_EXPORT jetstream {
public:
    /// \throws  error of server_too_old below 2.12.3, which loses acknowledged messages; of not_connected.
    explicit jetstream(client& of, jetstream_options options = {});

    publish_ack publish(std::string_view subject, std::string_view payload, const js_publish_options& how = {});

    stream_state add_stream(const stream_config&);
    stream_state update_stream(const stream_config&);
    /// Changes these alone, and only if they are others; what an administrator has set besides stays.
    stream_state change_limits(std::string_view name, const stream_limits&);
    stream_state stream_info(std::string_view name);
    /// \returns how the stream is configured, in what stream_config has.
    stream_config stream_configuration(std::string_view name);
    void delete_stream(std::string_view name);
    /// Makes a durable pull consumer, or changes the one of that name.
    void add_consumer(std::string_view stream, const consumer_config&);
    /// \returns the consumer of that name, in what consumer_config has; empty if there is none.
    std::optional<consumer_config> consumer_configuration(std::string_view stream, std::string_view name);
    void delete_consumer(std::string_view stream, std::string_view name);

    /// Asks for the next messages. \returns  up to `batch` of them; fewer after `expires`, or with no_wait.
    std::vector<delivery> pull(std::string_view stream, std::string_view consumer, const pull_options& how = {});

private:
    std::string call(const std::string& subject, const std::string& json);
    void check_version();

    client* client_;
    jetstream_options options_;
    std::string prefix_;
};

}  // namespace weft::nats
