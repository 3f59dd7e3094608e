// headers.hpp - the header fields of one message: a case-insensitive multimap in order of arrival.
//
// Invariants
//   HEADERS-1  Names and values are stored in one string, and an entry is twelve bytes. So a field needs
//              no allocation of its own, and the head of a request is stored by one copy.
//   HEADERS-2  A name is a token, and a value holds no control byte except tab, so a field that is
//              written out cannot forge another.
//   HEADERS-3  The content type that a function of weft has set is a constant, and needs no storage. It
//              is the first field, until it is erased.
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

/// A content type of weft's own, which lasts as long as the program.
struct constant_type {
    std::string_view value;
};

}  // namespace weft::detail

namespace weft::http {
class headers;
}

namespace weft::detail {
WEFT_EXPORT std::size_t held_bytes(const http::headers& of) noexcept;
WEFT_EXPORT std::string_view stored_text(const http::headers& of) noexcept;
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

    /// Bytes; a longer name is refused.
    static constexpr std::uint32_t longest_name = (1u << 24) - 1;

    headers() = default;
    headers(std::initializer_list<field> fields);

    /// Appends a field; other fields of that name stay.
    ///
    /// \throws  std::invalid_argument, which names the field, if the name is not a token or has 16 MiB
    ///          or more, or the value holds a control byte.
    void add(std::string_view name, std::string_view value);
    /// Takes memory for so many further fields, with so many bytes of names and values.
    void reserve(std::size_t fields, std::size_t bytes);
    void add(detail::checked_field f);
    /// As add(), if `f` lies in `stored`, which store() has stored.
    void add_stored(detail::checked_field f, std::string_view stored);
    /// For fields that are added next. There are no other fields.
    void store(std::string_view text) { text_.assign(text); }
    /// Stores `text` in place of what store() has stored. All fields lie in that, and are the same in
    /// `text`, each `further` bytes behind where it was.
    void store_again(std::string_view text, std::ptrdiff_t further);
    explicit headers(detail::constant_type type) noexcept : type_(type.value) {}

    /// Makes this the only field of that name. \throws std::invalid_argument, as add() does.
    void set(std::string_view name, std::string_view value);

    /// \returns  how many fields were removed.
    std::size_t erase(std::string_view name);
    void clear() noexcept;
    void swap(headers& other) noexcept;

    /// \returns   the value of the first field of that name.
    /// \lifetime  of the view: until the headers change.
    [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const noexcept;
    [[nodiscard]] bool contains(std::string_view name) const noexcept { return find(name).has_value(); }

    [[nodiscard]] std::size_t size() const noexcept { return entries_.size() + has_type(); }
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    field operator[](std::size_t i) const noexcept;
    iterator begin() const noexcept { return {this, 0}; }
    iterator end() const noexcept { return {this, size()}; }

private:
    friend std::size_t detail::held_bytes(const headers& of) noexcept;
    friend std::string_view detail::stored_text(const headers& of) noexcept;

    static constexpr std::uint32_t widest_gap = 255;

    struct entry {
        std::uint32_t begin;  // of the name
        std::uint32_t name_size : 24;
        std::uint32_t gap : 8;  // between the name and the value
        std::uint32_t value_size;
    };

    std::size_t has_type() const noexcept { return type_.data() != nullptr; }
    field field_of(const entry& e) const noexcept;
    void enter(std::size_t begin, detail::checked_field f, std::size_t gap);

    std::string_view type_;  // HEADERS-3
    std::string text_;
    std::vector<entry> entries_;
};

}  // namespace weft::http
