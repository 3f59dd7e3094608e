// readers.cpp - tells how weft and llhttp read streams of bytes, for check_differences.py, which has h11 and the judgement.
//
// Numbers are little-endian, of 32 bits; a string is its length and its bytes.
//   stdin   for each stream: a piece size for weft, the stream
//   stdout  for each stream: what weft read of it whole, what weft read of it in pieces, what llhttp read.
//           Each is a number of requests; a request is method, target, a number of fields, names and values, body
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "attack/http/messages.hpp"

namespace weft::attack {
namespace {

std::optional<std::uint32_t> get_number() {
    std::uint32_t n;
    if (std::fread(&n, sizeof n, 1, stdin) != 1) return {};
    return n;
}

void put(std::uint32_t n) { std::fwrite(&n, sizeof n, 1, stdout); }

void put(const std::string& text) {
    put(static_cast<std::uint32_t>(text.size()));
    std::fwrite(text.data(), 1, text.size(), stdout);
}

void put(const messages& read) {
    put(static_cast<std::uint32_t>(read.size()));
    for (const message& m : read) {
        put(m.method);
        put(m.target);
        put(static_cast<std::uint32_t>(m.fields.size()));
        for (const auto& [name, value] : m.fields) {
            put(name);
            put(value);
        }
        put(m.body);
    }
}

int tell() {
    while (const auto piece = get_number()) {
        const auto size = get_number();
        if (!size || *piece == 0 || *size > 1'000'000) return 2;
        std::string bytes(*size, '\0');
        if (std::fread(bytes.data(), 1, bytes.size(), stdin) != bytes.size()) return 2;
        put(read_by_weft(bytes, bytes.size() + 1));
        put(read_by_weft(bytes, *piece));
        put(read_by_llhttp(bytes));
    }
    return 0;
}

}  // namespace
}  // namespace weft::attack

int main(int argc, char**) {
    if (argc > 1) {
        std::puts("attack_readers: reads streams from stdin, as check_differences.py writes them");
        return 2;
    }
    const int code = weft::attack::tell();
    if (code != 0) std::fputs("attack_readers: the input ends in the middle of a stream\n", stderr);
    return code;
}
