// serve.cpp - from options to a running service.
#include "serve.hpp"

#include <csignal>
#include <iostream>
#include <optional>
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

weft::tls::context_options certificate_of(const serve_options& o) {
    if (o.tls_certificate.empty() || o.tls_key.empty())
        throw std::invalid_argument("--tls-cert and --tls-key belong together; " + std::string(o.tls_key.empty() ? "--tls-key" : "--tls-cert") +
                                    " is missing");
    return {.certificate_chain = o.tls_certificate, .private_key = o.tls_key};
}

std::unique_ptr<weft::tls::context> make_context(const serve_options& o) {
    if (o.tls_certificate.empty() && o.tls_key.empty()) return nullptr;
    return std::make_unique<weft::tls::context>(certificate_of(o));
}

std::unique_ptr<store> store_of(const serve_options& o) {
    if (!o.store_blocks) return o.open(o.store, o.store_ca);
    return weft::this_fiber::as_thread([&] { return o.open(o.store, o.store_ca); });
}

weft::http::server_options server_options_of(const serve_options& o, const weft::tls::context* tls) {
    return {.max_body_bytes = longest_user_json, .as_threads = o.store_blocks, .tls = tls};
}

weft::runtime_options runtime_options_of(const serve_options& o) { return {.workers = o.workers, .hooks = o.store_blocks}; }

void say_where(const serve_options& o, const weft::net::endpoint& at) {
    // A Unix socket has no URL.
    const char* const scheme = at.host.starts_with("unix:") ? "" : o.tls_certificate.empty() ? "http://" : "https://";
    std::cout << "listening on " << scheme << to_string(at) << std::endl;  // flushed: scripts wait for it
}

}  // namespace

site::site(const serve_options& options)
    : options_(options), tls_(make_context(options)), data_(store_of(options)), service_(app_, *data_) {
    app_.listen(weft::net::endpoint::parse(options.listen), server_options_of(options, tls_.get()));
}

site::site(const serve_options& options, weft::io::byte_listener port)
    : options_(options), tls_(make_context(options)), data_(store_of(options)), service_(app_, *data_) {
    app_.listen(std::move(port), server_options_of(options, tls_.get()));
}

void site::reload_certificate() {
    if (tls_) tls_->reload(certificate_of(options_));
}

namespace {

/// Until it is stopped.
void reload_at_signals(site& here) {
    weft::io::signals reloads({SIGHUP});
    for (;;) {
        reloads.wait();
        try {
            here.reload_certificate();
        } catch (const std::exception& e) {
            std::cerr << "users: the certificate stays as it was: " << e.what() << std::endl;
        }
    }
}

}  // namespace

void serve(const serve_options& options) {
    weft::io::raise_descriptor_limit();
    weft::run([&] {
        site here(options);
        weft::io::signals requests({SIGINT, SIGTERM});
        auto certificates = here.is_secure() ? std::optional(weft::spawn({.name = "certificates"}, [&] { reload_at_signals(here); }))
                                             : std::nullopt;
        const auto ending = weft::spawn({.name = "signals"}, [&] {
            requests.wait();
            here.stop(options.grace);
            requests.wait();
            here.stop(std::chrono::nanoseconds::zero());
        });
        say_where(options, here.local());
        here.serve();
        if (certificates) certificates->request_stop();
    }, runtime_options_of(options));
}

void serve_with_processes(const serve_options& options) {
    weft::io::raise_descriptor_limit();                     // for the workers, too
    // So that a wrong option is one complaint, and not one of each worker.
    weft::run([&] {
        store_of(options);
        make_context(options);
    }, runtime_options_of(options));
    const weft::prefork::options how{
        .processes = *options.processes,
        .listen = {weft::net::endpoint::parse(options.listen)},
        .grace = options.grace,
        .on_ready = [&](auto at) { say_where(options, at.front()); },
        .runtime = runtime_options_of(options),
    };
    const int code = weft::prefork::run(static_cast<int>(options.words.size()), options.words.data(), how, [&](weft::prefork::worker& w) {
        site here(options, w.any_listener(0));
        w.serve([&] { here.serve(); }, [&](weft::prefork::ending what) {
            what == weft::prefork::ending::program ? here.stop(w.grace()) : here.drain(w.grace());
        });
    });
    if (code != 0) throw std::runtime_error("the worker processes ended too often; the lines above say why");
}

}  // namespace users
