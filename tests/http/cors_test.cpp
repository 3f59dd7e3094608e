// cors_test.cpp - what pages of other origins get of a service.
#include <weft/http/cors.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace {

using namespace weft;
using std::chrono_literals::operator""s;

class cors : public testing::Test {
protected:
    void use(http::cors_options options) {
        routes = http::router();
        routes.use(http::cors(std::move(options)));
        routes.get("/a", [](const http::request&) {
            auto answer = http::text(200, "a");
            answer.headers.add("Vary", "Cookie");
            return answer;
        });
    }
    http::response ask(std::string method, http::headers fields) {
        http::request q({.method = std::move(method), .target = "/a", .headers = std::move(fields)});
        return routes.handle(q);
    }
    http::response preflight(std::string_view origin, std::string_view method = "PUT") {
        return ask("OPTIONS", {{"Origin", origin}, {"Access-Control-Request-Method", method}});
    }
    static std::string refusal(http::cors_options options) {
        try {
            (void)http::cors(std::move(options));
        } catch (const std::invalid_argument& why) {
            return why.what();
        }
        return {};
    }

    http::router routes;
};

constexpr auto allow_origin = "Access-Control-Allow-Origin";

TEST_F(cors, answers_a_preflight_by_itself) {
    use({.origins = {"https://a.example", "http://localhost:3000"},
         .methods = {"GET", "PUT"},
         .headers = {"Authorization", "X-Id"},
         .expose = {"X-Total"},
         .credentials = true,
         .max_age = 600s});
    const auto answer = preflight("http://localhost:3000");
    EXPECT_EQ(answer.status, 204);
    EXPECT_EQ(answer.headers.find(allow_origin), "http://localhost:3000");
    EXPECT_EQ(answer.headers.find("Access-Control-Allow-Methods"), "GET, PUT");
    EXPECT_EQ(answer.headers.find("Access-Control-Allow-Headers"), "Authorization, X-Id");
    EXPECT_EQ(answer.headers.find("Access-Control-Allow-Credentials"), "true");
    EXPECT_EQ(answer.headers.find("Access-Control-Max-Age"), "600");
    EXPECT_EQ(answer.headers.find("Vary"), "Origin");
    EXPECT_FALSE(answer.headers.contains("Access-Control-Expose-Headers")) << "is of the answer itself";
    EXPECT_FALSE(answer.headers.contains("Allow"));
}

TEST_F(cors, other_options_go_through) {
    use({.origins = {"https://a.example"}});
    EXPECT_EQ(ask("OPTIONS", {{"Origin", "https://a.example"}}).headers.find("Allow"), "GET, HEAD, OPTIONS");
    EXPECT_EQ(ask("OPTIONS", {{"Access-Control-Request-Method", "PUT"}}).headers.find("Allow"), "GET, HEAD, OPTIONS");
}

TEST_F(cors, marks_answers_for_listed_origins_only) {
    use({.origins = {"https://a.example"}, .expose = {"X-Total", "ETag"}});
    const auto answer = ask("GET", {{"Origin", "https://a.example"}});
    EXPECT_EQ(answer.body, "a");
    EXPECT_EQ(answer.headers.find(allow_origin), "https://a.example");
    EXPECT_EQ(answer.headers.find("Access-Control-Expose-Headers"), "X-Total, ETag");
    EXPECT_FALSE(answer.headers.contains("Access-Control-Allow-Credentials"));
    EXPECT_EQ(answer.headers.find("Vary"), "Cookie, Origin");
    for (const char* other :
         {"https://b.example", "http://a.example", "https://a.example:8443", "https://a.example.evil.example", "null"}) {
        EXPECT_FALSE(ask("GET", {{"Origin", other}}).headers.contains(allow_origin)) << other;
        EXPECT_EQ(ask("GET", {{"Origin", other}}).body, "a") << other;
        const auto refused = preflight(other);
        EXPECT_EQ(refused.status, 204);
        EXPECT_FALSE(refused.headers.contains(allow_origin)) << other;
        EXPECT_FALSE(refused.headers.contains("Access-Control-Allow-Methods")) << other;
        EXPECT_EQ(refused.headers.find("Vary"), "Origin");
    }
    const auto without = ask("GET", {});
    EXPECT_FALSE(without.headers.contains(allow_origin));
    EXPECT_EQ(without.headers.find("Vary"), "Cookie, Origin") << "a cache keeps it for requests with an origin, too";
}

TEST_F(cors, a_star_allows_every_origin_and_needs_no_vary) {
    use({.origins = {"*"}});
    EXPECT_EQ(ask("GET", {{"Origin", "https://b.example"}}).headers.find(allow_origin), "*");
    EXPECT_EQ(ask("GET", {{"Origin", "https://b.example"}}).headers.find("Vary"), "Cookie");
    EXPECT_EQ(ask("GET", {}).headers.find(allow_origin), "*") << "a cache keeps it for requests with an origin, too";
    EXPECT_EQ(preflight("https://b.example").headers.find(allow_origin), "*");
    EXPECT_EQ(preflight("https://b.example").headers.find("Access-Control-Allow-Methods"), "GET, HEAD, POST");
}

TEST_F(cors, marks_refusals_of_the_router_too) {
    use({.origins = {"https://a.example"}});
    const auto refused = ask("DELETE", {{"Origin", "https://a.example"}});
    EXPECT_EQ(refused.status, 405);
    EXPECT_EQ(refused.headers.find(allow_origin), "https://a.example");
}

TEST_F(cors, refuses_options_that_no_browser_takes) {
    EXPECT_NE(refusal({.origins = {"*"}, .credentials = true}).find("\"*\" in origins together with credentials"),
              std::string::npos);
    EXPECT_NE(refusal({.origins = {"https://a.example"}, .headers = {"*"}, .credentials = true}).find("\"*\" in headers"),
              std::string::npos);
    EXPECT_NE(refusal({.origins = {"*", "https://a.example"}}).find("beside others"), std::string::npos);
    EXPECT_NE(refusal({.origins = {"null"}}).find("anybody"), std::string::npos);
    for (const char* origin :
         {"", "a.example", "https://", "https://a.example/", "https://A.example", "https://a.example:443", "http://a:80",
          "https://a.example/x", "https://*.example", "https://a b", "https://a.example:", "://a"})
        EXPECT_NE(refusal({.origins = {origin}}).find("is no origin"), std::string::npos) << origin;
    EXPECT_NE(refusal({.methods = {"G T"}}).find("\"G T\" is no method"), std::string::npos);
    EXPECT_NE(refusal({.headers = {""}}).find("is no method or field"), std::string::npos);
    EXPECT_NE(refusal({.max_age = -1s}).find("max_age"), std::string::npos);
    EXPECT_EQ(refusal({.origins = {"http://[::1]:3000", "capacitor://localhost"}, .headers = {"*"}}), "");
}

}  // namespace
