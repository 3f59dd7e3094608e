// router.cpp - patterns as a tree of path segments, walked with backtracking.
#include <weft/http/router.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <weft/fiber.hpp>

#include "base/in_quotes.hpp"
#include "http/ascii.hpp"
#include "http/uri.hpp"

namespace weft::http {
namespace {

// chosen; the values are on the stack while the tree is walked
constexpr std::size_t max_parameters = 16;

struct route {
    std::string method;  // empty: every method
    // Method and pattern: the name of a fiber that runs the handler.
    std::string title;
    std::vector<std::string> names;  // names of the parameters, in path order
    handler handle;
    bool reads_body;
};

/// Makes a handler that gives `handle` the body that arrives, or the body that is there.
handler with_reader(body_handler handle) {
    return [handle = std::move(handle)](const request& q) {
        if (auto* const connection = q.parts().peer.lent(); connection && connection->arriving)
            return handle(q, connection->reader.emplace(*connection->arriving));
        const auto reader = std::make_shared<body_reader>(std::string_view(q.body()));
        auto answer = handle(q, *reader);
        if (answer.stream) answer.stream = [reader, writes = std::move(answer.stream)](body_writer& to) { writes(to); };
        return answer;
    };
}

/// Takes the next segment of a path that begins with '/'.
std::string_view next_segment(std::string_view& path) noexcept {
    path.remove_prefix(1);
    const auto segment = path.substr(0, path.find('/'));
    path.remove_prefix(segment.size());
    return segment;
}

bool is_parameter(std::string_view segment) noexcept {
    return segment.size() > 2 && segment.front() == '{' && segment.back() == '}';
}

bool is_rest(std::string_view segment) noexcept { return is_parameter(segment) && segment.ends_with("...}"); }

std::string_view name_of(std::string_view parameter) noexcept {
    return parameter.substr(1, parameter.size() - (is_rest(parameter) ? 5 : 2));
}

std::string title_of(std::string_view method, std::string_view pattern) {
    std::string title(method.empty() ? "any" : method);
    return title.append(" ").append(pattern);
}

bool means(std::string_view segment, std::string_view literal) {
    return segment == literal || (segment.find('%') != segment.npos && detail::percent_decoded(segment) == literal);
}

[[noreturn]] void reject(std::string_view pattern, const char* why) {
    throw std::invalid_argument("weft: route pattern " + detail::in_quotes(pattern) + ": " + why);
}

void check_segment(std::string_view pattern, std::string_view segment, const std::vector<std::string>& names) {
    if (segment.find('*') != segment.npos)
        reject(pattern, "'*' is no pattern; write {name} for one segment, {name...} for the rest of the path");
    if (!is_parameter(segment)) {
        if (segment.find_first_of("{}?#") != segment.npos) reject(pattern, "a segment is literal, one {name}, or {name...}");
        return;
    }
    const auto name = name_of(segment);
    if (!detail::is_token(name)) reject(pattern, "a name is made of letters, digits, '-' and '_'");
    if (name.ends_with('.')) reject(pattern, "three dots stand for the rest of the path: {name...}");
    if (std::find(names.begin(), names.end(), name) != names.end()) reject(pattern, "the same name twice");
    if (names.size() == max_parameters) reject(pattern, "more than 16 parameters");
}

}  // namespace

struct router::node {
    std::vector<std::pair<std::string, std::unique_ptr<node>>> literals;
    std::unique_ptr<node> parameter;
    std::unique_ptr<node> rest;              // has no children
    std::vector<route> routes;

    node& literal(std::string_view segment) {
        for (auto& [text, child] : literals)
            if (text == segment) return *child;
        literals.emplace_back(std::string(segment), std::make_unique<node>());
        return *literals.back().second;
    }

    const route* for_method(std::string_view method) const noexcept {
        for (const auto& r : routes)
            if (r.method == method) return &r;
        if (method == "HEAD") return for_method("GET");
        for (const auto& r : routes)
            if (r.method.empty()) return &r;
        return nullptr;
    }
};

namespace {

/// The methods as Allow lists them; OPTIONS is always answered.
std::string listed(std::vector<std::string_view> methods) {
    methods.push_back("OPTIONS");
    std::sort(methods.begin(), methods.end());
    methods.erase(std::unique(methods.begin(), methods.end()), methods.end());
    std::string list;
    for (auto m : methods) list.append(list.empty() ? "" : ", ").append(m);
    return list;
}

/// The answer to OPTIONS where no route has one.
response options_are(std::string allowed) {
    response answer{.status = 204};
    answer.headers.add("Allow", allowed);
    return answer;
}

/// One walk down the tree for one request.
template <class Node>
struct search {
    std::string_view method;
    std::array<std::string_view, max_parameters> values{};
    std::vector<const Node*> refusing{};  // nodes that match the path but not the method

    const route* walk(const Node& at, std::string_view path, std::size_t depth) {
        if (path.empty()) return accept(at);
        const auto rest = path.substr(1);
        const auto segment = next_segment(path);
        for (const auto& [text, child] : at.literals)
            if (means(segment, text))
                if (const auto* found = walk(*child, path, depth)) return found;
        if (at.parameter && !segment.empty()) {
            values[depth] = segment;
            if (const auto* found = walk(*at.parameter, path, depth + 1)) return found;
        }
        if (!at.rest) return nullptr;
        values[depth] = rest;
        return accept(*at.rest);
    }

    const route* accept(const Node& at) {
        const auto* found = at.for_method(method);
        if (!found && !at.routes.empty()) refusing.push_back(&at);
        return found;
    }

    std::string allowed() const {
        std::vector<std::string_view> methods;
        for (const auto* at : refusing)
            for (const auto& r : at->routes) {
                methods.push_back(r.method);
                if (r.method == "GET") methods.push_back("HEAD");
            }
        return listed(std::move(methods));
    }
};

bool escapes_are_whole(std::string_view path) { return path.find('%') == path.npos || detail::percent_decoded(path).has_value(); }

}  // namespace

router::router() : root_(std::make_unique<node>()) {}
router::~router() = default;
router::router(router&&) noexcept = default;
router& router::operator=(router&&) noexcept = default;

router& router::add(std::string_view method, std::string_view pattern, handler handle) {
    return add(method, pattern, std::move(handle), false);
}

router& router::add(std::string_view method, std::string_view pattern, body_handler handle) {
    if (!handle) reject(pattern, "no handler");
    return add(method, pattern, with_reader(std::move(handle)), true);
}

router& router::add(std::string_view method, std::string_view pattern, handler handle, bool reads_body) {
    if (!method.empty() && !detail::is_token(method)) reject(pattern, "its method is no token");
    if (!pattern.starts_with('/')) reject(pattern, "it must begin with '/'");
    if (!handle) reject(pattern, "no handler");
    route added{.method = std::string(method),
                .title = title_of(method, pattern),
                .names = {},
                .handle = std::move(handle),
                .reads_body = reads_body};
    node* at = root_.get();
    for (auto rest = pattern; !rest.empty();) {
        const auto segment = next_segment(rest);
        check_segment(pattern, segment, added.names);
        if (!is_parameter(segment)) {
            at = &at->literal(segment);
            continue;
        }
        added.names.emplace_back(name_of(segment));
        if (is_rest(segment) && !rest.empty()) reject(pattern, "{name...} must be the last segment");
        auto& child = is_rest(segment) ? at->rest : at->parameter;
        if (!child) child = std::make_unique<node>();
        at = child.get();
    }
    for (const auto& r : at->routes)
        if (r.method == method) reject(pattern, "routed already for this method");
    at->routes.push_back(std::move(added));
    for (const std::string_view known : {method, method == "GET" ? std::string_view("HEAD") : method})
        if (std::find(methods_.begin(), methods_.end(), known) == methods_.end()) methods_.emplace_back(known);
    any_reads_body_ |= reads_body;
    return *this;
}

bool router::reads_body(const request& asked) const {
    if (!any_reads_body_) return false;
    const auto path = asked.path();
    if (!path.starts_with('/') || !escapes_are_whole(path)) return false;
    const auto* found = search<node>{.method = asked.method()}.walk(*root_, path, 0);
    return found && found->reads_body;
}

router& router::not_found(handler handle) {
    if (!handle) throw std::invalid_argument("weft: http: not_found() without a handler");
    not_found_ = std::move(handle);
    return *this;
}

router& router::use(middleware around) {
    if (!around) throw std::invalid_argument("weft: http: use() without a middleware");
    around_.push_back(std::move(around));
    return *this;
}

response router::handle(request& asked) const { return around_.empty() ? dispatch(asked) : next(*this, asked, 0)(asked); }

response next::operator()(const request& asked) const {
    if (index_ < router_.around_.size()) return router_.around_[index_](asked, next(router_, original_, index_ + 1));
    if (&asked == &original_) return router_.dispatch(original_);
    const auto changed = std::make_shared<request>(asked);
    changed->parts().peer.lend(std::as_const(original_).parts().peer.lent());
    auto answer = router_.dispatch(*changed);
    // Its function may use the handler's request.
    if (answer.stream) answer.stream = [changed, writes = std::move(answer.stream)](body_writer& to) { writes(to); };
    return answer;
}

response router::dispatch(request& asked) const {
    const auto path = asked.path();
    if (!escapes_are_whole(path)) return text(400, "400 Bad Request: '%' without two hexadecimal digits\n");
    search<node> tour{.method = asked.method()};
    const auto* found = path.starts_with('/') ? tour.walk(*root_, path, 0) : nullptr;
    if (asked.method() == "OPTIONS" && path == "*") {
        // A route for every method takes more than any list could name.
        if (std::find(methods_.begin(), methods_.end(), "") != methods_.end()) return response{.status = 204};
        return options_are(listed({methods_.begin(), methods_.end()}));
    }
    if (!found && tour.refusing.empty()) return not_found_ ? not_found_(asked) : text(404, "404 Not Found\n");
    if (!found && asked.method() == "OPTIONS") return options_are(tour.allowed());
    if (!found) {
        auto refused = text(405, "405 Method Not Allowed\n");
        refused.headers.add("Allow", tour.allowed());
        return refused;
    }
    auto& parameters = asked.parts_.path_parameters;
    parameters.clear();
    for (std::size_t i = 0; i < found->names.size(); ++i)
        parameters.emplace_back(found->names[i], detail::percent_decoded(tour.values[i]).value_or(std::string()));
    if (auto* const connection = asked.parts_.peer.lent()) {
        if (connection->arriving && !found->reads_body)
            throw std::logic_error("weft: http: middleware passes a request whose body has not been read to " + found->title +
                                   ", which collects bodies");
        if (connection->route != found) {
            connection->route = found;
            this_fiber::set_name(found->title);
        }
    }
    return found->handle(asked);
}

}  // namespace weft::http
