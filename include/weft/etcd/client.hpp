// client.hpp - an etcd client: keys, transactions, leases and watches, over JSON, for etcd 3.4 and later.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/detail/export.hpp>
#include <weft/etcd/error.hpp>
#include <weft/etcd/kv.hpp>
#include <weft/etcd/lease.hpp>
#include <weft/etcd/watch.hpp>
#include <weft/io/byte_stream.hpp>
#include <weft/io/stream_layer.hpp>
#include <weft/net/endpoint.hpp>

namespace weft::etcd {

/// How a client connects, and its limits.
struct client_options {
    /// The servers of one cluster: `http://host:port` or `https://host:port`, at least one.
    std::vector<std::string> endpoints = {};
    std::string user = {};  ///< empty: without authentication
    std::string password = {};
    /// What connections to https:// begin with: `&context` of a tls::context, which must stay as long as the
    /// client. The server's certificate must have the host name of the URL.
    const io::stream_layer* tls = nullptr;
    /// Opens the connections, as in http::client_options.
    std::function<io::byte_stream(const net::endpoint&)> connect = {};
    std::chrono::nanoseconds connect_timeout = std::chrono::seconds(2);
    /// For one request to one endpoint.
    std::chrono::nanoseconds request_limit = std::chrono::seconds(5);
    /// Of a watch: after so long without a byte it connects again, since a server whose machine is gone says
    /// nothing either. No event is lost by that.
    std::chrono::nanoseconds watch_silence = std::chrono::seconds(60);
    /// A larger answer, or event of a watch with what belongs to it, is etcd_errc::too_large.
    std::size_t max_answer_bytes = std::size_t{64} << 20;
    /// Stands before every key that is sent, and is taken from every key that comes back.
    std::string prefix = {};
};

struct status_result {
    std::string version = {};
    std::uint64_t member = 0;  ///< that has answered
    std::uint64_t leader = 0;  ///< 0: there is none
    std::uint64_t raft_term = 0;
    std::int64_t database_bytes = 0;
    revision_number revision = 0;
};

struct member {
    std::uint64_t id = 0;
    std::string name = {};
    std::vector<std::string> peer_urls = {}, client_urls = {};
};

/// A client of one etcd cluster:
///
///     weft::etcd::client db({.endpoints = {"http://127.0.0.1:2379"}});
///     db.put("greeting", "hello");
///     if (auto found = db.get("greeting")) std::cout << found->value;
///
/// It is created and destroyed inside a runtime; any fiber or thread may call its members at any time. Leases
/// and watchers that it made may outlive it.
///
/// A request goes to the endpoint that has answered last, and on to the next, once round, if it cannot be
/// reached or has no leader. A write whose answer was lost is not repeated: it may have been done, and
/// error::maybe_done() says so. Reads, renewals of leases and transactions marked idempotent() are repeated.
///
/// Every request
/// \parks   until its answer is there.
/// \throws  etcd::error; weft::cancelled if this fiber is stopped or a deadline of the caller has passed: a
///          write may have been done then.
class WEFT_EXPORT client {
public:
    /// \throws  std::invalid_argument naming the option; std::logic_error outside a runtime.
    explicit client(client_options options);
    ~client();
    client(const client&) = delete;
    client& operator=(const client&) = delete;

    /// \returns  the key as it is now; empty if it is not there.
    std::optional<key_value> get(std::string_view key) const;
    range_result range(const key_range& keys, const range_options& o = {}) const;
    range_result get_prefix(std::string_view begin, const range_options& o = {}) const {
        return range(key_range::prefix(begin), o);
    }

    put_result put(std::string_view key, std::string_view value, const put_options& o = {}) const;
    remove_result remove(std::string_view key, const remove_options& o = {}) const { return remove(key_range::one(key), o); }
    remove_result remove(const key_range& keys, const remove_options& o = {}) const;
    remove_result remove_prefix(std::string_view begin, const remove_options& o = {}) const {
        return remove(key_range::prefix(begin), o);
    }

    txn_result txn(const transaction& t) const;
    /// Forgets what the store was before `revision`. \throws  etcd_errc::compacted if it was forgotten before.
    void compact(revision_number revision) const;

    /// Makes a lease that ends after `ttl`, rounded up to seconds, if it is not renewed. An etcd::lease
    /// renews itself.
    ///
    /// \param id  0: the server chooses.
    granted_lease grant(std::chrono::nanoseconds ttl, lease_id id = 0) const;
    /// Ends a lease, and removes its keys.
    void revoke(lease_id id) const;
    /// Renews a lease.
    ///
    /// \param limit  for one endpoint, instead of request_limit: a short lease must get to the next one in
    ///               time.
    /// \returns  for how long; empty if the lease is dead.
    std::optional<std::chrono::seconds> keep_alive_once(lease_id id, std::optional<std::chrono::nanoseconds> limit = {}) const;
    /// \returns  what is left of a lease; empty if the lease is dead.
    std::optional<lease_state> time_to_live(lease_id id, bool with_keys = false) const;

    /// Watches one key, or all of a range: key_range::prefix("users/").
    ///
    /// \parks  until the server watches, so that no write that begins later is missed.
    [[nodiscard]] watcher watch(const key_range& keys, const watch_options& o = {}) const;
    [[nodiscard]] watcher watch(std::string_view key, const watch_options& o = {}) const { return watch(key_range::one(key), o); }

    status_result status() const;
    std::vector<member> members() const;

private:
    friend class lease;
    explicit client(std::shared_ptr<weft::detail::etcd_wire> wire) noexcept : wire_(std::move(wire)) {}

    std::shared_ptr<weft::detail::etcd_wire> wire_;
};

}  // namespace weft::etcd
