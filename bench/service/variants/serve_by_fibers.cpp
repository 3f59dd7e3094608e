// serve_by_fibers.cpp - the styles on http::server.
#include <csignal>
#include <optional>

#include <weft/fiber.hpp>
#include <weft/io/signal.hpp>
#include <weft/runtime.hpp>

#include "routes.hpp"
#include "serving.hpp"
#include "stores.hpp"
#include "user_json.hpp"
#include "users.hpp"

namespace variants {
namespace {

/// The store, the server, and the routes in whichever style.
class site {
public:
    explicit site(const options& o) : data_(make_store(o)) {
        switch (o.style) {
            case style::bare: routes_ = add_bare_routes(app_, *data_); break;
            case style::promises: routes_ = add_promise_routes(app_, *data_); break;
            case style::framework: routes_ = add_framework_routes(app_, *data_); break;
            case style::fibers:
            case style::callbacks: plain_.emplace(app_, *data_); break;
        }
    }

    weft::http::server& app() { return app_; }

private:
    const std::unique_ptr<users::store> data_;
    weft::http::server app_;
    std::unique_ptr<routes> routes_;
    std::optional<users::users_service> plain_;
};

}  // namespace

void serve_by_fibers(const options& o, const port& p, const on_listening& listening) {
    weft::run(
        [&] {
            site here(o);
            auto& app = here.app();
            weft::io::signals requests({SIGINT, SIGTERM});
            app.listen(weft::tcp::listener(p.at, {.reuse_port = p.shared}), {.max_body_bytes = users::longest_user_json});
            const auto ending = weft::spawn({.name = "signals"}, [&] {
                requests.wait();
                app.stop(o.grace);
                requests.wait();
                app.stop();
            });
            listening(app.local());
            app.serve();
        },
        {.workers = o.workers});
}

}  // namespace variants
