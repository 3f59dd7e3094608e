// compressor.hpp - one body on its way through gzip or zstd, without a word of their libraries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace weft::detail {

// chosen: 1 to 4 ms of computing at level 4 (measured with the text of docs/guide), after which
// other fibers have a turn
inline constexpr std::size_t compressed_at_once = 64 * 1024;

/// What the client must be able to decompress after a call.
enum class ending { none, flush, whole };

class compressor {
public:
    virtual ~compressor() = default;

    /// Compresses `piece` and appends what comes out. `ending::whole` must be the last call.
    ///
    /// \throws  std::bad_alloc.
    virtual void put(std::string_view piece, ending how, std::string& out) = 0;
};

class decompressor {
public:
    virtual ~decompressor() = default;

    /// Takes bytes off `in` and writes to `room`, until one of the two is used up.
    ///
    /// \returns  how many bytes were written; nothing if the input is malformed.
    /// \throws   std::bad_alloc.
    virtual std::optional<std::size_t> take(std::string_view& in, std::span<char> room) = 0;

    /// Whether the input so far is whole: it ended where a member or a frame ends.
    virtual bool is_whole() const noexcept = 0;
};

/// `bytes` is the size of the body, if it is known: a small one needs less memory. Levels are 1 to
/// 9.
std::unique_ptr<compressor> make_gzip_compressor(int level);
std::unique_ptr<compressor> make_zstd_compressor(int level, std::optional<std::uint64_t> bytes);

/// They read members or frames one after the other, as the formats allow.
std::unique_ptr<decompressor> make_gzip_decompressor();
std::unique_ptr<decompressor> make_zstd_decompressor();

}  // namespace weft::detail
