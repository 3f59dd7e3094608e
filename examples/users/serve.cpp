// serve.cpp - from options to a running service.
#include "serve.hpp"

#include <csignal>
#include <iostream>
#include <stdexcept>

#include <weft/fiber.hpp>
#include <weft/io/limits.hpp>
#include <weft/io/signal.hpp>
#include <weft/prefork.hpp>
#include <weft/runtime.hpp>

#include "user_json.hpp"

namespace users {

namespace {

std::unique_ptr<store> store_of(const serve_options& options) {
    if (!options.store_blocks) return options.open(options.store);
    return weft::this_fiber::as_thread([&] { return options.open(options.store); });
}

weft::http::server_options server_options_of(const serve_options& options) {
    return {.max_body_bytes = longest_user_json, .as_threads = options.store_blocks};
}

weft::runtime_options runtime_options_of(const serve_options& options) {
    return {.workers = options.workers, .hooks = options.store_blocks};
}

}  // namespace

site::site(const serve_options& options) : data_(store_of(options)), service_(app_, *data_) {
    app_.listen(weft::net::endpoint::parse(options.listen), server_options_of(options));
}

site::site(const serve_options& options, weft::tcp::listener port) : data_(store_of(options)), service_(app_, *data_) {
    app_.listen(std::move(port), server_options_of(options));
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
    }, runtime_options_of(options));
}

void serve_with_processes(const serve_options& options) {
    weft::io::raise_descriptor_limit();                     // for the workers, too
    weft::run([&] { store_of(options); }, runtime_options_of(options));   // so that a wrong one is one complaint, and not one of each worker
    const weft::prefork::options how{
        .processes = *options.processes,
        .listen = {weft::net::endpoint::parse(options.listen)},
        .grace = options.grace,
        .on_ready = [](auto at) { std::cout << "listening on http://" << to_string(at.front()) << std::endl; },
        .runtime = runtime_options_of(options),
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
