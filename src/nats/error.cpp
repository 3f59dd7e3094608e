// error.cpp - the words of nats_errc.
#include <weft/nats/error.hpp>

namespace weft::nats {
namespace {

const char* words(nats_errc e) noexcept {
    switch (e) {
        case nats_errc::not_connected: return "there is no connection to a NATS server";
        case nats_errc::connection_lost: return "the connection to the NATS server was lost";
        case nats_errc::closed: return "the NATS client is closed";
        case nats_errc::protocol_error: return "the server breaks the rules of NATS";
        case nats_errc::authorization: return "the NATS server refuses the credentials";
        case nats_errc::server_error: return "the NATS server reports an error";
        case nats_errc::no_responders: return "no one answers requests to this subject";
        case nats_errc::bad_subject: return "not a subject of NATS";
        case nats_errc::bad_header: return "not a header field of NATS";
        case nats_errc::payload_too_large: return "the payload is larger than the NATS server takes";
        case nats_errc::buffer_full: return "the buffer for the NATS server is full";
        case nats_errc::no_headers: return "the NATS server takes no headers";
        case nats_errc::no_tls: return "TLS is asked for, but the client has no TLS";
        case nats_errc::bad_nkey: return "not an nkey seed";
        case nats_errc::no_nkeys: return "weft was built without OpenSSL, which nkeys need";
        case nats_errc::server_too_old: return "the NATS server is too old for JetStream";
        case nats_errc::jetstream_error: return "JetStream refuses";
    }
    return "unknown error of NATS";
}

class category final : public std::error_category {
public:
    const char* name() const noexcept override { return "weft.nats"; }
    std::string message(int e) const override { return words(static_cast<nats_errc>(e)); }
};

}  // namespace

const std::error_category& error_category() noexcept {
    static const category only;
    return only;
}

}  // namespace weft::nats
