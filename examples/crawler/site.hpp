// site.hpp - a small site on this machine, for a crawler that is given no other.
#pragma once

#include <chrono>
#include <string>

#include <weft/fiber.hpp>
#include <weft/http/server.hpp>

/// Page n leads to pages 2n and 2n + 1, up to 1000; some lead to a page that does not exist, or are slow.
class site {
public:
    site() {
        server_.get("/", [](auto&) { return page(1); });
        server_.get("/{n}", [](const weft::http::request& q) {
            const auto n = std::stoi(q.path("n"));
            if (n < 1 || n > pages) return weft::http::text(404, "there is no such page");
            if (n % 50 == 0) weft::this_fiber::sleep_for(std::chrono::milliseconds(20));
            return page(n);
        });
        server_.listen({.host = "127.0.0.1", .port = 0});
        serving_ = weft::spawn([this] { server_.serve(); });
    }
    ~site() {
        server_.stop();
        serving_.join();
    }

    std::string url() const { return "http://" + weft::net::to_string(server_.local()) + "/"; }

private:
    static constexpr int pages = 1000;

    static weft::http::response page(int n) {
        std::string text = "<title>" + std::to_string(n) + "</title>";
        for (const int to : {2 * n, 2 * n + 1})
            if (to <= pages + 1) text += "<a href=\"" + std::to_string(to) + "\">" + std::to_string(to) + "</a>";
        return {.status = 200, .headers = {{"Content-Type", "text/html"}}, .body = std::move(text)};
    }

    weft::http::server server_;
    weft::fiber<> serving_;
};
