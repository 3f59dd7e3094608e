// message.hpp - one HTTP exchange as plain values: the request a handler gets, the response it returns.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/detail/opaque.hpp>
#include <weft/http/headers.hpp>
#include <weft/net/endpoint.hpp>

namespace weft::detail {

/// What a connection lends to its requests.
struct lent_connection {
    net::endpoint peer;
    const void* route = nullptr;  // by which the router has named the connection's fiber last; never followed
};

/// Whom a request came from: lent by its connection while that lasts. A copy has its own.
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

    const net::endpoint& get() const noexcept { return lent_ ? lent_->peer : own_; }
    void lend(lent_connection* from) noexcept { lent_ = from; }
    lent_connection* lent() const noexcept { return lent_; }  // null unless the request is its connection's own

private:
    lent_connection* lent_ = nullptr;
    net::endpoint own_;
};

/// The query parameters of one request that were asked for, decoded. A copy begins empty: it can ask again.
///
/// Invariants
///   ASKED-1  A value that was added stays where it is until clear(), assignment or the end: references to it hold until then.
///   ASKED-2  find() and add() may be called by several fibers and threads at once; everything else by one alone.
///            Two that add the same name at the same time leave two equal values, of which either may be found.
class asked_parameters {
public:
    asked_parameters() noexcept = default;
    asked_parameters(const asked_parameters&) noexcept {}
    asked_parameters(asked_parameters&& other) noexcept;
    asked_parameters& operator=(const asked_parameters& other) noexcept;
    asked_parameters& operator=(asked_parameters&& other) noexcept;
    ~asked_parameters() { clear(); }

    const std::string* find(std::string_view name) const noexcept;
    const std::string& add(std::string_view name, std::string value) const;
    void clear() noexcept {
        constexpr opaque<sizeof(void*)> none;
        if (std::memcmp(&list_, &none, sizeof none) != 0) drop();  // ASKED-2
    }

private:
    void drop() noexcept;

    mutable opaque<sizeof(void*)> list_;
};

}  // namespace weft::detail

namespace weft::http {

class router;

/// What a request is made of, for whoever makes one: the parser, the router, a test of a handler.
struct request_parts {
    using pairs = std::vector<std::pair<std::string, std::string>>;

    std::string method = "GET";
    std::string target = "/";              // as sent: path, and query behind '?'
    int minor_version = 1;                 // of HTTP/1
    http::headers headers = {};
    std::string body = {};                 // whole, chunks put together
    pairs path_parameters = {};            // by the router, decoded
    pairs query_parameters = {};           // by hand: if there are any, query() knows these and not those of the target
    detail::request_peer peer = {};        // an endpoint; empty for a request made by hand
};

/// A request, whole, as its handler sees it. A value: a copy outlives the handler.
class request {
public:
    request() = default;
    explicit request(request_parts parts) : parts_(std::move(parts)) {}

    const std::string& method() const noexcept { return parts_.method; }
    const std::string& target() const noexcept { return parts_.target; }
    const std::string& body() const noexcept { return parts_.body; }
    const http::headers& headers() const noexcept { return parts_.headers; }

    /// The target without its query, not decoded.
    std::string_view path() const noexcept;

    /// What stood in the place of {name} in the route's pattern, decoded.
    ///
    /// \throws  std::out_of_range if the pattern has no such name.
    const std::string& path(std::string_view name) const;

    /// The decoded value of the first query parameter of that name; empty if there is none. The query is looked through when it is
    /// asked, so that one nobody asks for costs nothing. May be called by several fibers at once.
    ///
    /// \lifetime  of the reference: until the request goes, is assigned to, or parts() gives it to be changed.
    const std::string& query(std::string_view name) const;
    bool has_query(std::string_view name) const noexcept;

    /// All query parameters, decoded, in order of appearance.
    ///
    /// \cost  two strings for each: 64 bytes for what a client sends as two. Prefer query() where the names are known.
    request_parts::pairs query_parameters() const;

    /// The value of the first header of that name, whatever its case; empty if there is none.
    ///
    /// \lifetime  of the view: that of the request.
    std::string_view header(std::string_view name) const noexcept;

    /// The other end of its connection: the client, or a proxy before it. Empty if nobody has sent it, or the client had gone.
    const net::endpoint& peer() const noexcept { return parts_.peer.get(); }

    request_parts& parts() noexcept {
        asked_.clear();
        return parts_;
    }
    const request_parts& parts() const noexcept { return parts_; }

private:
    friend class router;  // adds path parameters while references to query parameters are in use

    std::string_view query_text() const noexcept;

    request_parts parts_;
    detail::asked_parameters asked_;
};

/// An answer. Content-Length, Transfer-Encoding and Date are the server's business; it ignores them in `headers`.
/// `Connection: close` among the headers makes this the last answer on its connection.
struct response {
    int status = 200;  // 200 to 999; anything else becomes a 500 and a line in the log
    http::headers headers = {};
    std::string body = {};
};

/// A response of type text/plain in UTF-8.
response text(int status, std::string body);
response text(int status, std::string_view body);
response text(int status, const char* body);

/// A response of type application/json; the text is sent as it is.
response json(int status, std::string serialized);

/// The reason phrase of a status, or "Unknown".
std::string_view reason(int status) noexcept;

}  // namespace weft::http
