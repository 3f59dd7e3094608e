// stream_layer.hpp - a protocol between a connection and what is said on it, such as TLS.
#pragma once

#include <string_view>

#include <weft/detail/export.hpp>
#include <weft/io/byte_stream.hpp>

namespace weft::io {

/// Puts a protocol between a stream and its user. Servers and clients take one as an option, so that
/// they need not know the library behind it; tls::context is one.
class WEFT_EXPORT stream_layer {
public:
    virtual ~stream_layer();

    /// Opens the protocol on a connection that was accepted, as its server.
    ///
    /// \parks   until the peer has done its part.
    /// \throws  std::system_error if the peer is refused or leaves; weft::cancelled. `below` is closed
    ///          then.
    virtual byte_stream accept_over(byte_stream below) const = 0;

    /// Opens the protocol on a connection that was made to the server of that name, as its client.
    ///
    /// \parks   until the peer has done its part.
    /// \throws  as accept_over().
    virtual byte_stream connect_over(byte_stream below, std::string_view server_name) const = 0;

protected:
    stream_layer() = default;
    stream_layer(const stream_layer&) = default;
    stream_layer& operator=(const stream_layer&) = default;
};

}  // namespace weft::io
