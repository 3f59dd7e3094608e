// uri.hpp - the parts of RFC 3986 a server needs: percent-decoding, query parameters, hosts, the forms of a request target.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <weft/http/message.hpp>

namespace weft::detail {

/// \returns  the text with every %XX replaced; nothing if a '%' is not followed by two hexadecimal digits.
std::optional<std::string> percent_decoded(std::string_view text);

/// What stands behind the '?' of a target.
std::string_view query_of(std::string_view target) noexcept;

/// Takes "a=1&b=2" apart. '+' means a space; a '%' that starts no escape stands for itself, as browsers read it.
void parse_query(std::string_view query, http::request_parts::pairs& into);

/// A name or a value of a query, decoded as parse_query() does.
std::string form_decoded(std::string_view text);

/// The value of the first parameter of that name, as it stands in the query. Allocates nothing.
std::optional<std::string_view> find_parameter(std::string_view query, std::string_view name) noexcept;

/// Whether parse_query() would find more than so many.
bool has_more_parameters_than(std::size_t limit, std::string_view query) noexcept;

/// Whether it is `host [":" port]` as Host and an absolute target have it (RFC 3986, 3.2.2). Stricter than the grammar: no comma, which
/// joins two fields into one, and no parentheses, which are a comment in many fields; a port that exists, and none without a host;
/// in brackets an IPv6 address and nothing else. The empty text is a host: a client sends it where its target has none.
bool is_host(std::string_view text) noexcept;

/// Brings the absolute form (http://host/path) to the form a server routes by (/path) and checks the rest.
///
/// \returns  the target from its path on; nothing if it is neither a path, nor absolute, nor the '*' of OPTIONS.
std::optional<std::string_view> origin_form(std::string_view method, std::string_view target) noexcept;

/// The host, with its port if it has one, of a target that origin_form() takes; empty unless that is absolute.
std::string_view authority_of(std::string_view target) noexcept;

}  // namespace weft::detail
