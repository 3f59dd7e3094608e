// options.cpp - reads the command line.
#include "options.hpp"

#include <charconv>
#include <string>
#include <string_view>

namespace http_check {
namespace {

constexpr const char* usage =
    "usage: http_check HOST:PORT [--connections N] [--requests N] [--depth N] [--keys N] [--idle N] [--workers N] [--seed N]";

template <class Number>
void read(std::string_view flag, std::string_view text, Number& into) {
    const auto end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, into);
    if (error != std::errc() || stop != end)
        throw bad_usage(std::string(flag) + " wants a number, not \"" + std::string(text) + '"');
}

}  // namespace

options parse(int argc, char** argv) {
    options o;
    if (argc < 2 || argc % 2 != 0) throw bad_usage(usage);
    o.server = weft::net::endpoint::parse(argv[1]);
    for (int i = 2; i < argc; i += 2) {
        const std::string_view flag = argv[i], text = argv[i + 1];
        if (flag == "--connections")
            read(flag, text, o.connections);
        else if (flag == "--requests")
            read(flag, text, o.requests);
        else if (flag == "--depth")
            read(flag, text, o.depth);
        else if (flag == "--keys")
            read(flag, text, o.keys);
        else if (flag == "--idle")
            read(flag, text, o.idle);
        else if (flag == "--workers")
            read(flag, text, o.workers);
        else if (flag == "--seed")
            read(flag, text, o.seed);
        else
            throw bad_usage(usage);
    }
    if (o.connections == 0 || o.depth == 0 || o.keys == 0) throw bad_usage("connections, depth and keys are at least 1");
    return o;
}

}  // namespace http_check
