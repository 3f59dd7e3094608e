// https.cpp - a server and a client that talk through TLS.
#include <weft/weft.hpp>

#include <weft/http/server.hpp>
#include <weft/net/tls.hpp>

#include <array>
#include <iostream>
#include <string>

int main() {
    // For development; a service has the files of a certificate: {.certificate_chain = "server.pem", .private_key = "server.key"}.
    const auto pair = weft::tls::self_signed();
    const weft::tls::context of_server({.certificate_chain = pair.certificate, .private_key = pair.key});

    weft::run([&] {
        weft::http::server server;
        server.get("/hello", [](auto&) { return weft::http::text(200, "hello\n"); });
        server.listen({.host = "localhost", .port = 0}, {.tls = &of_server});
        auto serving = weft::spawn([&] { server.serve(); });

        const weft::tls::context trusting({.ca = pair.certificate});  // without options: the authorities of the system
        auto s = weft::tls::stream::connect({.host = "localhost", .port = server.local().port}, trusting);
        s.write_all("GET /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        std::string answer;
        std::array<std::byte, 4096> buffer;
        while (const auto n = s.read_some(buffer)) answer.append(reinterpret_cast<const char*>(buffer.data()), n);
        std::cout << answer.substr(answer.find("\r\n\r\n") + 4);

        try {
            weft::tls::stream::connect({.host = "127.0.0.1", .port = server.local().port}, trusting, {.server_name = "example.org"});
        } catch (const std::system_error& e) {
            std::cout << e.what() << '\n';
        }
        server.stop();
        serving.join();
    });
}
