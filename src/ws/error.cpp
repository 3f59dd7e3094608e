// error.cpp - the words of ws::errc.
#include <weft/ws/error.hpp>

#include <string>

namespace weft::ws {
namespace {

const char* words(errc e) noexcept {
    switch (e) {
        case errc::protocol_error: return "the peer breaks the rules of WebSocket";
        case errc::invalid_text: return "the peer has sent a text that is not UTF-8";
        case errc::invalid_compression: return "the peer has sent data that cannot be decompressed";
        case errc::message_too_big: return "the peer has sent a message that is too big";
        case errc::closed: return "the WebSocket is closed";
        case errc::abnormal: return "the connection ended without a close frame";
        case errc::silent: return "the peer is silent and has not answered a ping";
        case errc::refused: return "the server refuses the WebSocket";
        case errc::not_http: return "the server does not speak HTTP/1.1";
        case errc::not_upgraded: return "the server does not change the protocol to WebSocket";
        case errc::wrong_key: return "the server's Sec-WebSocket-Accept is wrong";
        case errc::unasked_subprotocol: return "the server has chosen a subprotocol that was not offered";
        case errc::unasked_extension: return "the server has chosen an extension that was not offered";
    }
    return "unknown error of WebSocket";
}

class category final : public std::error_category {
public:
    const char* name() const noexcept override { return "weft.ws"; }
    std::string message(int e) const override { return words(static_cast<errc>(e)); }
};

}  // namespace

const std::error_category& error_category() noexcept {
    static const category only;
    return only;
}

}  // namespace weft::ws
