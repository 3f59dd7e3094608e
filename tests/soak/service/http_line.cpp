// http_line.cpp - heads by their Content-Length.
#include "soak/service/http_line.hpp"

#include <array>
#include <charconv>

#include <weft/deadline.hpp>

namespace soak {

namespace {

std::size_t number_after(std::string_view text, std::string_view label) {
    const auto at = text.find(label);
    std::size_t n = 0;
    if (at == text.npos) throw garbled("no \"" + std::string(label) + "\" in: " + std::string(text));
    const auto rest = text.substr(at + label.size());
    if (std::from_chars(rest.data(), rest.data() + rest.size(), n).ec != std::errc())
        throw garbled("no number in: " + std::string(text));
    return n;
}

}  // namespace

http_line::http_line(std::uint16_t port, milliseconds patience)
    : stream_(weft::with_timeout(patience, [&] { return weft::tcp::stream::connect({.host = "127.0.0.1", .port = port}); })),
      patience_(patience) {}

void http_line::send(std::string_view bytes) {
    std::error_code error;
    weft::with_timeout(patience_, [&] { stream_.write_all(std::as_bytes(std::span(bytes)), error); });
    if (error) throw ended();
}

bool http_line::fill() {
    std::array<std::byte, 16384> bytes;
    std::error_code error;
    const auto n = weft::with_timeout(patience_, [&] { return stream_.read_some(bytes, error); });
    if (error == std::errc::timed_out) throw garbled("no answer in time");
    if (error || n == 0) return false;
    received_.append(reinterpret_cast<const char*>(bytes.data()), n);
    return true;
}

reply http_line::receive() {
    std::size_t end;
    while ((end = received_.find("\r\n\r\n")) == received_.npos)
        if (!fill()) {
            if (received_.empty()) throw ended();
            throw garbled("the connection has ended within a head: " + received_);
        }
    const auto head = std::string_view(received_).substr(0, end);
    if (!head.starts_with("HTTP/1.1 ")) throw garbled("not HTTP: " + received_);
    const auto status = number_after(head.substr(0, head.find('\r')), "HTTP/1.1 ");
    const auto length = status == 204 ? 0 : number_after(head, "\r\nContent-Length: ");
    while (received_.size() < end + 4 + length)
        if (!fill()) throw garbled("the connection has ended within a body: " + received_);
    reply got{static_cast<int>(status), received_.substr(end + 4, length)};
    received_.erase(0, end + 4 + length);
    busy_until_ = clock::now();
    return got;
}

void http_line::close(leave how) {
    if (how == leave::by_reset) stream_.set_reset_on_close(true);
    stream_.close();
}

}  // namespace soak
