// argument.hpp - one word of a command: text, or an integer spelled out.
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <string_view>

namespace weft::redis {

/// \lifetime  views the text it was made from: made in the call that uses it, and not kept.
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

    std::string_view view() const noexcept { return length_ ? std::string_view(digits_.data(), length_) : text_; }

private:
    std::string_view text_;
    std::array<char, 20> digits_{};  // required: 20 characters hold every 64-bit integer and its sign
    unsigned char length_ = 0;       // of digits_; 0: it is text_
};

}  // namespace weft::redis
