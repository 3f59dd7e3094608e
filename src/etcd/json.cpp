#include "etcd/json.hpp"

#include <charconv>
#include <cstddef>

#include "http/base64.hpp"

namespace weft::detail::etcd {
namespace {

constexpr unsigned most_nested = 64;  // chosen: a nested transaction takes four for each of its levels

[[noreturn]] void refuse(const char* name, const char* wrong) { throw bad_answer(std::string(name) + " is " + wrong); }

template <class Number>
Number number_at(const json& object, const char* name) {
    const auto& member = at(object, name);
    if (member.is_null()) return 0;
    const std::string text = member.is_string()           ? member.get_ref<const std::string&>()
                             : member.is_number_integer() ? member.dump()
                                                          : "";
    Number n = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (fault != std::errc() || end != text.data() + text.size() || text.empty()) refuse(name, "not a number");
    return n;
}

}  // namespace

bool is_deeper(std::string_view text, unsigned most) noexcept {
    unsigned depth = 0;
    bool in_text = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_text) {
            if (c == '\\') ++i;
            if (c == '"') in_text = false;
        } else if (c == '"') {
            in_text = true;
        } else if (c == '[' || c == '{') {
            if (++depth > most) return true;
        } else if ((c == ']' || c == '}') && depth > 0) {
            --depth;
        }
    }
    return false;
}

json parse_object(std::string_view text) {
    if (is_deeper(text, most_nested)) throw bad_answer("the answer is nested too deep");
    auto parsed = json::parse(text, nullptr, false);
    if (!parsed.is_object()) throw bad_answer("the answer is no JSON object");
    return parsed;
}

const json& at(const json& object, const char* name) {
    static const json nothing;
    if (!object.is_object()) return nothing;
    const auto found = object.find(name);
    return found == object.end() ? nothing : *found;
}

std::int64_t integer_at(const json& object, const char* name) { return number_at<std::int64_t>(object, name); }
std::uint64_t unsigned_at(const json& object, const char* name) { return number_at<std::uint64_t>(object, name); }

bool flag_at(const json& object, const char* name) {
    const auto& member = at(object, name);
    if (!member.is_null() && !member.is_boolean()) refuse(name, "neither true nor false");
    return member.is_boolean() && member.get<bool>();
}

std::string text_at(const json& object, const char* name) {
    const auto& member = at(object, name);
    if (member.is_null()) return {};
    if (!member.is_string()) refuse(name, "not a text");
    return member.get<std::string>();
}

std::string bytes_at(const json& object, const char* name) {
    const auto text = text_at(object, name);
    std::string bytes;
    if (!decode_base64(bytes, text)) refuse(name, "not Base64");
    return bytes;
}

const json& list_at(const json& object, const char* name) {
    static const json none = json::array();
    const auto& member = at(object, name);
    if (member.is_null()) return none;
    if (!member.is_array()) refuse(name, "not a list");
    return member;
}

std::string base64(std::string_view bytes) {
    std::string text;
    append_base64(text, bytes);
    return text;
}

}  // namespace weft::detail::etcd
