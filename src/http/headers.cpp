// headers.cpp - storage and lookup of header fields.
#include <weft/http/headers.hpp>

#include <stdexcept>

#include "base/in_quotes.hpp"
#include "http/ascii.hpp"

namespace weft::http {

headers::headers(std::initializer_list<field> fields) {
    for (const auto& f : fields) add(f.name, f.value);
}

void headers::add(std::string_view name, std::string_view value) {
    if (!detail::is_token(name)) throw std::invalid_argument("weft: not a header name: " + detail::in_quotes(name));
    if (!detail::is_field_value(value))
        throw std::invalid_argument("weft: control byte in the value of header " + std::string(name));
    add(detail::checked_field{name, value});
}

void headers::add(detail::checked_field f) {
    const auto begin = text_.size();
    text_.append(f.name).append(f.value);
    entries_.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(f.name.size()),
                        static_cast<std::uint32_t>(f.value.size())});
}

void headers::set(std::string_view name, std::string_view value) {
    // They may be views of text that erase() removes.
    const std::string kept_name(name), kept_value(value);
    erase(kept_name);
    add(kept_name, kept_value);
}

std::size_t headers::erase(std::string_view name) {
    const std::string kept_name(name);
    return std::erase_if(entries_, [&](const entry& e) {
        return detail::equal_ignoring_case(std::string_view(text_).substr(e.begin, e.name_size), kept_name);
    });
}

void headers::clear() noexcept {
    text_.clear();
    entries_.clear();
}

std::optional<std::string_view> headers::find(std::string_view name) const noexcept {
    for (const auto& e : entries_) {
        const char* begin = text_.data() + e.begin;
        if (e.name_size == name.size() && detail::equal_ignoring_case({begin, e.name_size}, name))
            return std::string_view(begin + e.name_size, e.value_size);
    }
    return std::nullopt;
}

headers::field headers::operator[](std::size_t i) const noexcept {
    const auto& e = entries_[i];
    const char* begin = text_.data() + e.begin;
    return {{begin, e.name_size}, {begin + e.name_size, e.value_size}};
}

}  // namespace weft::http

namespace weft::detail {

/// The bytes of the heap, in use or reserved.
std::size_t held_bytes(const http::headers& of) noexcept {
    return of.text_.capacity() + of.entries_.capacity() * sizeof(http::headers::entry);
}

}  // namespace weft::detail
