// field_list.hpp - fields whose values are lists: their elements, the weights of content codings, and Vary.
#pragma once

#include <optional>
#include <string_view>

#include <weft/http/headers.hpp>

#include "http/ascii.hpp"

namespace weft::detail {

/// The text without the white space around it.
constexpr std::string_view trimmed(std::string_view s) noexcept {
    while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
    while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
    return s;
}

/// Takes what stands before the first `separator` off the text, trimmed. The separator may not
/// occur in quotes there.
constexpr std::string_view take_until(std::string_view& text, char separator) noexcept {
    const auto end = text.find(separator);
    const auto taken = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    return trimmed(taken);
}

/// Calls `each` for every element of all fields of that name: several fields are one list (RFC
/// 9110, 5.3). Empty elements are left out.
template <class Each>
void for_each_element(const http::headers& in, std::string_view name, Each&& each) {
    for (const auto [field, value] : in) {
        if (!equal_ignoring_case(field, name)) continue;
        for (auto rest = value; !rest.empty();)
            if (const auto element = take_until(rest, ','); !element.empty()) each(element);
    }
}

/// Whether an element of the list is `word`, in any case.
bool has_element(const http::headers& in, std::string_view name, std::string_view word);

/// Adds `name` to the field Vary, unless it is there or everything is ("*").
void add_vary(http::headers& to, std::string_view name);

/// What a client says of content codings (RFC 9110, 12.5.3). Weights are in thousandths, as qvalues
/// have three digits.
class accepted_codings {
public:
    explicit accepted_codings(const http::headers& asked);

    /// Of gzip, which is also named x-gzip, and of zstd. 0: the client does not take it. Without
    /// the field nothing is taken: few clients that send none can decode anything.
    int gzip() const noexcept { return gzip_.value_or(other_.value_or(0)); }
    int zstd() const noexcept { return zstd_.value_or(other_.value_or(0)); }

    /// Of the body as it is: 0 only where "identity;q=0" or "*;q=0" says so. Empty: it is taken,
    /// but anything that is named is better.
    std::optional<int> identity() const noexcept { return identity_ ? identity_ : other_; }

private:
    std::optional<int> gzip_, zstd_, identity_, other_;
};

enum class coding { identity, gzip, zstd };

/// The name in Content-Encoding.
std::string_view name(coding) noexcept;

/// The best of identity and those that there are; of equal ones zstd, then gzip. Identity also if
/// the client takes nothing that there is.
coding best_of(const accepted_codings& accepted, bool has_gzip, bool has_zstd) noexcept;

}  // namespace weft::detail
