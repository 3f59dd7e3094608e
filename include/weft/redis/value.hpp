// value.hpp - one reply of a Redis server, as RESP2 knows them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace weft::redis {

/// No such value.
struct nil {
    friend bool operator==(const nil&, const nil&) = default;
};

/// A short answer such as OK.
struct status {
    std::string text;
    friend bool operator==(const status&, const status&) = default;
};

/// An error the server answered with, where it stands beside other replies: in a pipeline or an array.
struct error_reply {
    std::string text;
    friend bool operator==(const error_reply&, const error_reply&) = default;
};

class value;
using array = std::vector<value>;

/// One of nil, status, integer, string, array, error_reply.
class value {
public:
    using variant = std::variant<nil, status, std::int64_t, std::string, array, error_reply>;

    value() = default;
    explicit value(variant content) : content_(std::move(content)) {}

    bool is_nil() const noexcept { return std::holds_alternative<nil>(content_); }
    bool is_error() const noexcept { return std::holds_alternative<error_reply>(content_); }

    /// The content as the type asked for. text() is that of a string or a status.
    /// \throws  redis::error (kind reply): with the server's words if this is an error, or else saying what it is instead.
    std::int64_t integer() const;
    const std::string& text() const;
    const array& elements() const;

    /// For std::visit and for moving out.
    const variant& content() const noexcept { return content_; }
    variant& content() noexcept { return content_; }

    friend bool operator==(const value& a, const value& b) { return a.content_ == b.content_; }

private:
    variant content_;
};

/// "nil", "status", "integer", "string", "array" or "error".
std::string_view kind_name(const value&) noexcept;

}  // namespace weft::redis
