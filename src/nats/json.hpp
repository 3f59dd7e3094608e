// json.hpp - reads JSON of a server on a fiber's small stack: what is nested deeply is refused first.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include <weft/nats/error.hpp>

namespace weft::detail::nats {

/// Whether arrays and objects are nested more than `most` deep. Needs no stack.
inline bool is_deeper_than(std::string_view json, std::size_t most) noexcept {
    std::size_t depth = 0;
    bool in_text = false;
    for (std::size_t i = 0; i < json.size(); ++i) {
        const char c = json[i];
        if (in_text) {
            if (c == '\\')
                ++i;
            else if (c == '"')
                in_text = false;
        } else if (c == '"') {
            in_text = true;
        } else if ((c == '[' || c == '{') && ++depth > most) {
            return true;
        } else if ((c == ']' || c == '}') && depth != 0) {
            --depth;
        }
    }
    return false;
}

/// \throws  error of protocol_error unless it is an object.
inline nlohmann::json parse_object(std::string_view text, const char* what) {
    constexpr std::size_t most = 16;  // chosen: JetStream's answers are half as deep
    if (is_deeper_than(text, most))
        throw weft::nats::error(weft::nats::nats_errc::protocol_error, std::string(what) + " is nested too deeply");
    auto parsed = nlohmann::json::parse(text, nullptr, false);
    if (!parsed.is_object())
        throw weft::nats::error(weft::nats::nats_errc::protocol_error, std::string(what) + " is no JSON object");
    return parsed;
}

/// The member of that name; `otherwise` if there is none, or it has another type.
template <class T>
T member(const nlohmann::json& of, const char* name, T otherwise = {}) {
    const auto found = of.find(name);
    if (found == of.end()) return otherwise;
    if constexpr (std::is_same_v<T, std::string>)
        return found->is_string() ? found->template get<std::string>() : otherwise;
    else if constexpr (std::is_same_v<T, bool>)
        return found->is_boolean() ? found->template get<bool>() : otherwise;
    else
        return found->is_number_integer() ? found->template get<T>() : otherwise;
}

}  // namespace weft::detail::nats
