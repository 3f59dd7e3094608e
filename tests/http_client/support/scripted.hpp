// scripted.hpp - a server that says what a test has written down, and remembers what it was asked.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <weft/weft.hpp>

namespace weft::test {

/// Answers the requests of each connection with `answers` in turn, whatever is asked; after the last one it
/// closes. It knows no HTTP but the end of a head, and Content-Length.
class scripted {
public:
    /// Called inside a runtime.
    explicit scripted(std::vector<std::string> answers);
    ~scripted();

    std::string url(std::string_view target = "/") const {
        return "http://127.0.0.1:" + std::to_string(listener_.local().port) + std::string(target);
    }
    std::uint16_t port() const { return listener_.local().port; }
    /// The heads and bodies of all requests so far.
    std::vector<std::string> asked() const;
    std::string last() const { return asked().back(); }
    int connections() const { return connections_; }

private:
    void serve(tcp::stream peer);

    const std::vector<std::string> answers_;
    tcp::listener listener_{net::endpoint{.host = "127.0.0.1", .port = 0}};
    mutable std::mutex lock_;
    std::vector<std::string> asked_;
    std::atomic<int> connections_{0};
    std::vector<fiber<>> serving_;
    fiber<> accepting_;
};

/// "HTTP/1.1 200 OK" with that body and its length; `fields` are whole lines.
std::string ok(std::string_view body, std::string_view fields = {});

/// So many letters, and "the end".
std::string with_end(std::size_t letters);

}  // namespace weft::test
