// value.hpp - one reply of a Redis server, with the types of RESP2 and RESP3.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace weft::redis {

/// The reply that there is no such value.
struct nil {
    friend bool operator==(const nil&, const nil&) = default;
};

/// A short reply such as OK.
struct status {
    std::string text;
    friend bool operator==(const status&, const status&) = default;
};

/// An error of the server among other replies: in a pipeline or an array.
struct error_reply {
    std::string text;
    friend bool operator==(const error_reply&, const error_reply&) = default;
};

class value;
using array = std::vector<value>;

// The types below come with client_options::protocol 3 only.

/// A reply whose elements have no order, such as that of SMEMBERS.
struct set {
    array members;
    friend bool operator==(const set&, const set&);
};

/// A reply of names and what they stand for, such as that of HGETALL, in the server's order.
using map = std::vector<std::pair<value, value>>;

/// An integer of any size, in decimal.
struct big_number {
    std::string digits;
    friend bool operator==(const big_number&, const big_number&) = default;
};

/// A text for people, and its format: "txt" or "mkd".
struct verbatim {
    std::string format;
    std::string text;
    friend bool operator==(const verbatim&, const verbatim&) = default;
};

/// A reply: one of nil, status, integer, string, array, error_reply; with client_options::protocol
/// 3 also set, map, double, bool, big_number, verbatim.
///
///     weft::redis::value n = db.command("INCR", "hits");
///     std::int64_t hits = n.integer();
class WEFT_EXPORT value {
public:
    using variant =
        std::variant<nil, status, std::int64_t, std::string, array, error_reply, set, map, double, bool, big_number, verbatim>;

    value() = default;
    explicit value(variant content) : content_(std::move(content)) {}

    [[nodiscard]] bool is_nil() const noexcept { return std::holds_alternative<nil>(content_); }
    [[nodiscard]] bool is_error() const noexcept { return std::holds_alternative<error_reply>(content_); }

    /// The content as the requested type. text() accepts a string, a status, a verbatim text or a
    /// big_number; elements() an array or a set; number() a double or an integer.
    /// \throws  redis::error (kind reply): with the server's text if this is an error, or else
    ///          saying what the value is instead.
    [[nodiscard]] std::int64_t integer() const;
    [[nodiscard]] const std::string& text() const;
    [[nodiscard]] const array& elements() const;
    [[nodiscard]] const map& entries() const;
    [[nodiscard]] double number() const;
    [[nodiscard]] bool boolean() const;

    /// For std::visit and for moving out.
    [[nodiscard]] const variant& content() const noexcept { return content_; }
    variant& content() noexcept { return content_; }

    friend bool operator==(const value& a, const value& b) { return a.content_ == b.content_; }

private:
    variant content_;
};

inline bool operator==(const set& a, const set& b) { return a.members == b.members; }

/// "nil", "status", "integer", "string", "array", "error", "set", "map", "double", "bool", "big
/// number" or "verbatim".
WEFT_EXPORT [[nodiscard]] std::string_view kind_name(const value&) noexcept;

}  // namespace weft::redis
