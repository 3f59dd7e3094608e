// client.cpp - the public face of a link, with its fiber.
#include <weft/nats/client.hpp>
#include <weft/nats/jetstream.hpp>

#include <stdexcept>

#include <weft/fiber.hpp>
#include <weft/stop.hpp>

#include "nats/link.hpp"
#include "sched/current_place.hpp"

namespace weft::nats {

using weft::detail::nats::at_full;

namespace {

/// Runs f; what it fails with becomes `failed`.
template <class F>
auto with_code(std::error_code& failed, F&& f) -> decltype(f()) {
    failed.clear();
    try {
        return f();
    } catch (const std::system_error& e) {
        failed = e.code();
        return decltype(f())();
    }
}

std::shared_ptr<detail::nats::link> make_link(client_options&& o) {
    if (detail::find_current_place().workers == 0)
        throw std::logic_error("weft: nats::client needs a runtime: create it inside weft::run()");
    return std::make_shared<detail::nats::link>(std::move(o));
}

}  // namespace

subscription::subscription(std::shared_ptr<detail::nats::link> of, std::shared_ptr<detail::nats::subscriber> own)
    : channel_handle(detail::channel_access::ref(own->messages)), link_(std::move(of)), own_(std::move(own)) {}
subscription::~subscription() { unsubscribe(); }
subscription& subscription::operator=(subscription&& other) noexcept {
    if (this == &other) return *this;
    unsubscribe();
    channel_handle::operator=(std::move(other));
    link_ = std::move(other.link_);
    own_ = std::move(other.own_);
    return *this;
}
void subscription::unsubscribe() noexcept {
    if (own_) link_->unsubscribe(*own_);
}
void subscription::drain(std::chrono::nanoseconds limit) { link_->drain(*own_, limit); }
std::uint64_t subscription::dropped() const noexcept { return link_->lost_by(*own_); }
const std::string& subscription::subject() const noexcept { return own_->subject; }

struct client::impl {
    explicit impl(client_options&& o) : connection(make_link(std::move(o))) {
        fiber = weft::spawn({.name = "nats-reader"}, [c = connection] { c->run(); });
    }
    ~impl() { close(); }

    void close() noexcept {
        const shield until_closed;
        try {
            // What was published a moment ago is sent, if the server still takes it.
            if (connection->stats().connected) connection->flush(std::chrono::seconds(1));
        } catch (const std::exception&) {}  // close() tells what is dropped
        connection->close("the client is closed");
        fiber.request_stop();  // its destructor joins it
    }

    const std::shared_ptr<detail::nats::link> connection;
    weft::fiber<void> fiber;
};

client::client(client_options o) : impl_(std::make_unique<impl>(std::move(o))) {}
client::~client() = default;
client::client(client&&) noexcept = default;
client& client::operator=(client&&) noexcept = default;

void client::publish(std::string_view subject, std::string_view payload, const publish_options& how) {
    impl_->connection->publish(subject, payload, how, at_full::park);
}
void client::publish(std::string_view subject, std::string_view payload, const publish_options& how, std::error_code& failed) {
    with_code(failed, [&] { publish(subject, payload, how); });
}
bool client::try_publish(std::string_view subject, std::string_view payload, const publish_options& how) {
    return impl_->connection->publish(subject, payload, how, at_full::refuse);
}
subscription client::subscribe(std::string_view subject, const subscribe_options& how) {
    return subscription(impl_->connection, impl_->connection->subscribe(subject, how));
}
message client::request(std::string_view subject, std::string_view payload, std::chrono::nanoseconds limit,
                        const publish_options& how) {
    return impl_->connection->request(subject, payload, limit, how);
}
message client::request(std::string_view subject, std::string_view payload, std::chrono::nanoseconds limit,
                        const publish_options& how, std::error_code& failed) {
    return with_code(failed, [&] { return request(subject, payload, limit, how); });
}
void client::flush(std::chrono::nanoseconds limit) { impl_->connection->flush(limit); }
void client::flush(std::chrono::nanoseconds limit, std::error_code& failed) {
    with_code(failed, [&] { flush(limit); });
}
void client::drain(std::chrono::nanoseconds limit) {
    impl_->connection->drain(limit);
    impl_->close();
}
void client::close() noexcept { impl_->close(); }
std::string client::new_inbox() { return impl_->connection->new_inbox(); }
client_stats client::stats() const { return impl_->connection->stats(); }
server_info client::server() const { return impl_->connection->server(); }
delivery client::delivered(message&& m, std::chrono::nanoseconds limit) {
    return delivery(impl_->connection, std::move(m), limit);
}
bool client::connected() const noexcept { return impl_->connection->stats().connected; }

}  // namespace weft::nats
