// serve.hpp - the users service as a program: put together, listening, and ended in an orderly way.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <weft/http/server.hpp>
#include <weft/tls/context.hpp>

#include "store.hpp"
#include "users.hpp"

namespace users {

struct serve_options {
    std::string listen = "127.0.0.1:8080";
    std::string store = "users.db";
    unsigned workers = 0;                                   // 0: one per usable CPU, or in each of several processes its share of them
    std::chrono::nanoseconds grace = std::chrono::seconds(10);
    std::optional<unsigned> processes = {};                 // none: this process alone; 0: one per usable CPU
    std::string tls_certificate = {};                       // files in PEM; empty: no TLS
    std::string tls_key = {};
    std::string store_ca = {};                              // for rediss://; empty: the authorities of the system
    std::span<char*> words = {};                            // of main(), to start the processes with
    // What `store` means, and `store_ca`.
    std::function<std::unique_ptr<users::store>(const std::string&, const std::string&)> open = open_store;
    bool store_blocks = false;                              // it calls libraries that block: runs where their calls park
};

/// Store, routes and server in one. Inside a runtime.
class site {
public:
    /// Opens the store and takes the port.
    /// \throws  std::exception naming what is wrong with which option.
    explicit site(const serve_options&);
    /// Opens the store and serves on a port that is open.
    site(const serve_options&, weft::io::byte_listener);

    const weft::net::endpoint& local() const { return app_.local(); }
    /// \parks  until stopped.
    void serve() { app_.serve(); }
    void stop(std::chrono::nanoseconds grace) { app_.stop(grace); }
    void drain(std::chrono::nanoseconds grace) { app_.drain(grace); }

    bool is_secure() const { return tls_ != nullptr; }
    /// Reads the certificate and its key again, for new connections. \throws  as site().
    void reload_certificate();

private:
    const serve_options options_;
    const std::unique_ptr<weft::tls::context> tls_;  // null: no TLS
    const std::unique_ptr<users::store> data_;
    weft::http::server app_;
    users_service service_;
};

/// Raises the descriptor limit, starts a runtime, prints `listening on http://...` (https:// with a certificate), and serves until SIGINT or SIGTERM; what is
/// in flight then has the grace to finish. A second signal ends it at once.
/// SIGHUP reads the certificate again.
/// \throws  as site().
void serve(const serve_options&);

/// Does what serve() does, with a master and `processes` workers, which serve the port together.
/// SIGHUP replaces the workers, and no request is lost.
/// \throws  as site(), and std::runtime_error if the workers ended too often.
void serve_with_processes(const serve_options&);

}  // namespace users
