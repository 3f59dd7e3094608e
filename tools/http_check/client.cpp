// client.cpp - finds head and body of each reply.
#include "client.hpp"

#include <array>
#include <charconv>
#include <stdexcept>

namespace http_check {
namespace {

/// The number behind `label`, which must be in the text.
std::size_t number_after(std::string_view text, std::string_view label) {
    const auto at = text.find(label);
    std::size_t n = 0;
    if (at == text.npos) throw std::runtime_error("no \"" + std::string(label) + "\" in the reply");
    const auto rest = text.substr(at + label.size());
    if (std::from_chars(rest.data(), rest.data() + rest.size(), n).ec != std::errc())
        throw std::runtime_error("bad number in the reply");
    return n;
}

}  // namespace

reply client::receive() {
    received_.erase(0, used_);
    used_ = 0;
    std::size_t end;
    while ((end = received_.find("\r\n\r\n")) == received_.npos) fill();
    const auto head = std::string_view(received_).substr(0, end);
    const auto status = number_after(head.substr(0, head.find('\r')), "HTTP/1.1 ");
    const auto length = status == 204 ? 0 : number_after(head, "\r\nContent-Length: ");
    used_ = end + 4 + length;
    while (received_.size() < used_) fill();
    // The buffer may have moved.
    const auto is_last = std::string_view(received_).substr(0, end).find("\r\nConnection: close") != std::string_view::npos;
    return {static_cast<int>(status), std::string_view(received_).substr(end + 4, length), is_last};
}

void client::fill() {
    std::array<std::byte, 16384> bytes;
    const auto n = stream_.read_some(bytes);
    if (n == 0) throw std::runtime_error("the server ended the connection");
    received_.append(reinterpret_cast<const char*>(bytes.data()), n);
}

}  // namespace http_check
