// argument.hpp - one word of a command: a text, or an integer in decimal.
#pragma once

#include <weft/detail/requirements.hpp>

#include <array>
#include <charconv>
#include <concepts>
#include <string_view>

namespace weft::redis {

/// One word of a command. Callers pass a text or an integer:
/// `db.command("HSET", "user:1", "age", 42)`.
///
/// \lifetime  it views the text it was made from, so it must not be kept beyond the call it was
///            made for.
class argument {
public:
    template <class T>
        requires std::convertible_to<const T&, std::string_view>
    explicit(false) argument(const T& text) : text_(text) {}

    template <std::integral T>
        requires(!std::same_as<T, bool> && !std::same_as<T, char>)
    explicit(false) argument(T number) noexcept {
        const auto* const end = std::to_chars(digits_.data(), digits_.data() + digits_.size(), number).ptr;
        length_ = static_cast<unsigned char>(end - digits_.data());
    }

    [[nodiscard]] std::string_view view() const noexcept { return length_ ? std::string_view(digits_.data(), length_) : text_; }

private:
    std::string_view text_;
    std::array<char, 20> digits_{};  // required: 20 characters hold every 64-bit integer
    // The length of digits_; 0: the word is text_.
    unsigned char length_ = 0;
};

}  // namespace weft::redis
