// connect.cpp - tcp::stream::connect: from a name to the stream that won the race.
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <weft/net/resolve.hpp>
#include <weft/net/resolver.hpp>
#include <weft/net/tcp.hpp>

#include "net/host.hpp"
#include "net/race.hpp"

namespace weft::tcp {

/// Has access to the constructor of stream.
struct connector {
    static stream connect(const net::endpoint& to, const connect_options& options, std::error_code& error) {
        auto* const names = options.resolver;
        const auto addresses = names ? names->resolve(to.host, to.port, error) : net::resolve(to.host, to.port, error);
        if (error) return {};
        auto winner = detail::connect_race(detail::interleaved(addresses), options.stagger).run(error);
        // It may have other addresses by now. A stop says nothing about them.
        if (error && names && error != std::errc::operation_canceled) names->forget(to.host);
        if (error) return {};
        if (options.no_delay) error = detail::set_option(winner.native(), IPPROTO_TCP, TCP_NODELAY, 1);
        return error ? stream() : stream(std::move(winner));
    }
};

stream stream::connect(const net::endpoint& to, const connect_options& options, std::error_code& error) {
    return connector::connect(to, options, error);
}

stream stream::connect(const net::endpoint& to, const connect_options& options) {
    std::error_code error;
    stream s = connector::connect(to, options, error);
    if (error) detail::throw_io_error(error, ("weft: connect to " + detail::shown(to)).c_str());
    return s;
}

}  // namespace weft::tcp
