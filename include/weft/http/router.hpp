// router.hpp - which handler answers which request: by method and by a pattern of the path.
//
// A pattern is a path whose segments are literal or a {name}, which matches one segment that is not empty. The last segment may be
// {name...}, which matches the rest of a path, with its slashes; it may be empty: "/files/{path...}" matches "/files/" and "/files/a/b",
// not "/files". Segment by segment, literals win over names, and names over the rest; a route that knows the path but not the method
// does not hide one that knows both.
//
//  asked                                       answered by
//  a path no pattern matches                   not_found(), else 404
//  a path that matches, with another method    405 with Allow
//  HEAD                                        its own route, else that of GET; the server drops the body
//  a path with a '%' that starts no escape     400
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include <weft/http/message.hpp>

namespace weft::http {

/// Called on the connection's fiber, so it may wait for anything. What it throws becomes a 500. The fiber's name is then the route's method
/// and pattern, which says in reports of hogs and in dumps whose handler it is; it stays when the connection waits for its next request.
using handler = std::function<response(const request&)>;

class next;

/// Called instead of what it goes around: it may look at the request, answer by itself, call next(request), which goes on to the
/// middleware that was added after it and in the end to the route's handler, and change the answer.
using middleware = std::function<response(const request&, const next&)>;

class router {
public:
    router();
    ~router();
    router(router&&) noexcept;
    router& operator=(router&&) noexcept;

    /// Routes a method, "" for every one. Patterns are added before requests are handled, not meanwhile.
    ///
    /// \throws  std::invalid_argument naming the pattern, if it is malformed or the route is there already.
    router& add(std::string_view method, std::string_view pattern, handler handle);

    router& get(std::string_view pattern, handler handle) { return add("GET", pattern, std::move(handle)); }
    router& post(std::string_view pattern, handler handle) { return add("POST", pattern, std::move(handle)); }
    router& put(std::string_view pattern, handler handle) { return add("PUT", pattern, std::move(handle)); }
    router& del(std::string_view pattern, handler handle) { return add("DELETE", pattern, std::move(handle)); }
    router& patch(std::string_view pattern, handler handle) { return add("PATCH", pattern, std::move(handle)); }
    router& any(std::string_view pattern, handler handle) { return add("", pattern, std::move(handle)); }

    /// Answers the paths that no pattern matches, in place of the 404 that is answered otherwise. A second one replaces the first.
    /// A path that is known with other methods is a 405 as before.
    ///
    /// \throws  std::invalid_argument if there is no handler.
    router& not_found(handler handle);

    /// Goes around every request, whatever answers it: a route, not_found(), or the router's own 400, 404 and 405. What was added first is
    /// outermost. A handler's exception comes out of next(). Added before requests are handled, not meanwhile.
    ///
    /// \throws  std::invalid_argument if there is none.
    router& use(middleware around);

    /// Runs the middleware, fills in the path parameters and calls the handler.
    ///
    /// \throws  what they throw.
    /// \parks   as they do.
    response handle(request& asked) const;

private:
    friend class next;
    struct node;

    response dispatch(request& asked) const;

    std::unique_ptr<node> root_;
    handler not_found_;
    std::vector<middleware> around_;
};

/// What a middleware goes on by. Lives as long as the middleware's call.
class next {
public:
    next(const next&) = delete;
    next& operator=(const next&) = delete;

    /// The answer of everything further inside. It is chosen by the request that is passed, which may be a changed copy; path parameters
    /// are filled in in the request that came from outside. Called twice, it is answered twice.
    ///
    /// \throws  what the handler and the middleware inside throw.
    /// \parks   as they do.
    response operator()(const request& asked) const;

private:
    friend class router;
    next(const router& r, request& original, std::size_t index) noexcept : router_(r), original_(original), index_(index) {}

    const router& router_;
    request& original_;
    std::size_t index_;  // of the middleware that operator() calls; past them all: the routes
};

}  // namespace weft::http
