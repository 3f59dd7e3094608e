#include "http/client/dialer.hpp"

#include <weft/deadline.hpp>
#include <weft/net/tcp.hpp>
#include <weft/net/unix.hpp>

#include "base/duration_text.hpp"
#include "http/client/exchange.hpp"
#include "http/client/failure.hpp"
#include "http/client/request_head.hpp"
#include "net/host.hpp"

namespace weft::detail {
namespace {

/// what() without the name of the library at its begin and the text of the code at its end, which
/// client_error adds.
std::string words_of(const std::system_error& e) {
    std::string_view words = e.what();
    if (words.starts_with("weft: ")) words.remove_prefix(6);
    const auto end = ": " + e.code().message();
    if (words.ends_with(end)) words.remove_suffix(end.size());
    return std::string(words);
}

}  // namespace

io::byte_stream client_dialer::open(const http_url& to, const http_url* via) const {
    if ((to.tls || (via && via->tls)) && !options_.tls) fail_request(http::client_errc::no_tls);
    {
        const deadline_frame limit(deadline_after(options_.connect_timeout));
        try {
            return connect(to, via);
        } catch (const timeout_error&) {
            throw;  // of a deadline that client_options::connect has set
        } catch (const std::system_error& e) {
            throw client_failure{.code = e.code(), .words = words_of(e)};
        } catch (const cancelled&) {
            if (!has_expired(limit)) throw;
        }
    }
    throw client_failure{.code = timeout_code(), .words = "no connection within " + duration_text(options_.connect_timeout)};
}

io::byte_stream client_dialer::connect_to(const net::endpoint& at) const {
    if (options_.connect) return options_.connect(at);
    if (is_unix(at.host)) return unix_socket::stream::connect(unix_socket::address::of(at));
    return tcp::stream::connect(at, {.resolver = options_.resolver ? options_.resolver : &own_names_});
}

io::byte_stream client_dialer::connect(const http_url& to, const http_url* via) const {
    const auto& first = via ? *via : to;
    const auto at = options_.connect_to.value_or(net::endpoint{.host = first.host, .port = first.port});
    auto stream = connect_to(at);
    if (via && via->tls) stream = options_.tls->connect_over(std::move(stream), via->host);
    if (!to.tls) return stream;
    if (via) tunnel(stream, to, *via);
    return options_.tls->connect_over(std::move(stream), to.host);
}

/// Asks a proxy to connect to the server. It can change nothing of what follows unless TLS allows it.
void client_dialer::tunnel(io::byte_stream& through, const http_url& to, const http_url& via) const {
    const exchange_limits limits{
        .silence = no_limit,  // connect_timeout counts
        .head = {.max_header_bytes = options_.max_header_bytes, .max_header_fields = options_.max_header_fields}};
    input_buffer in(options_.max_header_bytes);
    client_exchange x(through, in, limits);
    std::string head;
    append_connect_head(head, to, via.login);
    x.send(head);
    http::answer a;
    do x.read_head(a, true);
    while (x.is_interim());
    if (a.status < 200 || a.status > 299)
        fail_request(http::client_errc::proxy_refused,
                     via.authority() + " answers " + std::to_string(a.status) + " " + printable(a.reason));
    // A server of TLS does not speak first.
    if (!in.unread().empty())
        fail_request(http::client_errc::proxy_refused, via.authority() + " sends more than the head of its answer");
}

}  // namespace weft::detail
