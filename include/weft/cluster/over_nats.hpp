// over_nats.hpp - the words between nodes over NATS. A program that includes it links weft::nats, too.
#pragma once

#include <weft/detail/requirements.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include <weft/cluster/transport.hpp>
#include <weft/nats/client.hpp>

namespace weft::cluster {

/// A transport over a NATS client of its own. Any nats-server from 2.2 on serves it, also several as one
/// cluster.
///
///     auto words = std::make_shared<weft::cluster::nats_transport>(weft::nats::client_options{.servers =
///     {"nats://n1", "nats://n2"}}); weft::cluster::node me({.name = "a1", .cluster = "bank", .words =
///     words});
class nats_transport final : public transport {
public:
    explicit nats_transport(nats::client_options options = {}) : client_(std::move(options)) {}

    /// \throws  nats::error, such as buffer_full if there has been no connection for long.
    void publish(std::string_view subject, std::string_view reply, std::span<const std::byte> payload) override {
        client_.publish(subject, {reinterpret_cast<const char*>(payload.data()), payload.size()}, {.reply = reply});
    }
    /// \parks  until the server knows of the subscription, for up to two seconds: a client without a
    ///         connection tells it later.
    std::unique_ptr<inbox> subscribe(std::string_view subject, std::string_view queue) override {
        auto made = std::make_unique<box>(client_.subscribe(subject, {.queue = std::string(queue)}));
        std::error_code later;
        client_.flush(std::chrono::seconds(2), later);
        return made;
    }
    /// \returns what the server has said; without a connection 1 MiB, which is what servers say unless they
    ///          are told otherwise.
    [[nodiscard]] std::size_t max_payload() const noexcept override {
        constexpr std::size_t usual = std::size_t{1} << 20;
        try {
            const auto said = client_.server().max_payload;
            return said == 0 ? usual : said;
        } catch (...) {
            return usual;
        }
    }
    /// The client, for its stats and for subjects of the program's own.
    [[nodiscard]] nats::client& client() noexcept { return client_; }

private:
    class box final : public inbox {
    public:
        explicit box(nats::subscription from) : from_(std::move(from)) {}
        bool receive(carried& into) override {
            auto m = from_.receive();
            if (!m) return false;
            into.subject = std::move(m->subject);
            into.reply = std::move(m->reply);
            into.no_responders = m->status() == 503;
            const auto bytes = std::as_bytes(std::span(m->payload));
            into.payload.assign(bytes.begin(), bytes.end());
            return true;
        }
        void close() noexcept override { from_.unsubscribe(); }

    private:
        nats::subscription from_;
    };

    nats::client client_;
};

}  // namespace weft::cluster
