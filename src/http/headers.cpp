// headers.cpp - storage and lookup of header fields.
#include <weft/http/headers.hpp>

#include <functional>
#include <stdexcept>

#include "base/in_quotes.hpp"
#include "http/ascii.hpp"

namespace weft::http {
namespace {

constexpr std::string_view content_type = "Content-Type";

}  // namespace

headers::headers(std::initializer_list<field> fields) {
    for (const auto& f : fields) add(f.name, f.value);
}

void headers::add(std::string_view name, std::string_view value) {
    if (!detail::is_token(name)) throw std::invalid_argument("weft: not a header name: " + detail::in_quotes(name));
    if (!detail::is_field_value(value))
        throw std::invalid_argument("weft: control byte in the value of header " + std::string(name));
    add(detail::checked_field{name, value});
}

void headers::reserve(std::size_t fields, std::size_t bytes) {
    entries_.reserve(entries_.size() + fields);
    text_.reserve(text_.size() + bytes);
}

void headers::add(detail::checked_field f) {
    if (f.name.size() > longest_name) throw std::invalid_argument("weft: a header name of 16 MiB or more");
    const auto begin = text_.size();
    text_.append(f.name).append(f.value);
    enter(begin, f, 0);
}

void headers::add_stored(detail::checked_field f, std::string_view stored) {
    const auto* const from = stored.data();
    const auto* const to = from + stored.size();
    const auto* const name_end = f.name.data() + f.name.size();
    constexpr std::less_equal<> comes_first;
    const bool is_stored = comes_first(from, f.name.data()) && comes_first(name_end, f.value.data()) &&
                           comes_first(f.value.data() + f.value.size(), to) && f.value.data() - name_end <= widest_gap;
    if (!is_stored || f.name.size() > longest_name) return add(f);
    enter(static_cast<std::size_t>(f.name.data() - from), f, static_cast<std::size_t>(f.value.data() - name_end));
}

void headers::store_again(std::string_view text, std::ptrdiff_t further) {
    text_.assign(text);
    if (further == 0) return;
    for (auto& e : entries_) e.begin = static_cast<std::uint32_t>(e.begin + further);
}

void headers::enter(std::size_t begin, detail::checked_field f, std::size_t gap) {
    entries_.push_back({.begin = static_cast<std::uint32_t>(begin),
                        .name_size = static_cast<std::uint32_t>(f.name.size()) & longest_name,
                        .gap = static_cast<std::uint32_t>(gap) & widest_gap,
                        .value_size = static_cast<std::uint32_t>(f.value.size())});
}

void headers::set(std::string_view name, std::string_view value) {
    // They may be views of text that erase() removes.
    const std::string kept_name(name), kept_value(value);
    erase(kept_name);
    add(kept_name, kept_value);
}

std::size_t headers::erase(std::string_view name) {
    const std::string kept_name(name);
    const bool erases_type = has_type() && detail::equal_ignoring_case(content_type, kept_name);
    if (erases_type) type_ = {};
    return erases_type +
           std::erase_if(entries_, [&](const entry& e) { return detail::equal_ignoring_case(field_of(e).name, kept_name); });
}

void headers::clear() noexcept {
    type_ = {};
    text_.clear();
    entries_.clear();
}

void headers::swap(headers& other) noexcept {
    std::swap(type_, other.type_);
    text_.swap(other.text_);
    entries_.swap(other.entries_);
}

std::optional<std::string_view> headers::find(std::string_view name) const noexcept {
    if (has_type() && detail::equal_ignoring_case(content_type, name)) return type_;
    for (const auto& e : entries_)
        if (e.name_size == name.size() && detail::equal_ignoring_case(field_of(e).name, name)) return field_of(e).value;
    return std::nullopt;
}

headers::field headers::operator[](std::size_t i) const noexcept {
    if (i < has_type()) return {content_type, type_};
    return field_of(entries_[i - has_type()]);
}

headers::field headers::field_of(const entry& e) const noexcept {
    const char* const name = text_.data() + e.begin;
    return {{name, e.name_size}, {name + e.name_size + e.gap, e.value_size}};
}

}  // namespace weft::http

namespace weft::detail {

/// The bytes of the heap, in use or reserved.
std::size_t held_bytes(const http::headers& of) noexcept {
    return of.text_.capacity() + of.entries_.capacity() * sizeof(http::headers::entry);
}

/// What store() has stored, and then each field that was added and does not lie in that.
std::string_view stored_text(const http::headers& of) noexcept { return of.text_; }

}  // namespace weft::detail
