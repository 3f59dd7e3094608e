// served.cpp - the routes of the fixture.
#include "http/support/served.hpp"

#include <stdexcept>

namespace weft::test {

served::served() : rt(GetParam()) {
    app.get("/", [](http::request const&) { return http::text(200, "root"); });
    app.get("/users/{id}", [](http::request const& q) { return http::text(200, q.path("id")); });
    app.post("/echo", [](http::request const& q) { return http::text(200, q.body()); });
    app.post("/size", [](http::request const& q) { return http::text(200, std::to_string(q.body().size())); });
    app.get("/large/{n}", [](http::request const& q) { return http::text(200, std::string(std::stoul(q.path("n")), 'x')); });
    app.get("/throw", [](http::request const&) -> http::response { throw std::runtime_error("ouch"); });
    app.get("/throw_int", [](http::request const&) -> http::response { throw 7; });
    app.get("/status/{n}", [](http::request const& q) { return http::text(std::stoi(q.path("n")), "body"); });
    app.get("/close", [](http::request const&) {
        return http::response{.status = 200, .headers = {{"Connection", "close"}}, .body = "last"};
    });
    app.get("/wait", [this](http::request const&) {
        ++waiting;
        try {
            while (!open.load()) this_fiber::sleep_for(std::chrono::milliseconds(1));
        } catch (cancelled const&) {
            ++cancelled_handlers;
            throw;
        }
        return http::text(200, "waited");
    });
    app.get("/stop", [this](http::request const&) {
        app.stop(std::chrono::seconds(5));
        return http::text(200, "bye");
    });
}

served::~served() {
    if (serving && serving->joinable()) stop();
}

void served::start(http::server_options options) {
    rt.run([&] { app.listen({.host = "127.0.0.1", .port = 0}, std::move(options)); });
    serving = rt.spawn([this] { app.serve(); });
}

void served::stop(std::chrono::nanoseconds grace) {
    app.stop(grace);
    serving->join();
}

}  // namespace weft::test
