// server.cpp - the HTTPS server of weft that bench/tls/run measures: weft_bench_tls PORT CERTIFICATE KEY FOLDER, on one worker.
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>

#include <weft/http/server.hpp>
#include <weft/io/limits.hpp>
#include <weft/net/tls.hpp>
#include <weft/runtime.hpp>

int main(int argc, char** argv) {
    if (argc != 5) {
        std::cerr << "usage: weft_bench_tls PORT CERTIFICATE KEY FOLDER\n";
        return 2;
    }
    try {
        weft::io::raise_descriptor_limit();
        weft::run(
            [&] {
                const weft::tls::context context({.certificate_chain = argv[2], .private_key = argv[3]});
                weft::http::server app;
                app.get("/hello", [](auto&) { return weft::http::text(200, "hello\n"); });
                app.files("/files", std::string(argv[4]) + "/files");
                app.listen({.host = "127.0.0.1", .port = static_cast<std::uint16_t>(std::atoi(argv[1]))}, {.tls = &context});
                app.serve();
            },
            {.workers = 1});
    } catch (const std::exception& e) {
        std::cerr << "weft_bench_tls: " << e.what() << "\n";
        return 1;
    }
}
