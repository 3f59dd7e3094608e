// messages.hpp - what a reader of HTTP has made of a stream of bytes: the requests that it read whole, in a form that can be compared.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::attack {

struct message {
    std::string method;
    std::string target;
    std::vector<std::pair<std::string, std::string>> fields;
    std::string body;

    bool operator==(const message&) const = default;
};

using messages = std::vector<message>;

/// As a server reads that keeps the connection as long as the requests let it. `piece`: how many bytes it receives at a time.
messages read_by_weft(std::string_view bytes, std::size_t piece);
messages read_by_llhttp(std::string_view bytes);

}  // namespace weft::attack
