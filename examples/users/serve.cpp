// serve.cpp - from options to a running service.
#include "serve.hpp"

#include <csignal>
#include <iostream>

#include <weft/fiber.hpp>
#include <weft/io/limits.hpp>
#include <weft/io/signal.hpp>
#include <weft/runtime.hpp>

#include "user_json.hpp"

namespace users {

site::site(const serve_options& options) : data_(open_store(options.store)), service_(app_, *data_) {
    app_.listen(weft::net::endpoint::parse(options.listen), {.max_body_bytes = longest_user_json});
}

void serve(const serve_options& options) {
    weft::io::raise_descriptor_limit();
    weft::run([&] {
        site here(options);
        weft::io::signals requests({SIGINT, SIGTERM});
        const auto ending = weft::spawn({.name = "signals"}, [&] {
            requests.wait();
            here.stop(options.grace);
            requests.wait();
            here.stop(std::chrono::nanoseconds::zero());
        });
        std::cout << "listening on http://" << to_string(here.local()) << std::endl;  // flushed: scripts wait for it
        here.serve();
    }, {.workers = options.workers});
}

}  // namespace users
