// newcomer.hpp - a client that has no fiber yet: it was accepted, or was idle and says something.
#pragma once

#include <memory>
#include <optional>

#include <weft/io/byte_stream.hpp>

#include "http/service.hpp"

namespace weft::detail {

/// What a client goes on as without its fiber: one of the two, or none.
struct fallen_asleep {
    std::unique_ptr<idle_connection> idle = {};
    std::unique_ptr<idle_upgraded> upgraded = {};
};

/// The client is served, or else turned away by the destructor; so if the spawn fails, it gets a
/// 503.
class newcomer {
public:
    newcomer(http_service& service, http_service::place place, io::byte_stream peer) noexcept
        : service_(&service), place_(std::move(place)), peer_(std::move(peer)) {}
    newcomer(http_service& service, idle_connection& was_idle) noexcept
        : newcomer(service, std::move(was_idle.place), std::move(was_idle.stream)) {
        idle_until_ = was_idle.limit();
        has_timed_out_ = was_idle.has_timed_out();
    }
    newcomer(http_service& service, idle_upgraded& was_idle) noexcept
        : newcomer(service, static_cast<idle_connection&>(was_idle)) {
        upgraded_ = std::move(was_idle.upgraded);
    }
    newcomer(newcomer&&) noexcept = default;
    newcomer& operator=(newcomer&&) = delete;
    ~newcomer() {
        if (peer_.is_open()) turn_away();
    }

    /// \parks    until the connection has ended, or has been idle for cold_after.
    /// \returns  the idle connection, if it goes on.
    /// \throws   weft::cancelled if a handler was stopped.
    fallen_asleep serve();

private:
    /// \returns whether the connection goes on.
    bool open_layer();
    std::unique_ptr<idle_upgraded> serve_upgraded();
    void report_upgraded(std::exception_ptr why) const noexcept;
    bool call_upgraded(http::upgraded& u);
    bool waits_here(http::upgraded& u, time_point until);
    void turn_away() noexcept;

    http_service* service_;
    http_service::place place_;
    io::byte_stream peer_;
    std::optional<time_point> idle_until_;
    std::unique_ptr<upgrade_request> upgraded_;
    bool has_timed_out_ = false;
};

}  // namespace weft::detail
