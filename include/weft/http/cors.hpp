// cors.hpp - lets pages of other origins call a service, as browsers ask for it (the Fetch standard).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <weft/detail/export.hpp>
#include <weft/http/router.hpp>

namespace weft::http {

struct cors_options {
    /// The origins of the pages that may call, for example "https://a.example" or
    /// "http://localhost:3000", compared as browsers write them: no path, lower case, no port that
    /// the scheme implies. "*", alone: every page. Empty: none.
    std::vector<std::string> origins = {};
    /// The methods they may use.
    std::vector<std::string> methods = {"GET", "HEAD", "POST"};
    /// The request fields they may set, beside those that every page may.
    std::vector<std::string> headers = {};
    /// The answer's fields that a script may read, beside those that every script may.
    std::vector<std::string> expose = {};
    /// Whether cookies and other credentials go with a call, and scripts may read the answer then.
    /// Not with "*", in any of the lists.
    bool credentials = false;
    /// How long a browser may keep the answer to a preflight. Empty: as it likes (five seconds, by
    /// the standard).
    std::optional<std::chrono::seconds> max_age = {};
};

/// A middleware for router::use():
///
///     app.use(weft::http::cors({.origins = {"https://a.example"}, .headers = {"Authorization"}}));
///
/// It answers a preflight (OPTIONS with Origin and Access-Control-Request-Method) by itself, with
/// 204, and what runs inside it does not see it. To the other answers it adds what the browser
/// looks for. An origin that is not listed gets neither, and no refusal: the browser refuses. This
/// keeps foreign scripts from reading; it does not keep anybody from sending. The 500 for an
/// exception is made outside of middleware, so no script of another origin can read it.
///
/// \throws  std::invalid_argument naming the option: an origin that no browser sends, the origin
///          "null" (documents without an origin, which anybody can make), a method or field that is
///          no token, "*" beside others or with credentials.
WEFT_EXPORT [[nodiscard]] middleware cors(cors_options options);

}  // namespace weft::http
