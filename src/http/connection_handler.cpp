// connection_handler.cpp - calls the handler of a request, and answers in its place if it fails.
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <weft/deadline.hpp>
#include <weft/fiber.hpp>

#include "http/connection.hpp"

namespace weft::detail {
namespace {

http::response checked_upgrade(const http::request& q, http::response r) {
    if (r.status != 101) throw std::out_of_range("weft: an upgrade with status " + std::to_string(r.status) + ", not 101");
    if (q.parts().minor_version == 0 || q.method() == "HEAD")
        return http::text(400, "400 Bad Request: the protocol cannot be changed by this request\n");
    return r;
}

}  // namespace

http::response http_connection::handle(http::request& q) {
    const auto& limit = service_.options.request_timeout;
    const auto until = limit == forever ? never : deadline_after(limit);
    try {
        std::optional<deadline_frame> frame;
        if (until != never) frame.emplace(until);
        auto response = service_.options.as_threads ? this_fiber::as_thread([&] { return service_.routes.handle(q); })
                                                    : service_.routes.handle(q);
        if (response.upgrade) return checked_upgrade(q, std::move(response));
        if (response.status >= 200 && response.status <= 999) return response;
        throw std::out_of_range("weft: no final status: " + std::to_string(response.status));
    } catch (const cancelled&) {
        // This fiber was stopped: no answer is sent.
        if (stop_is_pending()) throw;
        return interrupted(q, until);
    } catch (const http::body_error& e) {
        return unreadable(e);
    } catch (...) {
        service_.report(q, std::current_exception());
    }
    return http::text(500, "500 Internal Server Error\n");
}

/// A handler ended by `cancelled` although this fiber was not stopped: its time limit passed, or it
/// let the `cancelled` of another fiber out.
http::response http_connection::interrupted(const http::request& q, time_point until) {
    if (until != never && clock::now() >= until) {
        service_.report(q, std::make_exception_ptr(timeout_error("weft: http: the handler took longer than request_timeout")));
        return http::text(503, "503 Service Unavailable\n");
    }
    service_.report(
        q, std::make_exception_ptr(std::runtime_error("weft: http: the handler ended by weft::cancelled, but was not stopped")));
    return http::text(500, "500 Internal Server Error\n");
}

}  // namespace weft::detail
