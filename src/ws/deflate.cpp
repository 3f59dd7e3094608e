#include "ws/deflate.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <utility>

#include <weft/detail/annotated_locks.hpp>

#include "base/spin_lock.hpp"

namespace weft::detail::ws {
namespace {

constexpr int memory_level = 8;  // chosen: zlib's default
// required: what each flush ends with, and what is left out on the wire. [RFC7692, 7.2.1]
constexpr std::string_view flush_mark("\x00\x00\xff\xff", 4);

Bytef* bytes_of(std::string_view text) noexcept { return const_cast<Bytef*>(reinterpret_cast<const Bytef*>(text.data())); }

/// zlib counts by 32 bits.
template <class Step>
bool in_parts(std::string_view text, const Step& step) {
    constexpr std::size_t most = std::size_t{1} << 30;
    for (;;) {
        const auto part = text.substr(0, most);
        text.remove_prefix(part.size());
        if (!step(part, text.empty())) return false;
        if (text.empty()) return true;
    }
}

}  // namespace

class compressor {
public:
    compressor(int window, int level) : window_(window), level_(level) {
        if (::deflateInit2(&state_, level, Z_DEFLATED, -window, memory_level, Z_DEFAULT_STRATEGY) != Z_OK) throw std::bad_alloc();
    }
    ~compressor() { ::deflateEnd(&state_); }
    compressor(const compressor&) = delete;
    compressor& operator=(const compressor&) = delete;

    bool fits(int window, int level) const noexcept { return window == window_ && level == level_; }
    void restart() noexcept { ::deflateReset(&state_); }

    std::string put(std::string_view message) {
        std::string out;
        out.reserve(message.size() / 2 + 64);
        in_parts(message, [&](std::string_view part, bool is_last) {
            state_.next_in = bytes_of(part);
            state_.avail_in = static_cast<uInt>(part.size());
            do {
                const auto before = out.size();
                out.resize(std::max(out.capacity(), before + 64));
                state_.next_out = reinterpret_cast<Bytef*>(out.data() + before);
                state_.avail_out =
                    static_cast<uInt>(std::min<std::size_t>(out.size() - before, std::numeric_limits<uInt>::max()));
                const auto room = state_.avail_out;
                ::deflate(&state_, is_last ? Z_SYNC_FLUSH : Z_NO_FLUSH);  // fails only if there is nothing to do
                out.resize(before + room - state_.avail_out);
            } while (state_.avail_out == 0);
            return true;
        });
        if (out.ends_with(flush_mark)) out.resize(out.size() - flush_mark.size());
        if (out.empty()) out.push_back('\0');  // an empty block, for which a second flush writes nothing
        return out;
    }

private:
    z_stream state_ = {};
    const int window_, level_;
};

class decompressor {
public:
    explicit decompressor(int window) : window_(window) {
        if (::inflateInit2(&state_, -window) != Z_OK) throw std::bad_alloc();
    }
    ~decompressor() { ::inflateEnd(&state_); }
    decompressor(const decompressor&) = delete;
    decompressor& operator=(const decompressor&) = delete;

    bool fits(int window, int) const noexcept { return window == window_; }
    void restart() noexcept { ::inflateReset(&state_); }

    std::optional<weft::ws::errc> put(std::string_view message, std::size_t most, std::string& out) {
        using weft::ws::errc;
        std::optional<errc> wrong;
        const auto step = [&](std::string_view part, bool) { return !(wrong = put_part(part, most, out)); };
        if (in_parts(message, step) && !has_ended_) in_parts(flush_mark, step);
        has_ended_ = false;
        return wrong;
    }

private:
    std::optional<weft::ws::errc> put_part(std::string_view part, std::size_t most, std::string& out) {
        using weft::ws::errc;
        constexpr std::size_t step = 16 * 1024;  // chosen: a bomb is found after as much
        state_.next_in = bytes_of(part);
        state_.avail_in = static_cast<uInt>(part.size());
        for (;;) {
            const auto before = out.size();
            if (before > most) return errc::message_too_big;
            const auto wanted = std::min(std::max(step, before), most - before + 1);
            out.resize(before + wanted);
            state_.next_out = reinterpret_cast<Bytef*>(out.data() + before);
            state_.avail_out = static_cast<uInt>(std::min<std::size_t>(wanted, std::numeric_limits<uInt>::max()));
            const auto room = state_.avail_out;
            const int result = ::inflate(&state_, Z_SYNC_FLUSH);
            out.resize(before + room - state_.avail_out);
            if (out.size() > most) return errc::message_too_big;
            if (result == Z_STREAM_END) {  // a last block: another stream may follow
                has_ended_ = state_.avail_in == 0;
                ::inflateReset(&state_);
                if (has_ended_) return {};
                continue;
            }
            has_ended_ = false;
            if (result == Z_MEM_ERROR) throw std::bad_alloc();
            if (result != Z_OK && result != Z_BUF_ERROR) return errc::invalid_compression;
            if (state_.avail_out > 0) return {};  // all of the part is taken
        }
    }

    z_stream state_ = {};
    const int window_;
    bool has_ended_ = false;  // by a last block
};

namespace {

/// Keeps what was lent for one message, for the next one.
template <class T>
class pool {
public:
    template <class... A>
    std::unique_ptr<T> take(int window, A... more) {
        {
            const lock_guard guard(lock_);
            for (std::size_t i = count_; i-- > 0;)
                if (kept_[i]->fits(window, (more + ... + 0))) {
                    std::swap(kept_[i], kept_[--count_]);
                    return std::move(kept_[count_]);
                }
        }
        return std::make_unique<T>(window, more...);
    }
    void give_back(std::unique_ptr<T> t) noexcept {
        t->restart();
        const lock_guard guard(lock_);
        if (count_ < kept_.size()) std::swap(kept_[count_++], t);
    }

private:
    spin_lock lock_;
    // chosen: so many threads seldom compress at once; 4 MiB together
    std::array<std::unique_ptr<T>, 16> kept_ WEFT_GUARDED_BY(lock_);
    std::size_t count_ WEFT_GUARDED_BY(lock_) = 0;
};

pool<compressor>& compressors() {
    static pool<compressor> all;
    return all;
}
pool<decompressor>& decompressors() {
    static pool<decompressor> all;
    return all;
}

}  // namespace

deflate_codec::deflate_codec(const deflate_terms& terms, int level) : terms_(terms), level_(level) {}
deflate_codec::~deflate_codec() = default;

std::string deflate_codec::compress(std::string_view message) {
    if (!terms_.send_takeover) {
        auto lent = compressors().take(terms_.send_window, level_);
        auto made = lent->put(message);
        compressors().give_back(std::move(lent));
        return made;
    }
    if (!out_) out_ = std::make_unique<compressor>(terms_.send_window, level_);
    return out_->put(message);
}

std::optional<weft::ws::errc> deflate_codec::decompress(std::string_view message, std::size_t most, std::string& out) {
    if (!terms_.receive_takeover) {
        auto lent = decompressors().take(terms_.receive_window);
        const auto wrong = lent->put(message, most, out);
        decompressors().give_back(std::move(lent));
        return wrong;
    }
    if (!in_) in_ = std::make_unique<decompressor>(terms_.receive_window);
    return in_->put(message, most, out);
}

}  // namespace weft::detail::ws
