// router_test.cpp - which handler gets which request, and what is answered when none does.
#include <weft/http/router.hpp>

#include <gtest/gtest.h>

#include <stdexcept>

namespace {

using namespace weft;

http::response ask(const http::router& r, std::string method, std::string target) {
    http::request_parts parts;
    parts.method = std::move(method);
    parts.target = std::move(target);
    http::request q(std::move(parts));
    return r.handle(q);
}

http::handler says(std::string what) {
    return [what](const http::request&) { return http::text(200, what); };
}

http::handler echoes(std::string name) {
    return [name](const http::request& q) { return http::text(200, q.path(name)); };
}

TEST(router, finds_by_path_and_method) {
    http::router r;
    r.get("/", says("root"))
        .get("/a", says("get a"))
        .post("/a", says("post a"))
        .get("/a/b", says("a b"))
        .any("/any", says("any"));
    r.put("/a", says("put a")).patch("/a", says("patch a")).del("/a", says("delete a"));
    EXPECT_EQ(ask(r, "GET", "/").body, "root");
    EXPECT_EQ(ask(r, "GET", "/a?x=/a/b").body, "get a");
    EXPECT_EQ(ask(r, "POST", "/a").body, "post a");
    EXPECT_EQ(ask(r, "PUT", "/a").body, "put a");
    EXPECT_EQ(ask(r, "PATCH", "/a").body, "patch a");
    EXPECT_EQ(ask(r, "DELETE", "/a").body, "delete a");
    EXPECT_EQ(ask(r, "GET", "/a/b").body, "a b");
    EXPECT_EQ(ask(r, "BREW", "/any").body, "any");
}

TEST(router, answers_404_for_unknown_paths) {
    http::router r;
    r.get("/users/{id}", echoes("id")).get("/a/", says("a slash"));
    for (const char* path : {"/", "/users", "/users/", "/users/1/", "/users/1/x", "/Users/1", "//users/1", "/a", "*"})
        EXPECT_EQ(ask(r, "GET", path).status, 404) << path;
    EXPECT_EQ(ask(r, "GET", "/a/").status, 200);
}

TEST(router, answers_405_with_allow) {
    http::router r;
    r.get("/a", says("a")).put("/a", says("a")).post("/{x}", says("x"));
    const auto refused = ask(r, "DELETE", "/a");
    EXPECT_EQ(refused.status, 405);
    EXPECT_EQ(refused.headers.find("Allow"), "GET, HEAD, POST, PUT");
    EXPECT_EQ(ask(r, "BREW", "/b").headers.find("Allow"), "POST");
}

TEST(router, lets_get_answer_head) {
    http::router r;
    r.get("/a", says("get")).get("/b", says("get")).add("HEAD", "/b", says("head"));
    EXPECT_EQ(ask(r, "HEAD", "/a").body, "get");
    EXPECT_EQ(ask(r, "HEAD", "/b").body, "head");
}

TEST(router, decodes_path_parameters) {
    http::router r;
    r.get("/users/{id}", echoes("id")).get("/{a}/{b}/c", [](const http::request& q) {
        return http::text(200, q.path("b") + q.path("a"));
    });
    EXPECT_EQ(ask(r, "GET", "/users/7").body, "7");
    EXPECT_EQ(ask(r, "GET", "/users/a%2Fb%20c+d").body, "a/b c+d");
    EXPECT_EQ(ask(r, "GET", "/%75sers/7").body, "7");
    EXPECT_EQ(ask(r, "GET", "/1/2/c").body, "21");
    EXPECT_EQ(ask(r, "GET", "/users/%4").status, 400);
    EXPECT_EQ(ask(r, "GET", "/users/%zz").status, 400);
}

TEST(router, prefers_literals_and_comes_back) {
    http::router r;
    r.get("/users/me", says("me"))
        .get("/users/{id}", echoes("id"))
        .post("/users/new", says("new"))
        .get("/{kind}/me/x", echoes("kind"));
    EXPECT_EQ(ask(r, "GET", "/users/me").body, "me");
    EXPECT_EQ(ask(r, "GET", "/users/new").body, "new");                 // POST /users/new does not hide GET /users/{id}
    EXPECT_EQ(ask(r, "GET", "/users/me/x").body, "users");
}

TEST(router, names_a_bad_pattern) {
    http::router r;
    r.get("/a/{x}", says(""));
    for (const char* bad : {"", "a", "/{", "/{}", "/a{x}", "/{x}/{x}", "/{a b}", "/a?b", "/a/{y}"})
        EXPECT_THROW(r.get(bad, says("")), std::invalid_argument) << bad;
    EXPECT_THROW(r.get("/b", nullptr), std::invalid_argument);
    try {
        r.get("/a/{x", says(""));
        FAIL();
    } catch (const std::invalid_argument& e) { EXPECT_NE(std::string(e.what()).find("/a/{x"), std::string::npos); }
}

}  // namespace
