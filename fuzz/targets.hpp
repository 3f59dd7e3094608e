// targets.hpp - what is fuzzed: each target takes any bytes, and ends the program if a promise is broken.
//
// Each is one function, so that libFuzzer (entry.cpp) and the ordinary suite (tests/fuzz) run the same.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

namespace weft::fuzz {

using bytes = std::span<const std::uint8_t>;

/// A client's bytes through the decoder of requests, cut anywhere.
void http(bytes);
/// A server's bytes as the answer that an HTTP client gets, cut anywhere; and as a place to which it is sent.
void answer(bytes);
/// A server's bytes through the decoder of replies and through a client, cut anywhere; and commands, spelled and read again.
void redis(bytes);
/// A NATS server's bytes through the parser, cut anywhere; and what it has said, published again.
void nats(bytes);
/// A WebSocket peer's bytes through the reader of frames, cut anywhere; compressed messages; and the header
/// field by which two ends agree on compression.
void ws(bytes);
/// What a node of a cluster takes for a message, as CBOR or as MessagePack.
void message(bytes);
/// Endpoints, URLs, queries and request targets: what is read is written and read again; what is refused is so with one line.
void endpoint(bytes);
/// Options and variables of the environment: they are refused by name, or a small program runs with them and ends.
void options(bytes);
/// A program over the whole vocabulary, in the simulation.
void program(bytes);

inline std::string_view text_of(bytes b) { return {reinterpret_cast<const char*>(b.data()), b.size()}; }

[[noreturn]] inline void broken(const std::string& what) {
    std::fprintf(stderr, "fuzz: %s\n", what.c_str());
    std::abort();
}

inline void require(bool holds, std::string_view what, std::string_view about = {}) {
    if (holds) return;
    std::string line(what);
    if (!about.empty()) line.append(": \"").append(about).append("\"");
    broken(line);
}

/// A message for people: one line, in which nothing moves the cursor.
inline void require_one_line(std::string_view message) {
    require(!message.empty(), "a refusal without words");
    for (const char c : message)
        require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f, "a refusal of more than one line, or with control bytes",
                message);
}

/// Bytes as choices; zeros once they are used up.
class choices {
public:
    explicit choices(bytes b) : rest_(b) {}

    bool empty() const noexcept { return rest_.empty(); }
    std::uint8_t byte() noexcept {
        if (rest_.empty()) return 0;
        const auto b = rest_.front();
        rest_ = rest_.subspan(1);
        return b;
    }
    /// A number below n.
    unsigned below(unsigned n) noexcept { return byte() % n; }
    std::uint64_t word() noexcept {
        std::uint64_t w = 0;
        for (int i = 0; i < 8; ++i) w |= std::uint64_t{byte()} << (8 * i);
        return w;
    }
    bytes take(std::size_t most) noexcept {
        const auto taken = rest_.first(std::min(most, rest_.size()));
        rest_ = rest_.subspan(taken.size());
        return taken;
    }
    bytes rest() noexcept { return take(rest_.size()); }

private:
    bytes rest_;
};

}  // namespace weft::fuzz
