// expected_line.cpp - the expressions.
#include "soak/support/expected_line.hpp"

#include <regex>
#include <string>

namespace soak {

namespace {

// Behind either there may be where and what, and how many other hogs were not reported.
const std::regex hog(R"(weft: fiber \d+ "soak hog" \(.*\) has kept its thread for \d+ ms and (computes|blocks it)([ ;].*)?)");
// The fiber of a connection has the name of the route it runs.
const std::string served = R"!(weft: fiber \d+ "(http connection|http finder|(GET|POST|DELETE) /[a-z/{}]*)" \(.*\) has kept its thread for \d+ ms and )!";
const std::regex lock(served + R"(blocks it([ ;].*)?)");
const std::regex slow(served + R"(computes([ ;].*)?)");
const std::regex accept(R"(weft: accept on 127\.0\.0\.1:\d+: Too many open files; trying again until it passes)");
const std::regex unread(
    R"(weft: http: the answer to GET /users/never-read for 127\.0\.0\.1:\d+ was cut short after \d+ of \d+ bytes: the client takes less than min_rate)");
const std::regex failure(R"(users: (?:GET|POST|DELETE) /users\S*: (.*))");

}  // namespace

read_line read(const std::string& line) {
    std::smatch parts;
    if (std::regex_match(line, hog)) return {line_kind::hog, {}};
    if (std::regex_match(line, lock)) return {line_kind::lock, {}};
    if (std::regex_match(line, slow)) return {line_kind::slow, {}};
    if (std::regex_match(line, accept)) return {line_kind::accept, {}};
    if (std::regex_match(line, unread)) return {line_kind::unread, {}};
    if (std::regex_match(line, parts, failure)) return {line_kind::failure, parts.str(1)};
    return {line_kind::other, {}};
}

}  // namespace soak
