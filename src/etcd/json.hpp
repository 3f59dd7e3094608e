// json.hpp - what etcd's answers are made of: JSON of bounded depth, numbers as texts, Base64.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace weft::detail::etcd {

using json = nlohmann::json;

/// An answer that etcd's interface does not allow; what() says why.
class bad_answer : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Whether brackets are nested deeper than `most`. Looks at bytes only, since nlohmann's parser recurses
/// where a fiber's stack is small.
[[nodiscard]] bool is_deeper(std::string_view text, unsigned most) noexcept;

/// \throws  bad_answer unless it is one JSON object.
[[nodiscard]] json parse_object(std::string_view text);

/// A member of an object; null if there is none. etcd leaves out what is zero, empty or false.
[[nodiscard]] const json& at(const json& object, const char* name);
/// 0 if there is no such member. \throws bad_answer if it is no number, nor a text of one.
[[nodiscard]] std::int64_t integer_at(const json& object, const char* name);
[[nodiscard]] std::uint64_t unsigned_at(const json& object, const char* name);
[[nodiscard]] bool flag_at(const json& object, const char* name);
[[nodiscard]] std::string text_at(const json& object, const char* name);
/// A text of Base64, as bytes.
[[nodiscard]] std::string bytes_at(const json& object, const char* name);
/// An empty array if there is no such member.
[[nodiscard]] const json& list_at(const json& object, const char* name);

[[nodiscard]] std::string base64(std::string_view bytes);

}  // namespace weft::detail::etcd
