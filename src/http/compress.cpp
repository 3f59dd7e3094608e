// compress.cpp - which answers are compressed, and how streams are.
#include <weft/http/compress.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <weft/fiber.hpp>

#include "fiber/interrupts.hpp"
#include "http/compressor.hpp"
#include "http/conditions.hpp"
#include "http/content_type.hpp"
#include "http/field_list.hpp"
#include "http/streamed_answer.hpp"

namespace weft::http {
namespace {

using detail::coding;

/// Passes a long text on in pieces, and lets other fibers run in between.
class in_turns {
public:
    template <class Each>
    void operator()(std::string_view text, Each&& each) {
        while (!text.empty()) {
            if (done_ == detail::compressed_at_once) {
                this_fiber::yield();
                done_ = 0;
            }
            const auto piece = text.substr(0, detail::compressed_at_once - done_);
            each(piece);
            done_ += piece.size();
            text.remove_prefix(piece.size());
        }
    }

private:
    std::size_t done_ = 0;  // since the last turn of others
};

std::unique_ptr<detail::compressor> compressor_for(coding how, int level, std::optional<std::uint64_t> bytes) {
    return how == coding::zstd ? detail::make_zstd_compressor(level, bytes) : detail::make_gzip_compressor(level);
}

std::string compressed(std::string_view body, coding how, int level) {
    const auto through = compressor_for(how, level, body.size());
    std::string out;
    in_turns()(body, [&](std::string_view piece) { through->put(piece, detail::ending::none, out); });
    through->put({}, detail::ending::whole, out);
    return out;
}

class compressing_sink final : public detail::body_sink {
public:
    /// `bytes` is the length that was announced for the body as it is, which nobody else looks at.
    compressing_sink(body_writer& to, std::unique_ptr<detail::compressor> through, std::optional<std::uint64_t> bytes)
        : to_(to), through_(std::move(through)), left_(bytes) {}

    void write(std::string_view text) override {
        check_length(text.size());
        step s(*this);
        compress(text);
        s.done();
    }

    void write_file(int descriptor, std::uint64_t offset, std::uint64_t bytes) override {
        check_length(bytes);
        detail::check_file(descriptor, offset, bytes);
        step s(*this);
        std::string room(std::min<std::uint64_t>(detail::compressed_at_once, bytes), '\0');
        while (bytes > 0) {
            const auto n =
                ::pread(descriptor, room.data(), std::min<std::uint64_t>(room.size(), bytes), static_cast<off_t>(offset));
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) throw std::system_error(errno, std::generic_category(), "weft: http: reading a file");
            if (n == 0) throw std::system_error(std::make_error_code(std::errc::io_error), "weft: http: the file is shorter");
            compress(std::string_view(room).substr(0, static_cast<std::size_t>(n)));
            offset += static_cast<std::uint64_t>(n);
            bytes -= static_cast<std::uint64_t>(n);
        }
        s.done();
    }

    void flush() override {
        step s(*this);
        put_collected(detail::ending::flush);
        to_.flush();
        s.done();
    }

    bool stopping() const noexcept override { return to_.stopping(); }

    void end() {
        step s(*this);
        if (left_ && *left_ > 0)
            throw std::length_error("weft: http: the body has " + std::to_string(*left_) + " bytes less than were announced");
        put_collected(detail::ending::whole);
        s.done();
    }

private:
    /// What was begun and has failed cannot be gone on with: the compressor may have taken a part.
    class step {
    public:
        explicit step(compressing_sink& of) : of_(of) {
            if (of.is_broken_)
                throw std::system_error(std::make_error_code(std::errc::io_error),
                                        "weft: http: write a body of which a piece has failed before");
            // Nothing has been changed yet: the function may go on after this.
            detail::check_interrupt();
            of.is_broken_ = true;
        }
        void done() noexcept { of_.is_broken_ = false; }

    private:
        compressing_sink& of_;
    };

    void check_length(std::uint64_t more) const {
        if (left_ && more > *left_) throw std::length_error("weft: http: the body has more bytes than were announced");
    }

    void compress(std::string_view text) {
        if (left_) *left_ -= text.size();
        if (collected_.size() + text.size() < collected_bytes) {
            collected_.append(text);
            return;
        }
        put_collected(detail::ending::none);
        in_turns_(text, [this](std::string_view piece) { put(piece, detail::ending::none); });
    }

    void put_collected(detail::ending how) {
        if (!collected_.empty()) in_turns_(collected_, [this](std::string_view piece) { put(piece, detail::ending::none); });
        collected_.clear();
        if (how != detail::ending::none) put({}, how);
    }

    void put(std::string_view piece, detail::ending how) {
        through_->put(piece, how, out_);
        to_.write(out_);
        out_.clear();
    }

    // chosen: each call of a compressor clears 16 KiB for what comes out, which costs more than to
    // compress a few bytes
    static constexpr std::size_t collected_bytes = 4 * 1024;

    body_writer& to_;
    std::unique_ptr<detail::compressor> through_;
    std::optional<std::uint64_t> left_;
    std::string collected_;  // smaller pieces
    std::string out_;
    bool is_broken_ = false;
    in_turns in_turns_;
};

/// Whether nobody gets the body in another form.
bool is_fixed(const response& r) {
    for (const std::string_view field : {"Content-Encoding", "Content-Digest", "Repr-Digest", "Digest", "Content-MD5"})
        if (r.headers.contains(field)) return true;
    return detail::has_element(r.headers, "Cache-Control", "no-transform");
}

/// Whether the answer has a body that may be changed at all.
bool may_change(const response& r) {
    if (r.headers.contains("Content-Range") || is_fixed(r)) return false;
    const bool has_body = r.status >= 200 && r.status != 204 && r.status != 205 && r.status != 206 && r.status != 304;
    return has_body && (r.stream || !r.body.empty());
}

/// Whether compression is worth its time and memory for a body of this type.
bool is_worth_it(std::string_view type) {
    auto words = type;
    // It stays open for as long as its client likes, and so would a compressor of up to 1.2 MB.
    if (detail::equal_ignoring_case(detail::take_until(words, ';'), "text/event-stream")) return false;
    return detail::is_compressible(type);
}

void weaken_tag(headers& of) {
    const auto tag = of.find("ETag");
    if (tag && !tag->starts_with("W/")) of.set("ETag", "W/" + std::string(*tag));
}

void mark_as(coding how, headers& of) {
    of.set("Content-Encoding", detail::name(how));
    // Positions would be those of the compressed body, which is made anew each time.
    of.erase("Accept-Ranges");
    detail::add_vary(of, "Accept-Encoding");
    weaken_tag(of);
}

class compressing {
public:
    explicit compressing(compress_options o) : options_(o) {}

    response operator()(const request& asked, const next& next) const {
        auto answer = next(asked);
        if (answer.status == 304) {
            detail::add_vary(answer.headers, "Accept-Encoding");
            // The client has a compressed body if it has the tag in the form that was made for one.
            const auto tag = answer.headers.find("ETag");
            if (tag && detail::has_weak_form_only(asked.headers(), *tag)) weaken_tag(answer.headers);
            return answer;
        }
        const bool shrinks = is_worth_it(answer.headers.find("Content-Type").value_or(std::string_view{}));
        // A part is never compressed, but the whole that it is a part of may be.
        if (answer.status == 206 && shrinks && !is_fixed(answer)) detail::add_vary(answer.headers, "Accept-Encoding");
        if (!may_change(answer)) return answer;
        const detail::accepted_codings accepted(asked.headers());
        const auto how = detail::best_of(accepted, true, true);
        if (shrinks) detail::add_vary(answer.headers, "Accept-Encoding");
        const bool must = accepted.identity() == 0;
        if (how != coding::identity && (must || (shrinks && is_large(answer)))) change(answer, how, must);
        return answer;
    }

private:
    bool is_large(const response& r) const noexcept {
        return r.stream ? r.stream_length.value_or(options_.least) >= options_.least : r.body.size() >= options_.least;
    }

    void change(response& answer, coding how, bool must) const {
        if (!answer.stream) {
            auto smaller = compressed(answer.body, how, options_.level);
            if (smaller.size() >= answer.body.size() && !must) return;
            answer.body = std::move(smaller);
        } else {
            const auto level = options_.level;
            answer.stream = [how, level, bytes = answer.stream_length, writes = std::move(answer.stream)](body_writer& to) {
                compressing_sink sink(to, compressor_for(how, level, bytes), bytes);
                body_writer through(sink);
                writes(through);
                sink.end();
            };
            answer.stream_length.reset();
        }
        mark_as(how, answer.headers);
    }

    compress_options options_;
};

}  // namespace

middleware compress(compress_options options) {
    if (options.level < 1 || options.level > 9)
        throw std::invalid_argument("weft: http: compress(): level " + std::to_string(options.level) + " is not 1 to 9");
    return compressing(options);
}

}  // namespace weft::http
