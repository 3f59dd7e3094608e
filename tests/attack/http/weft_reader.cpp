// weft_reader.cpp - requests as weft's server reads them.
#include "http/request_decoder.hpp"

#include <algorithm>

#include "attack/http/messages.hpp"

namespace weft::attack {
namespace {

message copied(const http::request& read) {
    message m{.method = read.method(), .target = read.target(), .fields = {}, .body = read.body()};
    for (const auto [name, value] : read.headers()) m.fields.emplace_back(name, value);
    return m;
}

}  // namespace

messages read_by_weft(std::string_view bytes, std::size_t piece) {
    const detail::decode_limits limits;
    detail::input_buffer in(limits.max_header_bytes);
    detail::request_decoder decoder(limits);
    http::request into;
    messages read;
    while (!bytes.empty()) {
        const auto room = in.room();
        const auto n = std::min({room.size(), piece, bytes.size()});
        bytes.copy(room.data(), n);
        in.received(n);
        bytes.remove_prefix(n);
        for (;;) {
            const auto result = decoder.next(in, into);
            if (result == detail::decoded::refused) return read;
            if (result == detail::decoded::more) break;
            read.push_back(copied(into));
            if (!decoder.keep_alive()) return read;
        }
    }
    return read;
}

}  // namespace weft::attack
