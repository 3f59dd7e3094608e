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
    EXPECT_EQ(refused.headers.find("Allow"), "GET, HEAD, OPTIONS, POST, PUT");
    EXPECT_EQ(ask(r, "BREW", "/b").headers.find("Allow"), "OPTIONS, POST");
}

TEST(router, answers_options_where_no_route_does) {
    http::router r;
    r.get("/a", says("a")).put("/a", says("a")).del("/b", says("b")).add("OPTIONS", "/c", says("c"));
    r.not_found([](const http::request&) { return http::text(404, "nothing"); });
    const auto a = ask(r, "OPTIONS", "/a?x=1");
    EXPECT_EQ(a.status, 204);
    EXPECT_EQ(a.body, "");
    EXPECT_EQ(a.headers.find("Allow"), "GET, HEAD, OPTIONS, PUT");
    EXPECT_EQ(ask(r, "OPTIONS", "/b").headers.find("Allow"), "DELETE, OPTIONS");
    EXPECT_EQ(ask(r, "OPTIONS", "/c").body, "c");
    EXPECT_EQ(ask(r, "OPTIONS", "/e").body, "nothing");
    const auto all = ask(r, "OPTIONS", "*");
    EXPECT_EQ(all.status, 204);
    EXPECT_EQ(all.headers.find("Allow"), "DELETE, GET, HEAD, OPTIONS, PUT");
    r.any("/d", says("d"));
    EXPECT_EQ(ask(r, "OPTIONS", "/d").body, "d");
    EXPECT_EQ(ask(r, "OPTIONS", "*").status, 204);
    EXPECT_FALSE(ask(r, "OPTIONS", "*").headers.contains("Allow")) << "/d takes every method there is";
    EXPECT_EQ(ask(r, "GET", "*").status, 404);
    EXPECT_EQ(ask(http::router(), "OPTIONS", "*").headers.find("Allow"), "OPTIONS");
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

TEST(router, a_last_segment_with_three_dots_matches_the_rest_of_the_path) {
    http::router r;
    r.get("/files/{path...}", echoes("path")).get("/{user}/docs/{page...}", [](const http::request& q) {
        return http::text(200, q.path("user") + ":" + q.path("page"));
    });
    EXPECT_EQ(ask(r, "GET", "/files/a").body, "a");
    EXPECT_EQ(ask(r, "GET", "/files/a/b//c/").body, "a/b//c/");
    EXPECT_EQ(ask(r, "GET", "/files/").status, 200);
    EXPECT_EQ(ask(r, "GET", "/files/").body, "") << "the rest may be empty";
    EXPECT_EQ(ask(r, "GET", "/files/a%2Fb%20c?x=/y").body, "a/b c");
    EXPECT_EQ(ask(r, "GET", "/files/../a").body, "../a") << "as it is sent";
    EXPECT_EQ(ask(r, "GET", "/files").status, 404);
    EXPECT_EQ(ask(r, "GET", "/ann/docs/1/2").body, "ann:1/2");
    EXPECT_EQ(ask(r, "PUT", "/files/a/b").status, 405);
    http::router everything;
    everything.any("/{all...}", echoes("all"));
    for (const char* path : {"/", "/a", "/a/b"}) EXPECT_EQ(ask(everything, "BREW", path).body, path + 1);
    EXPECT_EQ(ask(everything, "OPTIONS", "*").status, 204) << "no path";
}

TEST(router, literals_win_over_names_and_names_over_the_rest) {
    http::router r;
    r.get("/a/{rest...}", echoes("rest")).get("/a/{one}", says("one")).get("/a/b", says("b")).get("/a/b/c", says("c"));
    r.get("/{all...}", says("all")).post("/a/posted", says("posted"));
    EXPECT_EQ(ask(r, "GET", "/a/b").body, "b");
    EXPECT_EQ(ask(r, "GET", "/a/b/c").body, "c");
    EXPECT_EQ(ask(r, "GET", "/a/x").body, "one");
    EXPECT_EQ(ask(r, "GET", "/a/b/x").body, "b/x") << "it comes back from /a/b";
    EXPECT_EQ(ask(r, "GET", "/a/").body, "");
    EXPECT_EQ(ask(r, "GET", "/b/c").body, "all");
    EXPECT_EQ(ask(r, "GET", "/a/posted").body, "one") << "a route of another method does not hide it";
    EXPECT_EQ(ask(r, "PUT", "/a/posted").headers.find("Allow"), "GET, HEAD, OPTIONS, POST");
}

TEST(router, refuses_a_star_and_says_what_to_write) {
    http::router r;
    for (const char* star : {"/files/*", "/files/**", "/*", "/a*b", "/{*path}", "/*path", "/files/*.png"}) {
        try {
            r.get(star, says(""));
            ADD_FAILURE() << star;
        } catch (const std::invalid_argument& e) {
            EXPECT_NE(std::string(e.what()).find("{name...} for the rest of the path"), std::string::npos) << e.what();
            EXPECT_NE(std::string(e.what()).find(star), std::string::npos) << e.what();
        }
    }
    for (const char* bad : {"/{a...}/b", "/{...}", "/{a..}", "/{a.}", "/{a....}", "/x{a...}", "/{a...}/", "/{b}/{b...}"})
        EXPECT_THROW(r.get(bad, says("")), std::invalid_argument) << bad;
    r.get("/f/{a...}", says(""));
    EXPECT_THROW(r.get("/f/{b...}", says("")), std::invalid_argument) << "routed already";
}

TEST(router, not_found_answers_unknown_paths_and_leaves_405_alone) {
    http::router r;
    r.get("/a", says("a")).not_found([](const http::request& q) { return http::text(404, "no " + std::string(q.path())); });
    EXPECT_EQ(ask(r, "GET", "/b/c").body, "no /b/c");
    EXPECT_EQ(ask(r, "GET", "*").body, "no *");
    EXPECT_EQ(ask(r, "PUT", "/a").status, 405);
    EXPECT_EQ(ask(r, "GET", "/%zz").status, 400);
    r.not_found([](const http::request&) { return http::text(200, "the second"); });
    EXPECT_EQ(ask(r, "GET", "/b").body, "the second");
    EXPECT_THROW(r.not_found(nullptr), std::invalid_argument);
}

http::middleware notes(std::string& to, std::string name) {
    return [&to, name](const http::request& q, const http::next& next) {
        to += name;
        auto answer = next(q);
        to += "/" + name;
        return answer;
    };
}

TEST(router, middleware_goes_around_every_answer_the_first_outermost) {
    http::router r;
    std::string seen;
    r.get("/a", [&](const http::request&) { return seen += "!", http::text(200, "a"); });
    r.use(notes(seen, "x")).use(notes(seen, "y"));
    const auto noted = [&](std::string method, std::string target) {
        seen.clear();
        return std::to_string(ask(r, std::move(method), std::move(target)).status) + seen;
    };
    EXPECT_EQ(noted("GET", "/a"), "200xy!/y/x");
    EXPECT_EQ(noted("GET", "/b"), "404xy/y/x");
    EXPECT_EQ(noted("PUT", "/a"), "405xy/y/x");
    EXPECT_EQ(noted("GET", "/%zz"), "400xy/y/x");
    EXPECT_THROW(r.use(nullptr), std::invalid_argument);
}

TEST(router, middleware_may_answer_by_itself_and_change_what_passes) {
    http::router r;
    r.get("/new/{id}", [](const http::request& q) { return http::text(200, q.path("id") + "/" + q.query("k")); });
    r.use([](const http::request& q, const http::next& next) {
        if (q.header("Key").empty()) return http::text(401, "who?");
        auto answer = next(q);
        answer.headers.add("Seen", "yes");
        return answer;
    });
    r.use([](const http::request& q, const http::next& next) {
        if (!q.path().starts_with("/old/")) return next(q);
        http::request changed = q;
        changed.parts().target.replace(0, 5, "/new/");
        return next(changed);
    });
    EXPECT_EQ(ask(r, "GET", "/new/1").status, 401);
    for (const char* target : {"/new/1?k=v", "/old/1?k=v"}) {
        http::request_parts parts;
        parts.target = target;
        parts.headers.add("Key", "k");
        http::request q(std::move(parts));
        const auto answer = r.handle(q);
        EXPECT_EQ(answer.body, "1/v") << target;
        EXPECT_EQ(answer.headers.find("Seen"), "yes") << target;
    }
}

TEST(router, middleware_sees_what_handlers_throw_and_keeps_what_it_has_read) {
    http::router r;
    r.get("/throw/{n}", [](const http::request& q) -> http::response { throw std::runtime_error(q.path("n")); });
    int tries = 0;
    r.use([&](const http::request& q, const http::next& next) {
        const std::string& twice = q.query("twice");
        try {
            ++tries;
            return next(q);
        } catch (const std::runtime_error& e) {
            if (twice != "a value that is on the heap") return http::text(503, e.what() + ("," + q.path("n")));
        }
        ++tries;
        return next(q);
    });
    EXPECT_EQ(ask(r, "GET", "/throw/7").body, "7,7") << "the parameters are known afterwards";
    EXPECT_EQ(tries, 1);
    EXPECT_THROW(ask(r, "GET", "/throw/8?twice=a+value+that+is+on+the+heap"), std::runtime_error);
    EXPECT_EQ(tries, 3);
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
    } catch (const std::invalid_argument& e) {
        EXPECT_NE(std::string(e.what()).find("/a/{x"), std::string::npos);
    }
}

}  // namespace
