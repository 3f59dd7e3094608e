// client.cpp - weft's TLS client, as a program that is let loose on servers of others.
//
// conformance_client PORT TARGET [--name NAME] [--ca FILE] [--certificate FILE --key FILE] [--alpn a,b] [--least 1.2|1.3] [--peer none]
//                    [--connections N] [--save FILE] [--lines N]
// Opens N connections to 127.0.0.1, one after the other, asks each for TARGET in HTTP/1.0 and saves what it reads up to the end of the
// stream; with --lines it sends N lines instead, each of which must come back reversed. Prints a line of what was agreed for each.
// A failure is `failed: NUMBER of CATEGORY: WORDS`, and 1.
#include <array>
#include <exception>
#include <fstream>
#include <iostream>
#include <random>
#include <span>
#include <stdexcept>
#include <string>

#include <weft/deadline.hpp>
#include <weft/net/tls.hpp>
#include <weft/runtime.hpp>

#include "options.hpp"

namespace {

using namespace std::chrono_literals;

std::string all_of(weft::tls::stream& from) {
    std::string text;
    std::array<std::byte, 16384> piece;
    while (const auto n = from.read_some(piece)) text.append(reinterpret_cast<const char*>(piece.data()), n);
    return text;
}

void exchange_lines(weft::tls::stream& with, int number) {
    std::mt19937 random(1);
    for (int i = 0; i < number; ++i) {
        std::string line(random() % 2000, '\0'), answer(line.size() + 1, '\0');
        for (auto& c : line) c = static_cast<char>('a' + random() % 26);
        with.write_all(line + "\n");
        with.read_exact(std::as_writable_bytes(std::span(answer)));
        if (answer != std::string(line.rbegin(), line.rend()) + "\n")
            throw std::runtime_error("line " + std::to_string(i) + " came back wrong");
    }
}

void connect(const weft::conformance::options& asked) {
    const weft::tls::context context(asked.context());
    const auto port = static_cast<std::uint16_t>(std::stoi(asked.rest().at(0)));
    for (int i = 0; i < asked.number("connections", 1); ++i) {
        auto c = weft::tls::stream::connect({.host = "127.0.0.1", .port = port}, context, {.server_name = asked["name"]});
        if (const int lines = asked.number("lines", 0)) {
            exchange_lines(c, lines);
        } else {
            c.write_all("GET " + asked.rest().at(1) + " HTTP/1.0\r\n\r\n");
            std::ofstream(asked["save"], std::ios::binary) << all_of(c);
        }
        std::cout << weft::conformance::described(c) << std::endl;
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const weft::conformance::options asked(argc, argv);
        weft::run([&] { weft::with_timeout(20s, [&] { connect(asked); }); }, {.workers = 1});
    } catch (const std::system_error& e) {
        std::cout << "failed: " << e.code().value() << " of " << e.code().category().name() << ": " << e.what() << "\n";
        return 1;
    } catch (const std::exception& e) {
        std::cout << "failed: " << e.what() << "\n";
        return 1;
    }
}
