// http_allocations_test.cpp - a request of the usual size costs no allocation but those of its handler.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <weft/fiber.hpp>
#include <weft/http/server.hpp>
#include <weft/net/tcp.hpp>
#include <weft/runtime.hpp>

#include "allocations/support/allocations.hpp"
#include "support/scale.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

constexpr std::string_view request =
    "GET /users/7 HTTP/1.1\r\n"
    "Host: 127.0.0.1:8080\r\n"
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n"
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n"
    "Accept-Language: en-US,en;q=0.5\r\n"
    "Cookie: session=0123456789abcdef0123456789abcdef\r\n\r\n";

/// Asks, and waits for the answer to the first of its bytes and all that have come with them: it is small, and leaves in one write.
void ask(tcp::stream& s) {
    s.write_all(request);
    std::array<std::byte, 4096> answer;
    ASSERT_GT(s.read_some(answer), 0u);
}

// Both ends are in one runtime, so the client's streams allocate nothing either.
TEST(http_allocations, of_a_usual_request_are_those_of_its_handler) {
    runtime rt({.workers = 1, .time_slice = 0ns});
    rt.run([] {
        std::uint64_t handlers = 0;
        int handled = 0;
        http::server app;
        app.get("/users/{id}", [&](const http::request& q) {
            const auto before = allocations();
            auto answer = http::text(200, q.path("id"));
            handlers += allocations() - before;
            ++handled;
            return answer;
        });
        app.listen({.host = "127.0.0.1", .port = 0}, {.cold_after = no_limit});  // it rests for a second below
        auto serving = spawn([&] { app.serve(); });
        {
            auto client = tcp::stream::connect(app.local());
            constexpr int turns = scaled(1000);
            const auto of_warm_up = [&] {
                for (int i = 0; i < turns; ++i) ask(client);
                return handlers;
            }();
            const auto before = allocations();
            for (int i = 0; i < turns / 2; ++i) ask(client);
            this_fiber::sleep_for(1s);  // so that there is another Date to write
            for (int i = 0; i < turns / 2; ++i) ask(client);
            EXPECT_EQ(allocations() - before, handlers - of_warm_up)
                << "in " << turns << " requests, of which the handler's are the second";
            EXPECT_EQ(handled, 2 * turns);
        }
        app.stop(1s);
        serving.join();
    });
}

}  // namespace
}  // namespace weft::test
