#include "http/client/content.hpp"

#include <algorithm>

#include <weft/fiber.hpp>

#include "http/ascii.hpp"
#include "http/client/failure.hpp"
#include "http/field_list.hpp"

namespace weft::detail {
namespace {

using http::client_errc;

// chosen: of an answer whose length is not known
constexpr std::size_t least_growth = 4096;
// chosen: a length that a server only announces takes no more memory than this ahead of its bytes
constexpr std::size_t most_ahead = std::size_t{1} << 20;

/// The coding to be undone; identity if there is none, or one or several that are left to the caller.
coding coding_of(const http::headers& h) {
    auto found = coding::identity;
    int count = 0;
    for_each_element(h, "Content-Encoding", [&](std::string_view word) {
        if (equal_ignoring_case(word, "identity")) return;
        ++count;
        if (equal_ignoring_case(word, "gzip") || equal_ignoring_case(word, "x-gzip")) found = coding::gzip;
        if (equal_ignoring_case(word, "zstd")) found = coding::zstd;
    });
    return count == 1 ? found : coding::identity;
}

}  // namespace

void content_reader::begin(http::answer& head, bool decompresses) {
    if (!decompresses) return;
    const auto how = coding_of(head.headers);
    if (how == coding::identity) return;
    through_ = how == coding::zstd ? make_zstd_decompressor() : make_gzip_decompressor();
    for (const std::string_view field : {"Content-Encoding", "Content-Length", "Content-Digest", "Content-MD5"})
        head.headers.erase(field);
}

/// \returns  false at the end of what is compressed.
bool content_reader::refill(client_exchange& from) {
    packed_.resize(compressed_at_once);
    const auto n = from.read_body(std::as_writable_bytes(std::span(packed_)));
    rest_ = std::string_view(packed_).substr(0, n);
    has_packed_ |= n > 0;
    return n > 0;
}

std::size_t content_reader::read(client_exchange& from, std::span<std::byte> into) {
    if (!through_ || into.empty()) return from.read_body(into);
    for (;;) {
        if (rest_.empty() && !is_full_ && !refill(from)) {
            // An empty body is what servers send with 304, for example, or for an empty file.
            if (has_packed_ && !through_->is_whole()) fail_request(client_errc::bad_encoding, "it ends early");
            return 0;
        }
        const auto before = rest_.size();
        const auto n = through_->take(rest_, {reinterpret_cast<char*>(into.data()), into.size()});
        if (!n) fail_request(client_errc::bad_encoding);
        is_full_ = *n == into.size();
        if (*n > 0) return *n;
        if (rest_.size() == before && before > 0) fail_request(client_errc::bad_encoding, "bytes behind its end");
    }
}

void content_reader::read_all(client_exchange& from, std::string& into, std::size_t most) {
    const auto begin = into.size();
    const auto known = is_decompressed() ? std::nullopt : from.body_left();
    if (known && *known > most) fail_request(client_errc::body_too_large, "it has " + std::to_string(*known) + " bytes");
    std::size_t since_turn = 0;
    for (auto end = begin;;) {
        if (end == into.size()) {
            const auto left = is_decompressed() ? std::nullopt : from.body_left();
            auto more = left ? static_cast<std::size_t>(std::min<std::uint64_t>(*left, most_ahead))
                             : std::max({least_growth, from.at_hand(), std::min(into.size(), most_ahead)});
            if (left == std::uint64_t{0}) break;
            if (!left && more > most - (end - begin)) more = most - (end - begin) + 1;  // one byte tells that there are too many
            into.resize(end + more);
        }
        const auto n = read(from, std::as_writable_bytes(std::span(into)).subspan(end));
        end += n;
        if (n == 0) {
            into.resize(end);
            break;
        }
        if (end - begin > most) fail_request(client_errc::body_too_large, "it has more than " + std::to_string(most) + " bytes");
        since_turn += n;
        if (is_decompressed() && since_turn >= compressed_at_once) {  // it has computed for long
            this_fiber::yield();
            since_turn = 0;
        }
    }
}

}  // namespace weft::detail
