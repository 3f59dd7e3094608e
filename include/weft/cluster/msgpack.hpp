// msgpack.hpp - messages that msgpack-c's C++ library converts, written as MessagePack.
//
// It needs the library's headers (libmsgpack-cxx-dev). A message has MSGPACK_DEFINE(...) or MSGPACK_DEFINE_MAP(...)
// in its class. Fields that are added at the end of the former, or to the latter, keep their default values where
// an old program has written the message. Fields own what they hold: a std::string_view would dangle.
//
// A type that json.hpp converts as well needs a wire_format of its own, which chooses one of the two.
#pragma once

#include <weft/detail/requirements.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <msgpack.hpp>

#include <weft/cluster/detail/unreadable.hpp>
#include <weft/cluster/wire.hpp>

namespace weft::cluster {

namespace detail {

/// Refuses what the library would read on a fiber's stack, since it converts nested items by recursion, or with too
/// much memory, since it allocates an array before it reads the items.
class readable_msgpack : public msgpack::null_visitor {
public:
    bool start_array(std::uint32_t items) noexcept { return enter(items); }
    bool start_map(std::uint32_t pairs) noexcept { return enter(std::size_t{2} * pairs); }
    bool end_array() noexcept { return leave(); }
    bool end_map() noexcept { return leave(); }

private:
    static constexpr int most_levels = 64;                // chosen: a fiber's stack holds many times as many
    static constexpr std::size_t most_items = 1'000'000;  // as of CBOR

    bool enter(std::size_t items) noexcept {
        if (levels_ == most_levels || items > most_items - items_) return false;
        items_ += items;
        ++levels_;
        return true;
    }
    bool leave() noexcept {
        --levels_;
        return true;
    }

    std::size_t items_ = 0;
    int levels_ = 0;
};

}  // namespace detail

/// A wire_format for a type that has no MSGPACK_DEFINE, but that the library knows, such as a reply:
///
///     template <>
///     struct weft::cluster::wire_format<std::string> : weft::cluster::msgpack_format<std::string> {};
template <class T>
struct msgpack_format {
    static void write(const T& value, std::uint32_t /*version*/, std::vector<std::byte>& into) {
        struct appended {
            void write(const char* bytes, std::size_t n) {
                const auto* const first = reinterpret_cast<const std::byte*>(bytes);
                into.insert(into.end(), first, first + n);
            }
            std::vector<std::byte>& into;
        } end{into};
        msgpack::pack(end, value);
    }
    static T read(std::span<const std::byte> bytes, std::uint32_t /*version*/) {
        const auto* const first = reinterpret_cast<const char*>(bytes.data());
        try {
            std::size_t end = 0;
            detail::readable_msgpack look;
            if (!msgpack::parse(first, bytes.size(), end, look))
                detail::refuse_bytes("it is cut short, malformed, deeper than 64 levels, or has more than a million items");
            if (end != bytes.size()) detail::refuse_bytes("there are bytes after the value");
            return msgpack::unpack(first, bytes.size()).get().as<T>();
        } catch (const msgpack::unpack_error& e) {
            detail::refuse_bytes(e.what());
        } catch (const msgpack::type_error&) {
            detail::refuse_bytes("a value has another type than the message's field");
        }
    }
};

template <class T>
    requires requires(T& t, const T& value, msgpack::packer<msgpack::sbuffer>& into, const msgpack::object& o) {
        value.msgpack_pack(into);
        t.msgpack_unpack(o);
    }
struct wire_format<T> : msgpack_format<T> {};

}  // namespace weft::cluster
