// route_name_test.cpp - a connection's fiber has the name of the route it runs, so that reports of hogs and dumps say which one.
#include <weft/http/server.hpp>

#include <gtest/gtest.h>

#include <weft/fiber.hpp>

#include "http/support/served.hpp"

namespace {

using namespace weft;
using test::get;

class http_route_name : public test::served {
protected:
    static http::response say_name(const http::request&) { return http::text(200, std::string(this_fiber::name())); }
};
INSTANTIATE_TEST_SUITE_P(workers, http_route_name, ::testing::Values(1u, 2u),
                         [](const auto& each) { return std::to_string(each.param); });

TEST_P(http_route_name, is_that_of_the_fiber_while_its_handler_runs) {
    app.get("/items/{id}", say_name).post("/items", say_name).any("/files/{path...}", say_name);
    start();
    auto c = connect();
    EXPECT_EQ(c.ask(get("/items/1")).body, "GET /items/{id}");
    EXPECT_EQ(c.ask(get("/items/2")).body, "GET /items/{id}");
    EXPECT_EQ(c.ask(get("/files/a/b")).body, "any /files/{path...}");
    EXPECT_EQ(c.ask(get("/items/3")).body, "GET /items/{id}");
}

TEST_P(http_route_name, is_that_of_the_request_a_middleware_goes_on_with) {
    app.get("/new", say_name).use([](const http::request& q, const http::next& next) {
        if (q.path() != "/old") return next(q);
        http::request changed(q);
        changed.parts().target = "/new";
        return next(changed);
    });
    start();
    EXPECT_EQ(connect().ask(get("/old")).body, "GET /new");
}

TEST_P(http_route_name, is_not_given_to_a_fiber_that_hands_a_request_to_a_router_itself) {
    http::router inner;
    inner.get("/inner", say_name);
    app.get("/outer", [&](const http::request& q) {
        http::request copy(q);
        copy.parts().target = "/inner";
        return inner.handle(copy);
    });
    start();
    EXPECT_EQ(connect().ask(get("/outer")).body, "GET /outer");
}

}  // namespace
