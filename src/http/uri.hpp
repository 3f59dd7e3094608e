// uri.hpp - the parts of RFC 3986 that a server needs: percent-decoding, queries, hosts, targets.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <weft/http/message.hpp>

namespace weft::detail {

/// \returns  the text with every %XX replaced; nothing if a '%' is not followed by two hexadecimal
///           digits.
std::optional<std::string> percent_decoded(std::string_view text);

/// The part of a target after the '?'.
std::string_view query_of(std::string_view target) noexcept;

/// Splits "a=1&b=2" and decodes it. '+' means a space; a '%' that starts no escape stands for
/// itself, as in browsers.
void parse_query(std::string_view query, http::request_parts::pairs& into);

/// A name or a value of a query, decoded as parse_query() does.
std::string form_decoded(std::string_view text);

/// The value of the first parameter of that name, still encoded. Allocates nothing.
std::optional<std::string_view> find_parameter(std::string_view query, std::string_view name) noexcept;

/// Whether parse_query() would find more than `limit` parameters.
bool has_more_parameters_than(std::size_t limit, std::string_view query) noexcept;

/// Whether `text` is `host [":" port]` as in Host and in an absolute target (RFC 3986, 3.2.2). This
/// is stricter than the grammar. There may be no comma, which joins two fields into one, and no
/// parentheses, which are comments in many fields. A port must exist, and needs a host. Brackets
/// contain an IPv6 address and nothing else. The empty text is a host: a client sends it if its
/// target has none.
bool is_host_with_port(std::string_view text) noexcept;

/// Converts the absolute form (http://host/path) to the form by which a server routes (/path), and
/// checks other forms.
///
/// \returns  the target from its path on; nothing if it is neither a path, nor absolute, nor the
///           '*' of OPTIONS.
std::optional<std::string_view> origin_form(std::string_view method, std::string_view target) noexcept;

/// The host, with its port if it has one, of a target that origin_form() accepts; empty unless the
/// target is absolute.
std::string_view authority_of(std::string_view target) noexcept;

}  // namespace weft::detail
