// pool.hpp - the connections of a client, by server: lends them, keeps idle ones, limits their number.
//
//  a connection  where                     means                              leaves by
//  lent          a lease                   a request has it                   ~lease -> idle, or closed
//  idle          its origin's list, idle_  its server has nothing to say      acquire() -> lent |
//                                          what it says, idle_life, most_idle -> closed
//
// An idle connection holds no fiber and no buffer (io/idle_streams.hpp). One fiber of the pool closes those whose
// servers have closed them, or that have been idle for too long.
//
// Invariants
//   CLIENT_POOL-1  Origins, their lists and all counts change only under mutex_. A connection is in the list
//                  of its origin exactly while it is in idle_ and nobody has found it due.
//   CLIENT_POOL-2  An origin never has more than most_per_host connections, lent and idle ones together. A lease
//                  holds one of so many permits; it opens a connection only after it has seen, under
//                  mutex_, that none is idle; and a connection becomes idle before its permit is free.
//   CLIENT_POOL-3  No lease gets a connection of which an event has told that its server has closed it or said
//                  something: it is taken out of idle_ by a claim that fails after an event (IDLE_STREAMS-3).
//   CLIENT_POOL-4  An origin lasts while it is used: by a lease, a waiter for one, or an idle connection.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <weft/detail/annotated_locks.hpp>
#include <weft/fiber.hpp>
#include <weft/http/client.hpp>
#include <weft/mutex.hpp>
#include <weft/semaphore.hpp>

#include "base/intrusive_list.hpp"
#include "http/input_buffer.hpp"
#include "io/idle_streams.hpp"

namespace weft::detail {

/// To whom a connection leads: a server, or a proxy that passes requests on.
struct client_origin_name {
    bool tls;
    std::string_view host;
    std::uint16_t port;

    bool operator==(const client_origin_name&) const = default;
};

/// What a request needs besides its connection.
struct client_buffers {
    explicit client_buffers(std::size_t max_header_bytes) : in(max_header_bytes) {}

    input_buffer in;
    std::string out;

    // chosen: an answer's head and some of its body
    static constexpr std::size_t kept_bytes = 32 * 1024;
};

struct client_origin;

struct client_connection final : idle_stream, list_hook<client_connection> {
    client_connection(client_origin& at, io::byte_stream s) noexcept : idle_stream(std::move(s), never), origin(at) {}

    client_origin& origin;
};

class client_pool {
public:
    /// The right to use a connection, and the connection. Its destructor closes it.
    class lease {
    public:
        lease() noexcept = default;
        lease(lease&& other) noexcept
            : pool_(std::exchange(other.pool_, nullptr)),
              origin_(other.origin_),
              connection_(std::move(other.connection_)),
              buffers_(std::move(other.buffers_)) {}
        lease& operator=(lease&& other) noexcept {
            lease old(std::move(*this));
            pool_ = std::exchange(other.pool_, nullptr);
            origin_ = other.origin_;
            connection_ = std::move(other.connection_);
            buffers_ = std::move(other.buffers_);
            return *this;
        }
        ~lease() {
            if (pool_) pool_->give_back(*this, false);
        }

        explicit operator bool() const noexcept { return pool_ != nullptr; }
        /// Whether there is a connection. If not, the holder opens one.
        bool is_kept() const noexcept { return connection_ != nullptr; }
        void open(io::byte_stream s) { connection_ = std::make_unique<client_connection>(*origin_, std::move(s)); }
        io::byte_stream& stream() const noexcept { return connection_->stream; }
        client_buffers& buffers() const noexcept { return *buffers_; }

        /// Closes the connection, so that another one can be opened.
        void drop() noexcept {
            connection_.reset();
            buffers_->in.clear();
        }
        /// The connection is good for another request.
        void keep() noexcept {
            if (const auto pool = std::exchange(pool_, nullptr)) pool->give_back(*this, true);
        }

    private:
        friend class client_pool;
        lease(client_pool& p, client_origin& o) noexcept : pool_(&p), origin_(&o) {}

        client_pool* pool_ = nullptr;
        client_origin* origin_ = nullptr;
        std::unique_ptr<client_connection> connection_;
        std::unique_ptr<client_buffers> buffers_;
    };

    explicit client_pool(const http::client_options& o);
    ~client_pool();
    client_pool(const client_pool&) = delete;
    client_pool& operator=(const client_pool&) = delete;

    /// \parks   while most_per_host connections to it are lent.
    /// \throws  weft::cancelled.
    lease acquire(const client_origin_name& to);

    http::client_connections connections() const noexcept;

private:
    struct hash {
        std::size_t operator()(const client_origin_name& n) const noexcept {
            return std::hash<std::string_view>()(n.host) * 31 + n.port * 2u + n.tls;
        }
    };
    // The name of an origin is a view of its own text, so it stays where it is.
    using origins = std::unordered_map<client_origin_name, std::unique_ptr<client_origin>, hash>;

    client_origin& enter(const client_origin_name& to);
    void leave(client_origin& o) noexcept WEFT_REQUIRES(mutex_);
    std::unique_ptr<client_connection> take_idle(client_origin& o) noexcept WEFT_REQUIRES(mutex_);
    void give_back(lease& l, bool keep) noexcept;
    void add_idle(std::unique_ptr<client_connection> c) noexcept WEFT_REQUIRES(mutex_);
    void unlist(client_connection& c) noexcept WEFT_REQUIRES(mutex_);
    static bool has_nothing_to_say(client_connection& c) noexcept;
    bool sleep_again(std::unique_ptr<client_connection>& c) noexcept WEFT_REQUIRES(mutex_);
    void watch();

    const http::client_options& options_;
    mutable weft::mutex mutex_;
    origins origins_ WEFT_GUARDED_BY(mutex_);
    std::size_t busy_ WEFT_GUARDED_BY(mutex_) = 0;
    std::size_t idle_count_ WEFT_GUARDED_BY(mutex_) = 0;
    std::vector<std::unique_ptr<client_buffers>> spare_ WEFT_GUARDED_BY(mutex_);
    idle_streams<client_connection> idle_;
    weft::counting_semaphore<> duties_{0};  // a permit: watch() must call idle_.next()
    weft::fiber<> watcher_;                 // declared last, so it ends first
};

}  // namespace weft::detail
