// headers.hpp - the header fields of one message: a case-insensitive multimap in order of arrival.
//
// Invariants
//   HEADERS-1  Names and values are stored one after the other in one string; an entry is three
//              numbers. A field needs no allocation of its own.
//   HEADERS-2  A name is a token, and a value holds no control byte except tab, so a field that is
//              written out cannot forge another.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::detail {

/// A field that a parser has already found valid (HEADERS-2).
struct checked_field {
    std::string_view name;
    std::string_view value;
};

}  // namespace weft::detail

namespace weft::http {
class headers;
}

namespace weft::detail {
WEFT_EXPORT std::size_t held_bytes(const http::headers& of) noexcept;
}  // namespace weft::detail

namespace weft::http {

/// The header fields of a message:
///
///     weft::http::headers h{{"Accept", "text/html"}};
///     h.add("X-Id", "7");
///     std::optional<std::string_view> id = h.find("x-id");
class WEFT_EXPORT headers {
public:
    struct field {
        std::string_view name;
        std::string_view value;
    };

    class iterator {
    public:
        using difference_type = std::ptrdiff_t;
        using value_type = field;
        iterator() = default;
        field operator*() const { return (*owner_)[index_]; }
        iterator& operator++() {
            ++index_;
            return *this;
        }
        iterator operator++(int) {
            auto before = *this;
            ++index_;
            return before;
        }
        bool operator==(const iterator&) const = default;

    private:
        friend class headers;
        iterator(const headers* owner, std::size_t index) : owner_(owner), index_(index) {}
        const headers* owner_ = nullptr;
        std::size_t index_ = 0;
    };

    headers() = default;
    headers(std::initializer_list<field> fields);

    /// Appends a field; other fields of that name stay.
    ///
    /// \throws  std::invalid_argument, which names the field, if the name is not a token or the
    ///          value holds a control byte.
    void add(std::string_view name, std::string_view value);
    void add(detail::checked_field f);

    /// Makes this the only field of that name. \throws std::invalid_argument, as add() does.
    void set(std::string_view name, std::string_view value);

    /// \returns  how many fields were removed.
    std::size_t erase(std::string_view name);
    void clear() noexcept;

    /// \returns   the value of the first field of that name.
    /// \lifetime  of the view: until the headers change.
    [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const noexcept;
    [[nodiscard]] bool contains(std::string_view name) const noexcept { return find(name).has_value(); }

    [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
    [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
    field operator[](std::size_t i) const noexcept;
    iterator begin() const noexcept { return {this, 0}; }
    iterator end() const noexcept { return {this, entries_.size()}; }

private:
    friend std::size_t detail::held_bytes(const headers& of) noexcept;

    struct entry {
        std::uint32_t begin;
        std::uint32_t name_size;
        std::uint32_t value_size;
    };

    std::string text_;
    std::vector<entry> entries_;
};

}  // namespace weft::http
