// client.hpp - an HTTP/1.1 client: calls that return the answer, over connections that are kept.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <weft/detail/export.hpp>
#include <weft/detail/timeouts.hpp>
#include <weft/http/client_error.hpp>
#include <weft/http/headers.hpp>
#include <weft/http/proxies.hpp>
#include <weft/http/transfer.hpp>
#include <weft/io/byte_stream.hpp>
#include <weft/io/stream_layer.hpp>
#include <weft/net/endpoint.hpp>
#include <weft/net/resolver.hpp>
#include <weft/no_limit.hpp>

namespace weft::http {

/// When a request is sent a second time.
enum class retry {
    never,
    /// Once, on a new connection, if a kept one was lost before a byte of the answer has come, and the
    /// method is idempotent: GET, HEAD, OPTIONS, TRACE, PUT or DELETE. A server may close a kept connection at any
    /// time, also while a request is on its way.
    idempotent_once,
};

/// How a client connects, and its limits. Each time limit and max_ takes weft::no_limit.
struct client_options {
    /// Open connections to one server or proxy, at least 1; further requests wait for one.
    std::size_t most_per_host = 64;
    /// Of these, how many are kept while nothing is asked.
    std::size_t idle_per_host = 64;
    std::size_t most_idle = 1024;  ///< of all servers; the one that is idle longest is closed for another one
    std::chrono::nanoseconds idle_life = std::chrono::seconds(90);  ///< of a kept connection
    /// For the look-up of the name, the connection, the proxy's answer and the handshake of TLS.
    std::chrono::nanoseconds connect_timeout = std::chrono::seconds(5);
    /// How long a server may take nothing of a request, or send nothing once it was sent all that there is so far.
    std::chrono::nanoseconds silence_timeout = std::chrono::seconds(60);
    /// For a request as a whole, with redirects and the body of the answer.
    std::chrono::nanoseconds timeout = no_limit;
    /// How many redirects are followed; the next one is client_errc::too_many_redirects. Zero: the
    /// redirect itself is the answer.
    unsigned redirects = 10;
    /// Whether compressed answers are asked for (gzip, zstd) and decompressed.
    bool decompress = true;
    http::retry retry = http::retry::idempotent_once;
    std::size_t max_header_bytes = 65536;   ///< of an answer
    std::size_t max_header_fields = 256;    ///< of an answer
    /// Of an answer that is collected, as it is after decompression.
    std::size_t max_body_bytes = std::size_t{64} << 20;
    /// Sent with each request, unless the request has a field of that name.
    http::headers headers = {};
    /// Through which the servers are reached; by default directly. http::proxies_from_environment() asks
    /// the environment.
    http::proxies proxy = {};
    /// What connections for https:// begin with: `&context` of a tls::context, which must stay as long as the
    /// client. The server's certificate must have the host name of the URL.
    const io::stream_layer* tls = nullptr;
    /// Remembers the addresses of names, for several clients. nullptr: the client has one of its own.
    net::resolver* resolver = nullptr;
    /// Where to connect, whatever host the URL names: `net::endpoint::parse("unix:/run/docker.sock")`.
    std::optional<net::endpoint> connect_to = {};
    /// Opens the connections, instead of tcp::stream::connect(): through a tunnel, or a
    /// net::simulated_network. It is given the host and port of the URL, of the proxy, or connect_to. It runs on the
    /// fiber of the request, within connect_timeout; it may park and throw.
    std::function<io::byte_stream(const net::endpoint&)> connect = {};
};

/// What one request has of its own. Empty options are those of the client.
struct request_options {
    http::headers headers = {};
    std::optional<std::chrono::nanoseconds> timeout = {};
    std::optional<unsigned> redirects = {};
    std::optional<std::size_t> max_body_bytes = {};
};

/// A request whose bodies are streamed; see client::open().
struct streamed_request {
    std::string method = "GET";
    std::string url = {};
    http::headers headers = {};
    body_size body = {};
    /// Whether to send the body only after the server has agreed (Expect: 100-continue), or has said
    /// nothing for a second.
    bool wait_for_continue = false;
    std::optional<std::chrono::nanoseconds> timeout = {};
    /// Only requests without a body are redirected.
    std::optional<unsigned> redirects = {};
};

/// How many connections a client has.
struct client_connections {
    std::size_t busy = 0;  ///< with a request, or being opened
    std::size_t idle = 0;
};

/// A client of any number of servers:
///
///     weft::http::client client;
///     auto page = client.get("http://127.0.0.1:8080/hello", {.timeout = std::chrono::seconds(2)});
///     if (page.ok()) std::cout << page.body;
///
/// Every status is an answer, 404 and 500 too; only where there is no answer client_error is thrown. Connections are
/// kept for the next request to the same server. It is created and destroyed inside a runtime; any fiber or thread
/// may call its members at any time. See docs/guide/24-http-client.md.
///
/// URLs are http:// or https:// ones, also with `user:password@`, which is sent as Basic authorization. Bytes
/// that a URL must not have, such as spaces and those of UTF-8 text, are percent-encoded; a `#fragment` is dropped.
/// Fields in `headers` replace those that the client makes (Host, User-Agent, Accept, Accept-Encoding); Content-Length,
/// Transfer-Encoding and Expect are the client's own and are ignored there. `Connection: close` ends the connection
/// behind the answer.
///
/// Redirects: 301 and 302 turn POST into GET, 303 every method but HEAD; 307 and 308 repeat the request with its body.
/// Authorization, Cookie, Proxy-Authorization and Host are not sent to another server than the one they were given
/// for; other fields are. A server that says something unasked on a kept connection loses it, but what it
/// says just when a request is sent cannot be told from the answer (`idle_per_host = 0`).
///
/// A server may answer before it has the whole body. What it does not take at once is sent by a fiber of
/// its own while the answer is read, so an echo is no deadlock. If the status is below 300 the rest is sent
/// before the call returns; a server that takes no more of it for silence_timeout is no error then, but the
/// end of `timeout` is. After any other status the rest has 100 ms more; then it is given up, and the
/// connection closed. In a runtime with max_fibers a body is sent whole before the answer is read.
///
/// Every request
/// \parks   while most_per_host connections are busy, to connect, and until the answer is there.
/// \throws  client_error; std::invalid_argument for a method that is not a token; weft::cancelled if this fiber is
///          stopped or a deadline of the caller has passed: the connection is closed then.
class WEFT_EXPORT client {
public:
    /// \throws  std::invalid_argument naming the option; std::logic_error outside a runtime.
    explicit client(client_options options = {});
    /// Requests must have ended, and transfers as well. Closes the connections.
    ~client();
    client(const client&) = delete;
    client& operator=(const client&) = delete;

    answer get(std::string_view url, const request_options& o = {}) { return send("GET", url, {}, o); }
    answer head(std::string_view url, const request_options& o = {}) { return send("HEAD", url, {}, o); }
    answer del(std::string_view url, const request_options& o = {}) { return send("DELETE", url, {}, o); }
    answer post(std::string_view url, std::string_view body, const request_options& o = {}) { return send("POST", url, body, o); }
    answer put(std::string_view url, std::string_view body, const request_options& o = {}) { return send("PUT", url, body, o); }
    answer patch(std::string_view url, std::string_view body, const request_options& o = {}) {
        return send("PATCH", url, body, o);
    }

    /// Sends a request with any method. Without `body` it has none; an empty one is announced as such.
    answer send(std::string_view method, std::string_view url, std::optional<std::string_view> body,
                const request_options& o = {});

    /// Begins a request whose bodies are streamed. Redirects of one without a body are followed before
    /// this returns.
    ///
    /// \parks  to connect, and for a request without a body until the head of its answer is there.
    [[nodiscard]] transfer open(const streamed_request& r);

    [[nodiscard]] client_connections connections() const noexcept;

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace weft::http
