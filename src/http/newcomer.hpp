// newcomer.hpp - a client that was accepted and does not have a fiber yet.
#pragma once

#include <weft/io/byte_stream.hpp>

#include "http/service.hpp"

namespace weft::detail {

/// The client is served, or else turned away by the destructor; so if the spawn fails, it gets a
/// 503.
class newcomer {
public:
    newcomer(http_service& service, http_service::place place, io::byte_stream peer) noexcept
        : service_(&service), place_(std::move(place)), peer_(std::move(peer)) {}
    newcomer(newcomer&&) noexcept = default;
    newcomer& operator=(newcomer&&) = delete;
    ~newcomer() {
        if (peer_.is_open()) turn_away();
    }

    /// \parks   until the connection has ended.
    /// \throws  weft::cancelled if a handler was stopped.
    void serve();

private:
    void turn_away() noexcept;

    http_service* service_;
    http_service::place place_;
    io::byte_stream peer_;
};

}  // namespace weft::detail
