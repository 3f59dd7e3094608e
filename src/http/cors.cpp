// cors.cpp - answers preflights, and marks answers for the browser.
#include <weft/http/cors.hpp>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "base/in_quotes.hpp"
#include "http/ascii.hpp"
#include "http/field_list.hpp"
#include "http/uri.hpp"

namespace weft::http {
namespace {

[[noreturn]] void refuse_cors(const std::string& why) { throw std::invalid_argument("weft: http: cors(): " + why); }

bool is_any(const std::vector<std::string>& list) { return list.size() == 1 && list.front() == "*"; }

/// Whether browsers write an origin like this.
bool is_origin(std::string_view text) {
    const auto colon = text.find("://");
    if (colon == 0 || colon == text.npos) return false;
    const auto scheme = text.substr(0, colon), host = text.substr(colon + 3);
    const auto is_lower = [](char c) { return detail::lower(c) == c; };
    const bool scheme_is_one = std::all_of(scheme.begin(), scheme.end(), [](char c) {
        return detail::is_letter(c) || detail::is_digit(c) || c == '+' || c == '-' || c == '.';
    });
    return scheme_is_one && !host.empty() && std::all_of(text.begin(), text.end(), is_lower) && host.find('*') == host.npos &&
           detail::is_host_with_port(host) && !host.ends_with(':') && !(scheme == "http" && host.ends_with(":80")) &&
           !(scheme == "https" && host.ends_with(":443"));
}

void check_list(const char* option, const std::vector<std::string>& list, bool credentials) {
    if (is_any(list)) {
        if (credentials)
            refuse_cors(std::string("\"*\" in ") + option +
                        " together with credentials: name each of them, browsers refuse \"*\" then");
        return;
    }
    for (const auto& item : list)
        if (item == "*") refuse_cors(std::string("\"*\" stands beside others in ") + option);
}

void check(const cors_options& o) {
    check_list("origins", o.origins, o.credentials);
    check_list("methods", o.methods, o.credentials);
    check_list("headers", o.headers, o.credentials);
    check_list("expose", o.expose, o.credentials);
    for (const auto& origin : o.origins) {
        if (origin == "null") refuse_cors("the origin \"null\" is that of every page in a sandbox, so anybody can have it");
        if (origin != "*" && !is_origin(origin))
            refuse_cors(detail::in_quotes(origin) +
                        " is no origin as browsers send it: scheme://host or scheme://host:port, lower case, without a path or "
                        "the scheme's own port");
    }
    for (const auto* list : {&o.methods, &o.headers, &o.expose})
        for (const auto& word : *list)
            if (!detail::is_token(word)) refuse_cors(detail::in_quotes(word) + " is no method or field");
    if (o.max_age && o.max_age->count() < 0) refuse_cors("max_age is negative");
}

std::string joined(const std::vector<std::string>& list) {
    std::string all;
    for (const auto& item : list) all.append(all.empty() ? "" : ", ").append(item);
    return all;
}

class cors_rules {
public:
    explicit cors_rules(cors_options o)
        : any_(is_any(o.origins)),
          credentials_(o.credentials),
          methods_(joined(o.methods)),
          headers_(joined(o.headers)),
          expose_(joined(o.expose)),
          origins_(std::move(o.origins)) {
        if (o.max_age) max_age_ = std::to_string(o.max_age->count());
    }

    response answer(const request& asked, const next& next) const {
        const auto origin = asked.header("Origin");
        if (asked.method() == "OPTIONS" && !origin.empty() && asked.headers().contains("Access-Control-Request-Method"))
            return preflight(origin);
        auto answer = next(asked);
        mark(answer.headers, origin);
        if ((any_ || allows(origin)) && !expose_.empty()) answer.headers.set("Access-Control-Expose-Headers", expose_);
        return answer;
    }

private:
    bool allows(std::string_view origin) const {
        return !origin.empty() && (any_ || std::find(origins_.begin(), origins_.end(), origin) != origins_.end());
    }

    void mark(headers& to, std::string_view origin) const {
        // Both also without an origin: a cache keeps that answer for requests with one, too.
        if (!any_) detail::add_vary(to, "Origin");
        if (!any_ && !allows(origin)) return;
        to.set("Access-Control-Allow-Origin", any_ ? "*" : origin);
        if (credentials_) to.set("Access-Control-Allow-Credentials", "true");
    }

    response preflight(std::string_view origin) const {
        response answer{.status = 204};
        mark(answer.headers, origin);
        if (!allows(origin)) return answer;
        if (!methods_.empty()) answer.headers.add("Access-Control-Allow-Methods", methods_);
        if (!headers_.empty()) answer.headers.add("Access-Control-Allow-Headers", headers_);
        if (!max_age_.empty()) answer.headers.add("Access-Control-Max-Age", max_age_);
        return answer;
    }

    bool any_, credentials_;
    std::string methods_, headers_, expose_, max_age_;
    std::vector<std::string> origins_;
};

}  // namespace

middleware cors(cors_options options) {
    check(options);
    return [rules = std::make_shared<const cors_rules>(std::move(options))](const request& asked, const next& next) {
        return rules->answer(asked, next);
    };
}

}  // namespace weft::http
