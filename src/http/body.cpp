// body.cpp - reads bodies as a whole, and collects what a body function writes.
#include <weft/http/body.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <unistd.h>

namespace weft::http {
namespace {

// chosen: a page
constexpr std::size_t piece_bytes = 4096;
// chosen: what one system call takes
constexpr std::size_t most_at_once = 64 * 1024;

/// Keeps what is written.
class collector final : public detail::body_sink {
public:
    void write(std::string_view piece) override { text_.append(piece); }

    void write_file(int descriptor, std::uint64_t offset, std::uint64_t bytes) override {
        std::array<char, piece_bytes> room;
        while (bytes > 0) {
            const auto n =
                ::pread(descriptor, room.data(), std::min<std::uint64_t>(room.size(), bytes), static_cast<off_t>(offset));
            if (n < 0) throw std::system_error(errno, std::generic_category(), "weft: http: reading a file");
            if (n == 0) throw std::system_error(std::make_error_code(std::errc::io_error), "weft: http: the file is shorter");
            text_.append(room.data(), static_cast<std::size_t>(n));
            offset += static_cast<std::uint64_t>(n);
            bytes -= static_cast<std::uint64_t>(n);
        }
    }

    void flush() override {}
    bool stopping() const noexcept override { return false; }

    std::string take() noexcept { return std::move(text_); }

private:
    std::string text_;
};

}  // namespace

std::size_t body_reader::read_some(std::span<std::byte> into) {
    if (source_) return source_->read_some(into);
    const auto n = std::min(into.size(), rest_.size());
    if (n > 0) std::memcpy(into.data(), rest_.data(), n);
    rest_.remove_prefix(n);
    return n;
}

std::string body_reader::read_all(std::size_t most) {
    const auto too_large = [most] { return body_error(413, "the body has more than " + std::to_string(most) + " bytes"); };
    if (left().value_or(0) > most) throw too_large();
    std::string text;
    for (;;) {
        const auto before = text.size();
        text.resize(before + std::min<std::uint64_t>(left().value_or(most_at_once), most_at_once));
        const auto n = text.size() > before ? read_some(std::as_writable_bytes(std::span(text).subspan(before))) : 0;
        text.resize(before + n);
        if (n == 0) return text;
        if (text.size() > most) throw too_large();
    }
}

std::string collect(const body_function& writes) {
    collector sink;
    body_writer to(sink);
    writes(to);
    return sink.take();
}

}  // namespace weft::http
