// decompress.cpp - requests whose bodies come compressed.
#include <weft/http/compress.hpp>

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include <weft/fiber.hpp>

#include "base/in_quotes.hpp"
#include "http/compressor.hpp"
#include "http/field_list.hpp"

namespace weft::http {
namespace {

/// The coding of a body; nothing if it is none that is known, or several. No coding is identity.
std::optional<detail::coding> coding_of(const headers& h) {
    std::optional<detail::coding> found = detail::coding::identity;
    int count = 0;
    detail::for_each_element(h, "Content-Encoding", [&](std::string_view word) {
        const auto is = [&](std::string_view other) { return detail::equal_ignoring_case(word, other); };
        if (is("identity")) return;
        ++count;
        if (is("gzip") || is("x-gzip"))
            found = detail::coding::gzip;
        else if (is("zstd"))
            found = detail::coding::zstd;
        else
            found.reset();
    });
    return count > 1 ? std::nullopt : found;
}

enum class refusal { too_large, malformed };

std::variant<std::string, refusal> decompressed(std::string_view body, detail::coding how, std::size_t most) {
    const auto through = how == detail::coding::zstd ? detail::make_zstd_decompressor() : detail::make_gzip_decompressor();
    std::string all;
    std::string room(detail::compressed_at_once, '\0');
    std::size_t done = 0;  // bytes that went in or came out since the last turn of others
    for (bool is_full = false; !body.empty() || is_full;) {
        auto piece = body.substr(0, detail::compressed_at_once);
        const auto given = piece.size();
        const auto n = through->take(piece, room);
        if (!n) return refusal::malformed;
        if (*n > most - all.size()) return refusal::too_large;
        all.append(room, 0, *n);
        const auto taken = given - piece.size();
        if (*n == 0 && taken == 0) break;
        body.remove_prefix(taken);
        is_full = *n == room.size();
        // Many small members or frames need as much time as one large one.
        done += *n + taken;
        if (done < detail::compressed_at_once) continue;
        this_fiber::yield();
        done = 0;
    }
    if (!body.empty() || !through->is_whole()) return refusal::malformed;
    return all;
}

response unknown(const headers& h) {
    auto refused = text(415, "415 Unsupported Media Type: Content-Encoding is gzip or zstd here, not " +
                                 detail::in_quotes(h.find("Content-Encoding").value_or(std::string_view{})) + "\n");
    refused.headers.add("Accept-Encoding", "gzip, zstd");
    return refused;
}

response refused(refusal why, detail::coding how, std::size_t most) {
    if (why == refusal::malformed)
        return text(400, "400 Bad Request: the body is not what Content-Encoding says, " + std::string(detail::name(how)) + "\n");
    return text(413, "413 Content Too Large: decompressed, the body has more than " + std::to_string(most) + " bytes\n");
}

/// The request with that body in place of its compressed one, which is not copied.
std::shared_ptr<const request> with_body(const request& asked, std::string plain) {
    const auto& from = asked.parts();
    request_parts parts{.method = from.method,
                        .target = from.target,
                        .minor_version = from.minor_version,
                        .headers = from.headers,
                        .body = std::move(plain),
                        .path_parameters = from.path_parameters,
                        .query_parameters = from.query_parameters,
                        .peer = from.peer};
    // The digests are those of what was sent.
    for (const std::string_view field :
         {"Content-Encoding", "Transfer-Encoding", "Content-Digest", "Repr-Digest", "Digest", "Content-MD5"})
        parts.headers.erase(field);
    parts.headers.set("Content-Length", std::to_string(parts.body.size()));
    return std::make_shared<const request>(std::move(parts));
}

}  // namespace

middleware decompress(decompress_options options) {
    return [most = options.most](const request& asked, const next& next) {
        const auto* const connection = asked.parts().peer.lent();
        if (asked.body().empty() || (connection && connection->arriving)) return next(asked);
        const auto how = coding_of(asked.headers());
        if (!how) return unknown(asked.headers());
        if (*how == detail::coding::identity) return next(asked);
        auto result = decompressed(asked.body(), *how, most);
        if (const auto* why = std::get_if<refusal>(&result)) return refused(*why, *how, most);
        const auto plain = with_body(asked, std::move(std::get<std::string>(result)));
        auto answer = next(*plain);
        // Its function may use the request that inner middleware was given.
        if (answer.stream) answer.stream = [plain, writes = std::move(answer.stream)](body_writer& to) { writes(to); };
        return answer;
    };
}

}  // namespace weft::http
