// over_jetstream.hpp - work queues in NATS JetStream. A program that includes it links weft::nats, too.
#pragma once

#include <weft/detail/requirements.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <weft/cluster/error.hpp>
#include <weft/cluster/work_store.hpp>
#include <weft/mutex.hpp>
#include <weft/nats/client.hpp>
#include <weft/nats/jetstream.hpp>

namespace weft::cluster {

struct jetstream_work_options {
    /// Queues of other clusters on the same server are not seen: 1 to 64 letters, digits, '-' and '_'.
    std::string cluster;
    /// How many servers keep each message; 3 for a cluster of servers, of which one may be lost. A queue
    /// that is there is opened with the number that it has; another one throws std::invalid_argument.
    unsigned replicas = 1;
    /// Of each call, and how long a call waits for a connection. A receiver whose server was lost asks again
    /// after two seconds.
    std::chrono::nanoseconds limit = std::chrono::seconds(5);
    std::string domain = {};  ///< of JetStream
};

/// A work_store in NATS JetStream, from nats-server 2.12.3 on, with a client of its own.
///
///     auto store = std::make_shared<weft::cluster::jetstream_work>(
///         weft::nats::client_options{.servers = {"nats://n1", "nats://n2"}},
///         weft::cluster::jetstream_work_options{.cluster = "bank", .replicas = 3});
///
/// The servers need `sync_interval: always` below `jetstream` in their configuration: without it a server
/// that loses power, or is killed, may forget what it has stored. A queue is the stream w~CLUSTER~q~NAME with
/// one consumer, "work". Opening a queue that is there changes its limits and its duplicate window, and
/// nothing else that an administrator has set. The name and version of a message are its headers Weft-Name and Weft-Version. Ids
/// of messages that were acknowledged are forgotten when a server starts anew.
///
/// A stream or a consumer that somebody deletes is like a server out of reach: receivers ask again five times
/// a second, and say nothing, until the queue is opened once more. A consumer keeps 512 requests that wait:
/// of more receivers that are idle, the others ask five times a second, too.
class jetstream_work final : public work_store {
public:
    /// \parks   until there is a connection.
    /// \throws  nats::error: server_too_old below 2.12.3; timeout_error or nats::error without a connection;
    ///          error: bad_name.
    explicit jetstream_work(nats::client_options servers, jetstream_work_options options)
        : to_(std::make_shared<connection>(std::move(servers), std::move(options))) {}

    [[nodiscard]] std::shared_ptr<stored_queue> open(std::string_view name, const stored_queue_options& how) override {
        return std::make_shared<queue>(to_, name, how);
    }
    /// The client, for its stats.
    [[nodiscard]] nats::client& client() noexcept { return to_->client; }

private:
    struct connection {
        connection(nats::client_options servers, jetstream_work_options how)
            : options(named(std::move(how))),
              client(std::move(servers)),
              js(client, {.domain = options.domain, .limit = options.limit}) {}

        static jetstream_work_options named(jetstream_work_options how) {
            constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
            const std::string_view name = how.cluster;
            if (name.empty() || name.size() > 64 || name.find_first_not_of(letters) != std::string_view::npos)
                throw error(errc::bad_name,
                            "weft: jetstream_work_options::cluster has 1 to 64 letters, digits, '-' and '_', unlike '" +
                                std::string(name.substr(0, 64)) + "'",
                            false);
            return how;
        }

        jetstream_work_options options;
        nats::client client;
        nats::jetstream js;
    };

    class work final : public stored_work {
    public:
        work(content what, nats::delivery of) : stored_work(std::move(what)), of_(std::move(of)) {}

        void ack() override { of_.ack(); }
        void ack_sure() override { of_.ack_sure(); }
        void give_back(std::chrono::nanoseconds delay) override { of_.nak(delay); }
        void extend() override { of_.in_progress(); }
        void terminate() override { of_.term(); }

    private:
        nats::delivery of_;
    };

    class queue final : public stored_queue {
    public:
        queue(std::shared_ptr<connection> to, std::string_view name, const stored_queue_options& how)
            : to_(std::move(to)),
              subject_("w." + to_->options.cluster + ".q." + std::string(name)),
              stream_(subject_),
              ack_wait_(how.ack_wait),
              max_bytes_(how.max_bytes) {
            std::ranges::replace(stream_, '.', '~');
            const nats::stream_config kept{.name = stream_,
                                           .subjects = {subject_},
                                           .replicas = to_->options.replicas,
                                           .retention = "workqueue",
                                           .discard = "new",
                                           .most_messages = limit(how.max_messages),
                                           .most_bytes = limit(how.max_bytes),
                                           .duplicate_window = how.duplicate_window};
            open_stream(kept);
            if (const auto there = to_->js.consumer_configuration(stream_, consumer))
                require_ack_wait(name, how.ack_wait, there->ack_wait);
            to_->js.add_consumer(stream_, {.name = consumer, .ack_wait = how.ack_wait, .most_unacknowledged = -1});
        }

        std::uint64_t largest_message() const override {
            const std::uint64_t around = 160 + stream_.size();  // the fields around name and id, in letters
            const std::uint64_t most = to_->client.server().max_payload;
            return most == 0 ? no_limit : most - std::min(most, around);
        }

        append_result append(const work_item& item, std::string_view id) override {
            require_room(item, id);
            nats::headers fields;
            fields.add(name_field, item.name);
            fields.add(version_field, std::to_string(item.version));
            const std::string_view bytes(reinterpret_cast<const char*>(item.bytes.data()), item.bytes.size());
            try {
                const auto done = to_->js.publish(
                    subject_, bytes, {.id = std::string(id), .expected_stream = stream_, .headers = std::move(fields)});
                return done.duplicate ? append_result::duplicate : append_result::stored;
            } catch (const nats::error& e) {
                if (says(e, "maximum messages exceeded") || says(e, "maximum bytes exceeded")) return append_result::full;
                if (e.code() == nats::nats_errc::payload_too_large || says(e, "(10054)"))  // the stream's max_msg_size
                    throw error(errc::too_large, e.what(), false);
                if (e.code() == nats::nats_errc::bad_header) throw error(errc::bad_message, e.what(), false);
                throw;
            }
        }

        /// Waits for one message. What there is beside it is taken by the next call, so that this one does
        /// not wait for a second answer while nobody extends the first message. A request for several would
        /// wait for all.
        std::vector<std::shared_ptr<stored_work>> pull(std::size_t most, std::chrono::nanoseconds wait) override {
            using std::chrono::nanoseconds;
            // The server's answer is awaited as long again: what it sends to nobody counts as delivered.
            // While there is no connection a request would be kept, and be answered to nobody.
            const nanoseconds least = std::chrono::milliseconds(250), none = nanoseconds::zero();
            const auto limit = std::min(to_->options.limit, std::max(wait, least));
            if (!to_->client.connected()) to_->client.flush(limit);
            if (most > 1 && has_more(false)) {
                // What has come is extended when this returns, so an answer that stays away may not hold it up.
                auto all = take({.batch = most, .no_wait = true, .limit = std::min(limit, ack_wait_ / 4)});
                if (!all.empty()) return all;
            }
            return take({.batch = 1, .expires = std::max(wait, none), .no_wait = wait <= none, .limit = limit});
        }

    private:
        static constexpr const char *consumer = "work", *name_field = "Weft-Name", *version_field = "Weft-Version";
        // "NATS/1.0", the four fields' names and ends of lines, and 34 bytes of a record in a file
        static constexpr std::uint64_t least_around = 127;

        static std::int64_t limit(std::uint64_t n) noexcept {
            return n == no_limit ? -1 : static_cast<std::int64_t>(std::min<std::uint64_t>(n, INT64_MAX));
        }
        void open_stream(const nats::stream_config& wanted) {
            for (bool again = true;; again = false) {
                try {
                    require_alike(to_->js.stream_configuration(stream_), wanted);
                    to_->js.change_limits(stream_, {wanted.most_messages, wanted.most_bytes, wanted.duplicate_window});
                    return;
                } catch (const nats::error& e) {
                    if (!says(e, "(10059)")) throw;  // there is none
                }
                try {
                    to_->js.add_stream(wanted);
                    return;
                } catch (const nats::error& e) {
                    if (!again || !says(e, "(10058)")) throw;  // another opener has just made it
                }
            }
        }
        /// A message that is larger than the whole stream would find it full for ever. The stream counts the
        /// subject, the fields, and what it writes around each message; the larger ones of these are here.
        void require_room(const work_item& item, std::string_view id) const {
            const auto size = subject_.size() + stream_.size() + item.name.size() + id.size() + item.bytes.size() + least_around;
            if (max_bytes_ == no_limit || size <= max_bytes_) return;
            throw error(errc::too_large,
                        "weft: a message takes " + std::to_string(size) +
                            " bytes in its stream, which is more than work_options::max_bytes, " + std::to_string(max_bytes_),
                        false);
        }
        static void require_alike(const nats::stream_config& there, const nats::stream_config& wanted) {
            const std::string has = "weft: the stream " + wanted.name + " has ";
            if (there.replicas != wanted.replicas)
                throw std::invalid_argument(has + std::to_string(there.replicas) +
                                            " replicas, and jetstream_work_options::replicas is " +
                                            std::to_string(wanted.replicas) + ": give what it has, or change the stream first");
            if (there.retention != wanted.retention || there.discard != wanted.discard)
                throw std::invalid_argument(has + "retention '" + there.retention + "' and discard '" + there.discard +
                                            "': a work queue needs 'workqueue' and 'new'");
        }
        /// \returns what it was
        bool has_more(bool now) {
            const std::lock_guard guard(lock_);
            return std::exchange(has_more_, now);
        }
        static bool says(const nats::error& e, std::string_view what) noexcept {
            return e.code() == nats::nats_errc::jetstream_error &&
                   std::string_view(e.what()).find(what) != std::string_view::npos;
        }
        std::vector<std::shared_ptr<stored_work>> take(const nats::pull_options& how) {
            std::vector<std::shared_ptr<stored_work>> all;
            for (auto& d : to_->js.pull(stream_, consumer, how)) {
                static_cast<void>(has_more(d.info().pending > 0));
                auto what = content_of(d);
                all.push_back(std::make_shared<work>(std::move(what), std::move(d)));
            }
            return all;
        }
        static stored_work::content content_of(const nats::delivery& d) {
            const auto& m = d.content();
            const auto info = d.info();
            const auto bytes = std::as_bytes(std::span(m.payload));
            stored_work::content what{
                .item = {.name = std::string(m.headers.get(name_field)), .version = 0, .bytes = {bytes.begin(), bytes.end()}},
                .id = std::string(m.headers.get("Nats-Msg-Id")),
                .sequence = info.stream_sequence,
                .delivered = info.delivered};
            const auto version = m.headers.get(version_field);
            std::from_chars(version.data(), version.data() + version.size(), what.item.version);
            return what;
        }

        std::shared_ptr<connection> to_;
        const std::string subject_;
        std::string stream_;
        const std::chrono::nanoseconds ack_wait_;
        const std::uint64_t max_bytes_;
        weft::mutex lock_;
        bool has_more_ = false;  // a hint, guarded by the lock: what was delivered last had others behind it
    };

    std::shared_ptr<connection> to_;
};

}  // namespace weft::cluster
