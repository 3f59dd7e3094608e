// conditions.hpp - whether a client has the file already, and which part of it is asked for (RFC 9110, 13 and 14).
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string_view>
#include <variant>

#include <weft/http/headers.hpp>

namespace weft::detail {

/// A date in one of the three forms of RFC 9110, 5.6.7. Nothing if it is none.
std::optional<std::time_t> parsed_http_date(std::string_view text) noexcept;

/// What identifies one state of a file.
struct validators {
    std::string_view etag;  // strong, in quotes
    std::time_t modified;
};

enum class outcome { go_on, not_modified, failed };

/// The conditions of GET or HEAD, in the order of RFC 9110, 13.2.2.
outcome outcome_of(const http::headers& asked, validators v);

/// Whether the client has this answer (If-None-Match) by the weak form of its strong tag, and not
/// by the tag itself.
bool has_weak_form_only(const http::headers& asked, std::string_view etag);

struct byte_range {
    std::uint64_t first;
    std::uint64_t bytes;
};
struct whole_file {};
struct unsatisfiable {};

/// The part of a file that is asked for. Whole: no range is asked for, or several, or one that is
/// malformed, or one of another state of the file (If-Range).
std::variant<whole_file, byte_range, unsatisfiable> wanted_range(const http::headers& asked, validators v, std::uint64_t size,
                                                                 std::time_t now);

}  // namespace weft::detail
