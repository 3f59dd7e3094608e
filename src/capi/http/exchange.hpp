// exchange.hpp - a request and its answer, as the handlers of C see them.
#pragma once

#include <weft/c_http.h>

#include <weft/http/message.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>

struct weft_http_request {
    const weft::http::request& asked;
    weft::http::body_reader& body;
    std::size_t bytes_left;  // of the body, until max_body_bytes
    // Of the call that read the body. What the handler returns then counts less: the answer is that of
    // the failure.
    std::exception_ptr failure = {};
    std::optional<weft::http::response> answer = {};
};

struct weft_http_body {
    weft::http::body_writer& out;
    weft_http_request& of;
    std::exception_ptr failure = {};
};

namespace weft::capi {

/// A route of C.
struct c_handler {
    weft_http_handler f;
    void* user;
    std::size_t max_body_bytes;

    /// \throws  what the server makes the answer of, if the handler fails.
    http::response operator()(const http::request& asked, http::body_reader& body) const;
};

/// Returns if what a handler or writer returned is WEFT_OK. \throws the failure that it reports
/// otherwise; `known` in its place, if there is one.
void check_result(int result, unsigned failures_before, const std::exception_ptr& known);

}  // namespace weft::capi
