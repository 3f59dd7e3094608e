// serving.hpp - one process of a variant, from its port to its orderly end.
#pragma once

#include <functional>

#include <weft/net/endpoint.hpp>

#include "options.hpp"

namespace variants {

/// The port of one process.
struct port {
    weft::net::endpoint at;
    bool shared = false;  // with other processes, by SO_REUSEPORT
};

using on_listening = std::function<void(const weft::net::endpoint&)>;

/// Each calls `listening` as soon as connections can come, and serves until SIGINT or SIGTERM; what
/// is in flight then has the grace to finish. A second signal ends it at once.
/// \throws  std::exception naming what is wrong with which option.
void serve_by_fibers(const options&, const port&, const on_listening& listening);
void serve_by_callbacks(const options&, const port&, const on_listening& listening);

inline void serve(const options& o, const port& p, const on_listening& listening) {
    o.style == style::callbacks ? serve_by_callbacks(o, p, listening) : serve_by_fibers(o, p, listening);
}

}  // namespace variants
