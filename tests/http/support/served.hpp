// served.hpp - the fixture of server tests: a runtime, a server with a few routes, and clients on plain threads.
#pragma once

#include <weft/http/server.hpp>

#include <atomic>
#include <optional>

#include "http/support/raw_client.hpp"
#include "no_leaks.hpp"

namespace weft::test {

class served : public on_workers {
protected:
    /// Routes: see served.cpp.
    served();
    ~served() override;

    /// Listens on a free port and serves in a fiber.
    void start(http::server_options options = {});

    /// stop(grace) and the end of serve().
    void stop(std::chrono::nanoseconds grace = std::chrono::seconds(5));

    raw_client connect() { return raw_client(app.local().port); }

    watched_runtime rt;
    http::server app;
    std::optional<fiber<>> serving;
    std::atomic<int> waiting{0};           // handlers of /wait that have begun
    std::atomic<bool> open{false};         // lets them go on
    std::atomic<int> cancelled_handlers{0};
};

}  // namespace weft::test
