// router.hpp - chooses the handler of a request by its method and by a pattern of its path.
//
// A pattern is a path whose segments are literals or {name}. A {name} matches one segment that is
// not empty. The last segment may be {name...}, which matches the rest of the path with its slashes
// and may be empty: "/files/{path...}" matches "/files/" and "/files/a/b" but not "/files". In each
// segment a literal wins over a name, and a name over the rest. A route that matches the path but
// not the method does not hide a route that matches both.
//
//  request                                     answered by
//  no pattern matches the path                 not_found(), else 404
//  the path matches, the method does not       405 with Allow
//  OPTIONS of such a path, and OPTIONS *       204 with Allow; OPTIONS * without it where a route is
//                                              for every method
//  HEAD                                        its own route, else that of GET without its body
//  the path has a '%' that starts no escape    400
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <weft/detail/export.hpp>
#include <weft/http/files.hpp>
#include <weft/http/message.hpp>

namespace weft::http {

/// Called on the connection's fiber, so it may park. An exception it throws becomes a 500. While it
/// runs, the fiber has the name of the route, its method and pattern, so that dumps and reports of
/// hogs name the handler. The fiber keeps this name while the connection waits for its next
/// request.
using handler = std::function<response(const request&)>;

/// Called before the body of the request has arrived, to read it while it does: q.body() is empty,
/// and max_body_bytes is no limit. If the handler returns without reading all of it, the connection
/// is closed after the answer, unless all of it has arrived. So an upload can be refused by its
/// head; a client that sent "Expect: 100-continue" has not sent it by then.
///
///     routes.post("/upload", [](const weft::http::request& q, weft::http::body_reader& in) {
///         if (!allowed(q)) return weft::http::text(403, "no");
///         std::array<std::byte, 65536> piece;
///         while (const auto n = in.read_some(piece)) store(std::span(piece).first(n));
///         return weft::http::text(200, "stored");
///     });
using body_handler = std::function<response(const request&, body_reader&)>;

class next;

/// Called in place of what it wraps. It may look at the request, answer by itself, or call
/// next(request), which runs the middleware added after it and finally the route's handler; and it
/// may change the answer.
using middleware = std::function<response(const request&, const next&)>;

/// A set of routes, for http::server or on its own. Move-only.
///
///     weft::http::router routes;
///     routes.get("/users/{id}", [](const weft::http::request& r) {
///         return weft::http::text(200, r.path("id"));
///     });
class WEFT_EXPORT router {
public:
    router();
    ~router();
    router(router&&) noexcept;
    router& operator=(router&&) noexcept;

    /// Adds a route for a method; "" stands for every method. Routes must not be added while
    /// requests are handled.
    ///
    /// \throws  std::invalid_argument naming the pattern, if the pattern is malformed or the route
    ///          exists already.
    router& add(std::string_view method, std::string_view pattern, handler handle);
    router& add(std::string_view method, std::string_view pattern, body_handler handle);

    router& get(std::string_view pattern, handler handle) { return add("GET", pattern, std::move(handle)); }
    router& post(std::string_view pattern, handler handle) { return add("POST", pattern, std::move(handle)); }
    router& post(std::string_view pattern, body_handler handle) { return add("POST", pattern, std::move(handle)); }
    router& put(std::string_view pattern, handler handle) { return add("PUT", pattern, std::move(handle)); }
    router& put(std::string_view pattern, body_handler handle) { return add("PUT", pattern, std::move(handle)); }
    router& del(std::string_view pattern, handler handle) { return add("DELETE", pattern, std::move(handle)); }
    router& patch(std::string_view pattern, handler handle) { return add("PATCH", pattern, std::move(handle)); }
    router& patch(std::string_view pattern, body_handler handle) { return add("PATCH", pattern, std::move(handle)); }
    router& any(std::string_view pattern, handler handle) { return add("", pattern, std::move(handle)); }
    router& any(std::string_view pattern, body_handler handle) { return add("", pattern, std::move(handle)); }

    /// Serves the files of a directory, and of those in it, for GET and HEAD: adds the route
    /// `PREFIX/{path...}`, so the prefix is a pattern of its own.
    ///
    ///     routes.files("/static", "/srv/www", {.cache = std::chrono::hours(1)});
    ///
    /// A file is sent with its type, by the extension, and with an ETag and a date, by which a
    /// client need not load it again and can continue a download. Everything that is no regular
    /// file in the directory is answered by 404: "..", names that begin with a dot, links that lead
    /// out, every absolute link (also one that stays inside), devices. The path of a directory
    /// without the last '/' is answered by 301. A file that changes should be replaced by rename:
    /// otherwise an answer that is being sent may be cut short, or mixed from both versions.
    ///
    /// \throws  std::system_error if it is no directory that can be opened, which is done here, so
    ///          that the name is not looked up again; std::invalid_argument naming the option or the
    ///          pattern.
    router& files(std::string_view prefix, const std::string& directory, files_options options = {});

    /// Sets the handler for paths that no pattern matches, in place of the default 404. A second
    /// call replaces the first. A path that is known with other methods is still answered by 405,
    /// and OPTIONS by 204.
    ///
    /// \throws  std::invalid_argument if the handler is empty.
    router& not_found(handler handle);

    /// Wraps every request, whatever answers it: a route, not_found(), or the router's own 400, 404
    /// and 405. The middleware added first is the outermost. An exception of a handler is thrown
    /// out of next(). Middleware must not be added while requests are handled.
    ///
    /// \throws  std::invalid_argument if the middleware is empty.
    router& use(middleware around);

    /// Runs the middleware, fills in the path parameters and calls the handler.
    ///
    /// \throws  what the middleware and the handler throw.
    /// \parks   as they do.
    response handle(request& asked) const;

    /// Whether the route that would answer reads the body by itself. A server asks before the body
    /// has arrived; middleware that changes the path then must pass the request to such a route, or
    /// handle() throws std::logic_error.
    bool reads_body(const request& asked) const;

private:
    friend class next;
    struct node;

    router& add(std::string_view method, std::string_view pattern, handler handle, bool reads_body);

    response dispatch(request& asked) const;

    std::unique_ptr<node> root_;
    bool any_reads_body_ = false;
    std::vector<std::string> methods_;  // of all routes, for "OPTIONS *"
    handler not_found_;
    std::vector<middleware> around_;
};

/// With this a middleware calls what it wraps. It is valid during the middleware's call.
class WEFT_EXPORT next {
public:
    next(const next&) = delete;
    next& operator=(const next&) = delete;

    /// Runs everything further inside and returns its answer. The route is chosen by the request
    /// passed here, which may be a changed copy; path parameters are filled into the request that
    /// handle() received. A second call runs everything again.
    ///
    /// \throws  what the handler and the inner middleware throw.
    /// \parks   as they do.
    response operator()(const request& asked) const;

private:
    friend class router;
    next(const router& r, request& original, std::size_t index) noexcept : router_(r), original_(original), index_(index) {}

    const router& router_;
    request& original_;
    // The index of the middleware that operator() calls; past the last one, the routes are next.
    std::size_t index_;
};

}  // namespace weft::http
