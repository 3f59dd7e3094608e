// message.hpp - one HTTP exchange as plain values: a request and its response.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/detail/export.hpp>
#include <weft/detail/opaque.hpp>
#include <weft/http/body.hpp>
#include <weft/http/headers.hpp>
#include <weft/net/endpoint.hpp>

namespace weft::io {
class byte_stream;
}

namespace weft::detail {

/// The data that a connection lends to its requests.
struct lent_connection {
    net::endpoint peer;
    // Identifies the route after which the router last named the connection's fiber; never
    // dereferenced.
    const void* route = nullptr;
    // The body of the request being handled, if it is still arriving.
    body_source* arriving = nullptr;
    std::optional<http::body_reader> reader = {};  // made by the router
    const io::byte_stream* stream = nullptr;
};

/// The endpoint from which a request came. The connection lends it while the connection lasts; a
/// copy has its own.
class request_peer {
public:
    request_peer() = default;
    request_peer(net::endpoint at) : own_(std::move(at)) {}
    request_peer(const request_peer& other) : own_(other.get()) {}
    request_peer& operator=(const request_peer& other) {
        if (this != &other) own_ = other.get();
        lent_ = this == &other ? lent_ : nullptr;
        return *this;
    }

    [[nodiscard]] const net::endpoint& get() const noexcept { return lent_ ? lent_->peer : own_; }
    void lend(lent_connection* from) noexcept { lent_ = from; }
    // null unless this is the connection's own request
    [[nodiscard]] lent_connection* lent() const noexcept { return lent_; }

private:
    lent_connection* lent_ = nullptr;
    net::endpoint own_;
};

/// The decoded query parameters that were asked for so far. A copy starts empty, since it can
/// decode them again.
///
/// Invariants
///   MESSAGE-1  A value that was added does not move until clear(), assignment or destruction, so
///              references to it stay valid until then.
///   MESSAGE-2  find() and add() may be called by several fibers and threads at once; all other
///              members need exclusive access. If two callers add the same name at the same time,
///              two equal values are stored, and either may be found.
class WEFT_EXPORT asked_parameters {
public:
    asked_parameters() noexcept = default;
    asked_parameters(const asked_parameters&) noexcept {}
    asked_parameters(asked_parameters&& other) noexcept;
    asked_parameters& operator=(const asked_parameters& other) noexcept;
    asked_parameters& operator=(asked_parameters&& other) noexcept;
    ~asked_parameters() { clear(); }

    [[nodiscard]] const std::string* find(std::string_view name) const noexcept;
    const std::string& add(std::string_view name, std::string value) const;
    void clear() noexcept {
        constexpr opaque<sizeof(void*)> none;
        if (std::memcmp(&list_, &none, sizeof none) != 0) drop();  // MESSAGE-2
    }

private:
    void drop() noexcept;

    mutable opaque<sizeof(void*)> list_;
};

}  // namespace weft::detail

namespace weft::http {

class router;
class upgraded;

/// Goes on with a connection in another protocol; see response::upgrade.
using upgrade_function = std::function<void(upgraded&)>;

/// The parts of a request, for code that makes one: the parser, the router, or the test of a
/// handler.
struct request_parts {
    using pairs = std::vector<std::pair<std::string, std::string>>;

    std::string method = "GET";
    std::string target = "/";  ///< as sent: the path, and the query after '?'
    int minor_version = 1;  ///< of HTTP/1
    http::headers headers = {};
    /// The whole body; chunks are joined.
    std::string body = {};
    pairs path_parameters = {};  ///< set by the router, decoded
    /// Set by hand. If there are any, query() uses these and ignores the query of the target.
    pairs query_parameters = {};
    /// An endpoint; empty for a request made by hand.
    detail::request_peer peer = {};
};

/// A complete request, as its handler sees it. It is a value: a copy may outlive the handler. See
/// docs/guide/5-service.md.
class WEFT_EXPORT request {
public:
    request() = default;
    explicit request(request_parts parts) : parts_(std::move(parts)) {}

    [[nodiscard]] const std::string& method() const noexcept { return parts_.method; }
    [[nodiscard]] const std::string& target() const noexcept { return parts_.target; }
    [[nodiscard]] const std::string& body() const noexcept { return parts_.body; }
    [[nodiscard]] const http::headers& headers() const noexcept { return parts_.headers; }

    /// The target without its query, not decoded.
    [[nodiscard]] std::string_view path() const noexcept;

    /// The decoded text that matched {name} in the route's pattern.
    ///
    /// \throws  std::out_of_range if the pattern has no such name.
    [[nodiscard]] const std::string& path(std::string_view name) const;

    /// The decoded value of the first query parameter of that name; empty if there is none. The
    /// query is parsed only when this is called, so a query that is never read costs nothing.
    /// Several fibers may call it at once.
    ///
    /// \lifetime  of the reference: until the request is destroyed or assigned to, or the non-const
    ///            parts() is called.
    [[nodiscard]] const std::string& query(std::string_view name) const;
    [[nodiscard]] bool has_query(std::string_view name) const noexcept;

    /// All query parameters, decoded, in order of appearance.
    ///
    /// \cost  two strings each: 64 bytes for what may be two bytes on the wire. Prefer query()
    ///        where the names are known.
    [[nodiscard]] request_parts::pairs query_parameters() const;

    /// The value of the first header of that name, whatever its case; empty if there is none.
    ///
    /// \lifetime  of the view: that of the request.
    [[nodiscard]] std::string_view header(std::string_view name) const noexcept;

    /// The other end of the connection: the client, or a proxy in front of it. Empty if the request
    /// did not come from a connection, or the client had already gone.
    [[nodiscard]] const net::endpoint& peer() const noexcept { return parts_.peer.get(); }

    /// The connection, for what only its kind knows: the client's certificate, for example, is
    /// `q.connection()->target<tls::stream>()->peer()`. Null for a copy, and if the request did not come
    /// from a connection.
    ///
    /// \lifetime  that of the handler's call.
    [[nodiscard]] const io::byte_stream* connection() const noexcept {
        const auto* const from = parts_.peer.lent();
        return from ? from->stream : nullptr;
    }

    request_parts& parts() noexcept {
        asked_.clear();
        return parts_;
    }
    [[nodiscard]] const request_parts& parts() const noexcept { return parts_; }

private:
    friend class router;  // adds path parameters while references to query parameters are in use

    [[nodiscard]] std::string_view query_text() const noexcept;

    request_parts parts_;
    detail::asked_parameters asked_;
};

/// An answer. The server sets Content-Length, Transfer-Encoding and Date itself and ignores them in
/// `headers`. The header `Connection: close` makes this the last answer on its connection.
struct response {
    /// 200 to 999, or 101 with `upgrade`; any other value becomes a 500 and a line in the log.
    int status = 200;
    http::headers headers = {};
    std::string body = {};
    /// If there is one, this is called after the handler and the middleware have returned, writes
    /// the body, and `body` is ignored. It is not called for HEAD. See stream().
    body_function stream = {};
    /// How many bytes `stream` writes. Empty: it is sent in chunks, or ends with the connection if
    /// the client speaks HTTP/1.0.
    std::optional<std::uint64_t> stream_length = {};
    /// With status 101: takes the connection over. It is called on the connection's fiber after the head
    /// has been sent, with `Connection: Upgrade` and the headers above. No limit of the server counts from
    /// then on except max_connections, in which the connection counts until the function returns and has not
    /// asked to be called again. Then the connection is closed. An exception goes to on_error. A request
    /// with HTTP/1.0, or with a body that was not read, is answered by 400 instead. See
    /// weft/http/upgrade.hpp.
    upgrade_function upgrade = {};
};

/// A response whose body is written piece by piece while it is sent:
///
///     return weft::http::stream(200, "text/csv", [rows](weft::http::body_writer& out) {
///         for (const auto& row : *rows) out.write(row);
///     });
///
/// The function runs on the connection's fiber, so it may park; request_timeout does not limit it.
/// The request and the body_reader of the handler are still valid. If it throws, or writes fewer
/// bytes than `length`, the connection is reset, so that the client cannot take the part it has for
/// the whole, and on_error is called.
WEFT_EXPORT [[nodiscard]] response stream(int status, std::string_view type, body_function writes,
                                          std::optional<std::uint64_t> length = {});

/// A response with a body that other responses share, such as a page or a picture that stays in memory.
/// Pass the same pointer each time. A body of 16 KiB or more is not copied: it is written as by stream(),
/// from where it is. A smaller one is copied, which costs less. The body must not change while a response
/// has it.
///
/// \throws  std::invalid_argument if there is no body; what headers::add() throws for the type.
WEFT_EXPORT [[nodiscard]] response shared_body(int status, std::string_view type, std::shared_ptr<const std::string> body);

/// A response of type text/plain in UTF-8.
WEFT_EXPORT [[nodiscard]] response text(int status, std::string body);
WEFT_EXPORT [[nodiscard]] response text(int status, std::string_view body);
WEFT_EXPORT [[nodiscard]] response text(int status, const char* body);

/// A response of type application/json; the text is sent unchanged.
WEFT_EXPORT [[nodiscard]] response json(int status, std::string serialized);

/// The reason phrase of a status, or "Unknown".
WEFT_EXPORT [[nodiscard]] std::string_view reason(int status) noexcept;

}  // namespace weft::http
