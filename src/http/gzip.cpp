// gzip.cpp - the coding gzip (RFC 1952), by zlib.
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

#include "http/compressor.hpp"

namespace weft::detail {
namespace {

// required: 15 is zlib's largest window, 32 KiB, and 16 more means the format of gzip
constexpr int gzip_window = 15 + 16;
// chosen: zlib's default; with the window above, 256 KiB for each body
constexpr int memory_level = 8;

/// zlib does not change its input, but its interface has no const for every version.
Bytef* bytes_of(std::string_view text) noexcept { return const_cast<Bytef*>(reinterpret_cast<const Bytef*>(text.data())); }

uInt as_much_as_fits(std::size_t n) noexcept {
    return static_cast<uInt>(std::min<std::size_t>(n, std::numeric_limits<uInt>::max()));
}

class gzip_compressor final : public compressor {
public:
    explicit gzip_compressor(int level) {
        if (::deflateInit2(&state_, level, Z_DEFLATED, gzip_window, memory_level, Z_DEFAULT_STRATEGY) != Z_OK)
            throw std::bad_alloc();
    }
    ~gzip_compressor() override { ::deflateEnd(&state_); }
    gzip_compressor(const gzip_compressor&) = delete;
    gzip_compressor& operator=(const gzip_compressor&) = delete;

    void put(std::string_view piece, ending how, std::string& out) override {
        const int flush = how == ending::whole ? Z_FINISH : how == ending::flush ? Z_SYNC_FLUSH : Z_NO_FLUSH;
        // A piece of more than 4 GiB would not fit in zlib's counter; callers pass 64 KiB.
        state_.next_in = bytes_of(piece);
        state_.avail_in = as_much_as_fits(piece.size());
        do {
            const auto before = out.size();
            out.resize(before + room);
            state_.next_out = reinterpret_cast<Bytef*>(out.data() + before);
            state_.avail_out = room;
            ::deflate(&state_, flush);  // fails only if it is called wrongly, or has nothing to do
            out.resize(out.size() - state_.avail_out);
        } while (state_.avail_out == 0);
    }

private:
    static constexpr uInt room = 16 * 1024;  // chosen: as much as a connection sends at once

    z_stream state_ = {};
};

class gzip_decompressor final : public decompressor {
public:
    gzip_decompressor() {
        if (::inflateInit2(&state_, gzip_window) != Z_OK) throw std::bad_alloc();
    }
    ~gzip_decompressor() override { ::inflateEnd(&state_); }
    gzip_decompressor(const gzip_decompressor&) = delete;
    gzip_decompressor& operator=(const gzip_decompressor&) = delete;

    std::optional<std::size_t> take(std::string_view& in, std::span<char> to) override {
        if (is_whole_ && !in.empty()) {
            ::inflateReset(&state_);
            is_whole_ = false;
        }
        state_.next_in = bytes_of(in);
        state_.avail_in = as_much_as_fits(in.size());
        state_.next_out = reinterpret_cast<Bytef*>(to.data());
        state_.avail_out = as_much_as_fits(to.size());
        const auto given = state_.avail_in, asked = state_.avail_out;
        const int result = ::inflate(&state_, Z_NO_FLUSH);
        in.remove_prefix(given - state_.avail_in);
        if (result == Z_MEM_ERROR) throw std::bad_alloc();
        if (result == Z_STREAM_END)
            is_whole_ = true;
        else if (result != Z_OK && result != Z_BUF_ERROR)
            return std::nullopt;
        return asked - state_.avail_out;
    }

    bool is_whole() const noexcept override { return is_whole_; }

private:
    z_stream state_ = {};
    bool is_whole_ = false;
};

}  // namespace

std::unique_ptr<compressor> make_gzip_compressor(int level) { return std::make_unique<gzip_compressor>(level); }
std::unique_ptr<decompressor> make_gzip_decompressor() { return std::make_unique<gzip_decompressor>(); }

}  // namespace weft::detail
