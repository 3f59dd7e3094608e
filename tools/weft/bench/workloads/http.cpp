// http.cpp - the HTTP server with a handler that does nothing: what the server itself costs.
#include <weft/http/server.hpp>

#include "load.hpp"
#include "session.hpp"
#include "workloads.hpp"

namespace bench {

void http_workload(session& s) {
    measure_server(s, {"/", s.n(100'000)}, [](const auto& use) {
        weft::http::server app;
        app.get("/", [](const weft::http::request&) { return weft::http::text(200, "hello"); });
        app.listen({.host = "127.0.0.1", .port = 0});
        served here{app.local(), [&] { app.serve(); }, [&] { app.stop(); }};
        use(here);
    });
}

}  // namespace bench
