// serve.cpp - from options to a running service.
#include "serve.hpp"

#include <csignal>
#include <iostream>
#include <stdexcept>
#include <string>

#include <weft/fiber.hpp>
#include <weft/io/limits.hpp>
#include <weft/io/signal.hpp>
#include <weft/prefork.hpp>
#include <weft/runtime.hpp>

#include "user_json.hpp"

namespace users {

namespace {

/// A URL where there is one: a Unix socket has none.
std::string shown(const weft::net::endpoint& at) { return (at.host.starts_with("unix:") ? "" : "http://") + to_string(at); }

}  // namespace

site::site(const serve_options& options) : data_(open_store(options.store)), service_(app_, *data_) {
    app_.listen(weft::net::endpoint::parse(options.listen), {.max_body_bytes = longest_user_json});
}

site::site(const serve_options& options, weft::tcp::listener port) : data_(open_store(options.store)), service_(app_, *data_) {
    app_.listen(std::move(port), {.max_body_bytes = longest_user_json});
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
        std::cout << "listening on " << shown(here.local()) << std::endl;  // flushed: scripts wait for it
        here.serve();
    }, {.workers = options.workers});
}

void serve_with_processes(const serve_options& options) {
    weft::io::raise_descriptor_limit();                     // for the workers, too
    weft::run([&] { open_store(options.store); });          // so that a wrong one is one complaint, and not one of each worker
    const weft::prefork::options how{
        .processes = *options.processes,
        .listen = {weft::net::endpoint::parse(options.listen)},
        .grace = options.grace,
        .on_ready = [](auto at) { std::cout << "listening on " << shown(at.front()) << std::endl; },
        .runtime = {.workers = options.workers},
    };
    const int code = weft::prefork::run(static_cast<int>(options.words.size()), options.words.data(), how, [&](weft::prefork::worker& w) {
        site here(options, w.listener(0));
        w.serve([&] { here.serve(); }, [&](weft::prefork::ending what) {
            what == weft::prefork::ending::program ? here.stop(w.grace()) : here.drain(w.grace());
        });
    });
    if (code != 0) throw std::runtime_error("the worker processes ended too often; the lines above say why");
}

}  // namespace users
