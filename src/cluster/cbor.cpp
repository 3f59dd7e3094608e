// cbor.cpp - looks at CBOR (RFC 8949) before a reader that recurses does.
#include <weft/cluster/detail/cbor.hpp>

#include <array>

#include <weft/cluster/detail/unreadable.hpp>

namespace weft::cluster::detail {
namespace {

constexpr std::size_t most_levels = 64;     // chosen: a fiber's stack holds many times as many
constexpr std::size_t most_items = 1'000'000;

/// An array or a map that is being read. `left` counts items; `open` ones end by a break.
struct level {
    std::uint64_t left;
    bool open;
};

class scanner {
public:
    explicit scanner(std::span<const std::byte> bytes) noexcept : rest_(bytes) {}

    void run() {
        do one_item();
        while (depth_ > 0);
        if (!rest_.empty()) refuse_bytes("there are bytes after the value");
    }

private:
    std::uint8_t byte() {
        if (rest_.empty()) refuse_bytes("it is cut short");
        const auto b = static_cast<std::uint8_t>(rest_.front());
        rest_ = rest_.subspan(1);
        return b;
    }
    std::uint64_t argument(std::uint8_t detail) {
        if (detail < 24) return detail;
        std::uint64_t value = 0;
        for (int left = 1 << (detail - 24); left > 0; --left) value = value << 8 | byte();
        return value;
    }
    void skip(std::uint64_t bytes) {
        if (bytes > rest_.size()) refuse_bytes("it is cut short");
        rest_ = rest_.subspan(bytes);
    }
    void enter(std::uint64_t items, bool open) {
        if (depth_ == most_levels) refuse_bytes("it is deeper than 64 levels");
        if (items > rest_.size()) refuse_bytes("it is cut short");   // each item has a byte at least
        levels_[depth_++] = {.left = items, .open = open};
    }
    /// An item of the innermost level is complete; so are, perhaps, levels.
    void complete() {
        while (depth_ > 0) {
            auto& l = levels_[depth_ - 1];
            if (l.open || --l.left > 0) return;
            --depth_;
        }
    }
    void one_item() {
        if (++items_ > most_items) refuse_bytes("it has more than a million items");
        const auto first = byte();
        const auto major = first >> 5, detail = first & 31;
        if (first == 0xff) {   // a break
            if (depth_ == 0 || !levels_[depth_ - 1].open) refuse_bytes("a break stands outside of an open item");
            --depth_;
            complete();
            return;
        }
        const bool open = detail == 31;
        if (detail > 27 && !open) refuse_bytes("a length is malformed");
        if (open && (major < 2 || major > 5)) refuse_bytes("an item of this kind has a length");
        const auto n = open ? 0 : argument(static_cast<std::uint8_t>(detail));
        switch (major) {
            case 2:
            case 3:
                if (open) return enter(0, true);
                skip(n);
                break;
            case 4:
            case 5: {
                if (n > rest_.size()) refuse_bytes("it is cut short");
                const auto items = major == 5 ? 2 * n : n;
                if (open || items > 0) return enter(items, open);
                break;
            }
            case 6: return enter(1, false);   // a tag, and what it is of
            default: break;
        }
        complete();
    }

    std::span<const std::byte> rest_;
    std::array<level, most_levels> levels_{};
    std::size_t depth_ = 0, items_ = 0;
};

}  // namespace

void require_readable_cbor(std::span<const std::byte> bytes) { scanner(bytes).run(); }

}  // namespace weft::cluster::detail
