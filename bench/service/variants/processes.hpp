// processes.hpp - one program as several processes that share a port: forked before there is a runtime.
#pragma once

#include "options.hpp"
#include "serving.hpp"

namespace variants {

/// Forks `o.processes` children, each of which serves with a runtime and a port of its own
/// (SO_REUSEPORT), and calls `listening` once all of them listen. SIGINT and SIGTERM are passed on.
/// If a child ends by itself, the others are asked to end.
/// \returns  0 if all have ended in order, else 1.
/// \throws   std::exception if the port cannot be had.
int serve_by_processes(const options& o, const weft::net::endpoint& at, const on_listening& listening);

}  // namespace variants
