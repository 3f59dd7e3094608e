// value.cpp - typed access to a reply; the error message says what the reply is instead.
#include <weft/redis/value.hpp>

#include <array>

#include <weft/redis/error.hpp>

namespace weft::redis {

namespace {

[[noreturn]] void refuse(const value& v, std::string_view wanted) {
    if (const auto* failure = std::get_if<error_reply>(&v.content())) throw error(error_kind::reply, failure->text);
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
    refuse(*this, "string");
}

const array& value::elements() const {
    if (const auto* list = std::get_if<array>(&content_)) return *list;
    refuse(*this, "array");
}

std::string_view kind_name(const value& v) noexcept {
    constexpr std::array<std::string_view, 6> names{"nil", "status", "integer", "string", "array", "error"};
    static_assert(names.size() == std::variant_size_v<value::variant>);
    return names[v.content().index()];
}

}  // namespace weft::redis
