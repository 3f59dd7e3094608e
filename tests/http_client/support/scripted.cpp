#include "http_client/support/scripted.hpp"

#include <array>
#include <charconv>

namespace weft::test {

std::string ok(std::string_view body, std::string_view fields) {
    return "HTTP/1.1 200 OK\r\n" + std::string(fields) + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
           std::string(body);
}

scripted::scripted(std::vector<std::string> answers) : answers_(std::move(answers)) {
    accepting_ = spawn([this] {
        for (tcp::stream peer : listener_) {
            ++connections_;
            serving_.push_back(spawn([this](tcp::stream p) { serve(std::move(p)); }, std::move(peer)));
        }
    });
}

scripted::~scripted() {
    listener_.close();
    accepting_.join();
    for (auto& f : serving_) f.request_stop();
}

std::vector<std::string> scripted::asked() const {
    const std::lock_guard guard(lock_);
    return asked_;
}

void scripted::serve(tcp::stream peer) {
    std::string text;
    std::array<std::byte, 65536> room;
    std::error_code error;
    for (const auto& answer : answers_) {
        std::size_t end = 0, body = 0;
        while ((end = text.find("\r\n\r\n")) == text.npos || text.size() < end + 4 + body) {
            const auto n = peer.read_some(room, error);
            if (n == 0) return;
            text.append(reinterpret_cast<const char*>(room.data()), n);
            if (end = text.find("\r\n\r\n"); end == text.npos) continue;
            if (const auto at = text.substr(0, end).find("Content-Length: "); at != text.npos)
                std::from_chars(text.data() + at + 16, text.data() + end, body);
        }
        {
            const std::lock_guard guard(lock_);
            asked_.push_back(text.substr(0, end + 4 + body));
        }
        text.erase(0, end + 4 + body);
        peer.write_all(answer, error);
        if (error) return;
    }
}

std::string with_end(std::size_t letters) {
    std::string body(letters, 'x');
    return body.append("the end");
}

}  // namespace weft::test
