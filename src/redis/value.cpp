// value.cpp - typed access to a reply; the error message says what the reply is instead.
#include <weft/redis/value.hpp>

#include <array>

#include <weft/redis/error.hpp>

#include "redis/failed_reply.hpp"

namespace weft::redis {

namespace {

[[noreturn]] void refuse(const value& v, std::string_view wanted) {
    if (const auto* failure = std::get_if<error_reply>(&v.content())) detail::redis::throw_failed(failure->text);
    throw error(error_kind::reply, "the reply is " + std::string(kind_name(v)) + ", not " + std::string(wanted));
}

}  // namespace

std::int64_t value::integer() const {
    if (const auto* number = std::get_if<std::int64_t>(&content_)) return *number;
    refuse(*this, "integer");
}

const std::string& value::text() const {
    if (const auto* text = std::get_if<std::string>(&content_)) return *text;
    if (const auto* answer = std::get_if<status>(&content_)) return answer->text;
    if (const auto* shown = std::get_if<verbatim>(&content_)) return shown->text;
    if (const auto* number = std::get_if<big_number>(&content_)) return number->digits;
    refuse(*this, "string");
}

const array& value::elements() const {
    if (const auto* list = std::get_if<array>(&content_)) return *list;
    if (const auto* group = std::get_if<set>(&content_)) return group->members;
    refuse(*this, "array");
}

const map& value::entries() const {
    if (const auto* all = std::get_if<map>(&content_)) return *all;
    refuse(*this, "map");
}

double value::number() const {
    if (const auto* number = std::get_if<double>(&content_)) return *number;
    if (const auto* number = std::get_if<std::int64_t>(&content_)) return static_cast<double>(*number);
    refuse(*this, "double");
}

bool value::boolean() const {
    if (const auto* truth = std::get_if<bool>(&content_)) return *truth;
    refuse(*this, "bool");
}

std::string_view kind_name(const value& v) noexcept {
    constexpr std::array<std::string_view, 12> names{"nil", "status", "integer", "string", "array",      "error",
                                                     "set", "map",    "double",  "bool",   "big number", "verbatim"};
    static_assert(names.size() == std::variant_size_v<value::variant>);
    return names[v.content().index()];
}

}  // namespace weft::redis

namespace weft::detail::redis {

void throw_failed(const std::string& text) {
    const bool redirects = text.starts_with("MOVED ") || text.starts_with("ASK ");
    throw weft::redis::error(weft::redis::error_kind::reply,
                             redirects ? "redis: the server is part of a cluster and names another one for this command; "
                                         "weft::redis::client has no support for clusters (the server says: " +
                                             text + ")"
                                       : text);
}

}  // namespace weft::detail::redis
