// answer_fuzz.cpp - any bytes, cut anywhere, as what a server answers an HTTP client: no crash, and the cuts change nothing.
//
// The first byte chooses the cuts, the second the method and how the body is read, the rest is what the server sends
// before it closes. And it is a Location, read against a base.
#include <array>
#include <optional>

#include <weft/detail/select_core.hpp>
#include <weft/io/byte_stream.hpp>

#include "http/client/content.hpp"
#include "http/client/failure.hpp"
#include "http/client/url.hpp"
#include "targets.hpp"

namespace weft::fuzz {
namespace {

class always_ready final : public detail::select_watch {
public:
    void open() noexcept override {}
    state look() noexcept override { return state::ready; }
    bool enlist(detail::waiter&) noexcept override { return false; }
    void delist(detail::waiter&) noexcept override {}
    detail::time_point ready_at() const noexcept override { return detail::long_past; }
    void close() noexcept override {}
};

/// What was sent, at most `piece` bytes at a time, and then the end.
class sent_bytes {
public:
    sent_bytes(std::string_view sent, std::size_t piece) noexcept : rest_(sent), piece_(piece) {}

    std::size_t read_some(std::span<std::byte> into) {
        const auto part = rest_.substr(0, std::min(piece_, into.size()));
        std::ranges::copy(std::as_bytes(std::span(part)), into.begin());
        rest_.remove_prefix(part.size());
        return part.size();
    }
    std::size_t read_some(std::span<std::byte> into, std::error_code& error) {
        error.clear();
        return read_some(into);
    }
    std::size_t write_some(std::span<const std::byte> from) { return from.size(); }
    std::size_t write_some(std::span<const std::byte> from, std::error_code& error) {
        error.clear();
        return from.size();
    }
    void wait_readable(std::error_code& error) { error.clear(); }
    void shutdown(io::side, std::error_code& error) { error.clear(); }
    void close() noexcept {}
    bool is_open() const noexcept { return true; }
    friend always_ready watch_readable(const sent_bytes&) noexcept { return {}; }

private:
    std::string_view rest_;
    std::size_t piece_;
};

constexpr std::size_t longest_body = 10000;

/// The answer, or the failure, in words that do not depend on cuts.
std::string read_answer(std::string_view sent, std::size_t piece, std::uint8_t how) {
    io::byte_stream stream(sent_bytes(sent, piece));
    detail::input_buffer in(8192);
    const detail::exchange_limits limits{.silence = std::chrono::seconds(1),
                                         .head = {.max_header_bytes = 8192, .max_header_fields = 16}};
    detail::client_exchange x(stream, in, limits);
    http::answer a;
    std::string words;
    try {
        do x.read_head(a, how % 4 == 0);
        while (x.is_interim());
        detail::content_reader content;
        if (!x.is_over()) content.begin(a, how % 2 == 1);
        words = std::to_string(a.status) + a.reason;
        for (const auto [name, value] : a.headers) words.append("\n").append(name).append("=").append(value);
        if (how % 8 < 4) {
            content.read_all(x, a.body, longest_body);
            require(a.body.size() <= longest_body, "more than was allowed");
        } else {
            std::array<std::byte, 777> few;
            while (const auto n = content.read(x, few)) a.body.append(reinterpret_cast<const char*>(few.data()), n);
        }
        words.append("\n").append(a.body);
    } catch (const detail::client_failure& f) {
        if (!f.words.empty()) require_one_line(f.words);
        words += "\nfailure " + std::to_string(f.code.value());
    }
    return words;
}

void follow(std::string_view reference) {
    detail::http_url base, to, again;
    require(!detail::parse_url("http://me:pw@base.example/a/b?c", base), "the base");
    if (const auto fault = detail::resolve_url(base, reference, to)) return require_one_line(fault);
    require(!detail::parse_url(to.text(), again), "what is written is not read again", to.text());
    require(again.text() == to.text(), "what is read again is another URL", to.text());
    require(to.login != base.login || to.has_origin_of(base), "a login of another server", to.text());
    require_one_line(detail::shown_url(to.text()));
}

}  // namespace

void answer(bytes data) {
    if (data.size() < 3 || data.size() > 4096) return;
    const auto sent = text_of(data.subspan(2));
    const auto whole = read_answer(sent, sent.size(), data[1]), cut = read_answer(sent, 1 + data[0] % 64, data[1]);
    // A failure within the body may come before or behind some of what is good.
    if (whole != cut && whole.find("\nfailure") == whole.npos) broken("whole and cut differ:\n" + whole + "\n" + cut);
    require((whole.find("\nfailure") == whole.npos) == (cut.find("\nfailure") == cut.npos), "only one of whole and cut fails",
            whole + cut);
    follow(sent);
}

}  // namespace weft::fuzz
