// topic.hpp - values that all subscribers of any nodes get.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <weft/cluster/detail/remote_core.hpp>
#include <weft/cluster/node.hpp>
#include <weft/cluster/transport.hpp>
#include <weft/stop.hpp>

namespace weft::cluster {

/// What one subscriber of a topic gets. One fiber may use it at a time, except for close(). Move-only; its
/// destructor closes it.
template <class T>
class topic_subscription {
public:
    /// Internal: for weft's own parts.
    explicit topic_subscription(std::shared_ptr<inbox> from) noexcept : from_(std::move(from)) {}
    topic_subscription(topic_subscription&&) noexcept = default;
    topic_subscription& operator=(topic_subscription&& other) noexcept {
        if (this != &other) {
            close();
            from_ = std::move(other.from_);
            refused_ = other.refused_;
        }
        return *this;
    }
    ~topic_subscription() { close(); }

    /// Waits for the next value. What is no T, or of a version that this program does not know, is counted and
    /// left out.
    /// \returns  empty once the subscription or the node is closed. \parks until there is a value
    /// \throws   weft::cancelled
    [[nodiscard]] std::optional<T> receive() {
        for (carried m; from_ && from_->receive(m);) {
            if (auto value = read(m)) return value;
            ++refused_;
        }
        return std::nullopt;
    }
    /// How many messages were left out.
    [[nodiscard]] std::uint64_t refused() const noexcept { return refused_; }
    void close() noexcept {
        if (from_) from_->close();
    }

private:
    static std::optional<T> read(const carried& m) {
        const auto in = detail::read_topic(m);
        constexpr auto versions = wire_name<T>::versions;
        if (!in || in->number != detail::wire_number_of<T> || in->version < versions.oldest || in->version > versions.newest)
            return std::nullopt;
        try {
            return wire_format<T>::read(in->payload, in->version);
        } catch (const weft::cancelled&) {
            throw;
        } catch (...) {  // whatever the format throws
            return std::nullopt;
        }
    }

    std::shared_ptr<inbox> from_;
    std::uint64_t refused_ = 0;
};

/// Values of a type that WEFT_WIRE names, for all subscribers on this node and others.
///
///     weft::cluster::topic<price> prices(me, "prices");
///     auto in = prices.subscribe();
///     prices.publish({"ACME", 1299});
///     while (auto p = in.receive()) show(*p);
///
/// A subscriber gets each value at most once, those of one publisher in order, and none from before it
/// subscribed. One that does not keep up loses some. Values are written in the oldest version that this
/// program knows.
template <class T>
class topic {
public:
    /// \throws error (closed) if the node was moved from
    topic(const node& by, std::string_view name) : by_(detail::core_of(by)), name_(name) {}

    /// \parks   while the transport holds too much.
    /// \throws  error: bad_name, too_large, closed, no_lease; what the transport throws; weft::cancelled.
    void publish(const T& value) const { detail::topic_publish(*by_, name_, detail::outgoing::of(value)); }
    /// \parks   until the transport has subscribed.
    /// \throws  error: bad_name, closed, no_lease; what the transport throws; weft::cancelled.
    [[nodiscard]] topic_subscription<T> subscribe() const { return topic_subscription<T>(detail::topic_subscribe(*by_, name_)); }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

private:
    std::shared_ptr<detail::node_core> by_;
    std::string name_;
};

}  // namespace weft::cluster
