// zstd.cpp - the coding zstd (RFC 8878), by libzstd.
#include <zstd.h>
#include <zstd_errors.h>

#include <new>

#include "http/compressor.hpp"

namespace weft::detail {
namespace {

// required: browsers and RFC 9659 take windows up to 8 MiB
constexpr int largest_window = 23;
// chosen: a window of 128 KiB and tables to match. This takes 1.1 MB for each stream (measured);
// zstd would take 2 MiB for the window alone, and many streams may be open for long.
constexpr int stream_window = 17, stream_table = 15;

/// \returns  the result. \throws std::bad_alloc, the only error that correct use leaves.
std::size_t checked(std::size_t result) {
    if (::ZSTD_isError(result)) throw std::bad_alloc();
    return result;
}

class zstd_compressor final : public compressor {
public:
    zstd_compressor(int level, std::optional<std::uint64_t> bytes) {
        if (!state_) throw std::bad_alloc();
        set(ZSTD_c_compressionLevel, level);
        if (bytes) checked(::ZSTD_CCtx_setPledgedSrcSize(state_.get(), *bytes));
        if (bytes && *bytes <= std::uint64_t{1} << stream_window) return;
        set(ZSTD_c_windowLog, stream_window);
        set(ZSTD_c_hashLog, stream_table);
        set(ZSTD_c_chainLog, stream_table);
    }

    void put(std::string_view piece, ending how, std::string& out) override {
        const auto directive = how == ending::whole ? ZSTD_e_end : how == ending::flush ? ZSTD_e_flush : ZSTD_e_continue;
        ZSTD_inBuffer from = {piece.data(), piece.size(), 0};
        for (bool more = true; more;) {
            const auto before = out.size();
            out.resize(before + room);
            ZSTD_outBuffer to = {out.data() + before, room, 0};
            const auto left = checked(::ZSTD_compressStream2(state_.get(), &to, &from, directive));
            out.resize(before + to.pos);
            more = how == ending::none ? from.pos < from.size : left > 0;
        }
    }

private:
    static constexpr std::size_t room = 16 * 1024;  // chosen: as much as a connection sends at once

    void set(ZSTD_cParameter which, int value) { checked(::ZSTD_CCtx_setParameter(state_.get(), which, value)); }

    struct destroy {
        void operator()(ZSTD_CCtx* c) const noexcept { ::ZSTD_freeCCtx(c); }
    };
    std::unique_ptr<ZSTD_CCtx, destroy> state_{::ZSTD_createCCtx()};
};

class zstd_decompressor final : public decompressor {
public:
    zstd_decompressor() {
        if (!state_) throw std::bad_alloc();
        checked(::ZSTD_DCtx_setParameter(state_.get(), ZSTD_d_windowLogMax, largest_window));
    }

    std::optional<std::size_t> take(std::string_view& in, std::span<char> room) override {
        if (!is_known(in)) return std::nullopt;
        ZSTD_inBuffer from = {in.data(), in.size(), 0};
        ZSTD_outBuffer to = {room.data(), room.size(), 0};
        const auto result = ::ZSTD_decompressStream(state_.get(), &to, &from);
        if (::ZSTD_isError(result)) {
            if (::ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation) throw std::bad_alloc();
            return std::nullopt;
        }
        in.remove_prefix(from.pos);
        if (from.pos > 0 || to.pos > 0) is_whole_ = result == 0;
        if (result == 0) magic_ = 0, magic_bytes_ = 0;
        return to.pos;
    }

    bool is_whole() const noexcept override { return is_whole_; }

private:
    /// Whether the frame begins as RFC 8878 says, as far as its first bytes are there. libzstd may
    /// read older formats as well, and does not limit the window of those.
    bool is_known(std::string_view in) noexcept {
        for (const char c : in.substr(0, magic_size - magic_bytes_))
            magic_ |= std::uint32_t{static_cast<unsigned char>(c)} << 8 * magic_bytes_++;
        const std::uint32_t there = magic_bytes_ == magic_size ? ~std::uint32_t{0} : (std::uint32_t{1} << 8 * magic_bytes_) - 1;
        return magic_ == (frame_magic & there) || (magic_ & skippable_mask) == (skippable_magic & there);
    }

    // required: RFC 8878, 3.1.1 and 3.1.2; the last four bits of a skippable frame are free
    static constexpr unsigned magic_size = 4;
    static constexpr std::uint32_t frame_magic = 0xFD2FB528, skippable_magic = 0x184D2A50, skippable_mask = 0xFFFFFFF0;

    struct destroy {
        void operator()(ZSTD_DCtx* c) const noexcept { ::ZSTD_freeDCtx(c); }
    };
    std::unique_ptr<ZSTD_DCtx, destroy> state_{::ZSTD_createDCtx()};
    std::uint32_t magic_ = 0;  // the first bytes of the frame, the lowest first
    unsigned magic_bytes_ = 0;
    bool is_whole_ = false;
};

}  // namespace

std::unique_ptr<compressor> make_zstd_compressor(int level, std::optional<std::uint64_t> bytes) {
    return std::make_unique<zstd_compressor>(level, bytes);
}
std::unique_ptr<decompressor> make_zstd_decompressor() { return std::make_unique<zstd_decompressor>(); }

}  // namespace weft::detail
