// router.hpp - which handler answers which request: by method and by a pattern of the path.
//
// A pattern is a path whose segments are literal or a {name}, which matches one segment that is not empty. Literals win over
// names; a route that knows the path but not the method does not hide one that knows both.
//
//  asked                                       answered by
//  a path no pattern matches                   404
//  a path that matches, with another method    405 with Allow
//  HEAD                                        its own route, else that of GET; the server drops the body
//  a path with a '%' that starts no escape     400
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include <weft/http/message.hpp>

namespace weft::http {

/// Called on the connection's fiber, so it may wait for anything. What it throws becomes a 500.
using handler = std::function<response(const request&)>;

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

    /// Fills in the path parameters and calls the handler.
    ///
    /// \throws  what the handler throws.
    /// \parks   as the handler does.
    response handle(request& asked) const;

private:
    struct node;
    std::unique_ptr<node> root_;
};

}  // namespace weft::http
