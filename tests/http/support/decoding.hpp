// decoding.hpp - runs bytes through a request_decoder in pieces, and says in one string what came out.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "http/request_decoder.hpp"

namespace weft::test {

/// One line per request ("POST /x 1.1 keep [a=b] body") and, at the end, what the decoder is left with.
struct transcript {
    std::vector<std::string> requests;
    int refused = 0;                       // the status, or 0
    std::string words;
    weft::detail::decode_phase left = weft::detail::decode_phase::idle;
    unsigned expectations = 0;
    std::vector<std::string> stored;       // the heads as the requests have them

    bool operator==(const transcript& other) const {
        return requests == other.requests && refused == other.refused && left == other.left && expectations == other.expectations;
    }
};

inline std::string described(const weft::http::request& q, bool keep_alive) {
    std::string line =
        q.method() + " " + q.target() + " 1." + std::to_string(q.parts().minor_version) + (keep_alive ? " keep" : " close");
    for (const auto [name, value] : q.headers()) line.append(" ").append(name).append("=").append(value);
    return line + " [" + q.body() + "]";
}

/// A connection that receives what it is given.
class decoding {
public:
    explicit decoding(weft::detail::decode_limits limits = {}) : in_(limits.max_header_bytes), decoder_(limits) {}

    /// \returns  false once the connection is over: refused, or not kept alive.
    bool receive(std::string_view bytes) {
        while (!bytes.empty()) {
            const auto room = in_.room();
            const auto n = std::min(room.size(), bytes.size());
            std::memcpy(room.data(), bytes.data(), n);
            in_.received(n);
            bytes.remove_prefix(n);
            if (!take()) return false;
        }
        return true;
    }

    /// Begins anew with a decoder that knows the last head.
    void restart() {
        in_.clear();
        weft::detail::known_head known;
        decoder_.exchange_known(known, request_);
        decoder_.restart();
        decoder_.exchange_known(known, request_);
        seen_ = {};
    }

    transcript result() {
        seen_.left = decoder_.phase();
        return seen_;
    }

private:
    bool take() {
        for (;;) {
            switch (decoder_.next(in_, request_)) {
                case weft::detail::decoded::head:  // next() does not return it
                case weft::detail::decoded::more:
                    if (decoder_.take_expectation()) ++seen_.expectations;
                    return true;
                case weft::detail::decoded::refused:
                    seen_.refused = decoder_.why().status;
                    seen_.words = decoder_.why().words;
                    return false;
                case weft::detail::decoded::request:
                    seen_.requests.push_back(described(request_, decoder_.keep_alive()));
                    seen_.stored.emplace_back(weft::detail::stored_text(request_.headers()));
                    if (!decoder_.keep_alive()) return false;          // the server closes here
            }
        }
    }

    weft::detail::input_buffer in_;
    weft::detail::request_decoder decoder_;
    weft::http::request request_;
    transcript seen_;
};

inline transcript decode(std::string_view bytes, weft::detail::decode_limits limits = {}) {
    decoding d(limits);
    d.receive(bytes);
    return d.result();
}

inline transcript decode_in_pieces(std::string_view bytes, std::size_t piece, weft::detail::decode_limits limits = {}) {
    decoding d(limits);
    for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size())))
        if (!d.receive(bytes.substr(0, piece))) break;
    return d.result();
}

inline transcript decode_cut_at(std::string_view bytes, std::size_t at, weft::detail::decode_limits limits = {}) {
    decoding d(limits);
    if (d.receive(bytes.substr(0, at))) d.receive(bytes.substr(at));
    return d.result();
}

}  // namespace weft::test
