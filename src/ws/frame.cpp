#include "ws/frame.hpp"

#include <algorithm>
#include <cstring>

namespace weft::detail::ws {
namespace {

using weft::ws::errc;

constexpr unsigned last_frame = 0x80, rsv1 = 0x40, other_rsv = 0x30, masked = 0x80;
constexpr std::size_t two_bytes_follow = 126, eight_bytes_follow = 127;
// chosen: what a frame announces is reserved up to this, before it is there
constexpr std::uint64_t reserved_ahead = 64 * 1024;

void append_number(std::string& out, std::uint64_t n, int bytes) {
    while (bytes-- > 0) out.push_back(static_cast<char>(n >> (8 * bytes)));
}

unsigned byte(char c) noexcept { return static_cast<unsigned char>(c); }

}  // namespace

void append_frame(std::string& out, const frame_form& form, std::string_view payload) {
    const auto size = payload.size();
    out.push_back(static_cast<char>(last_frame | (form.is_compressed ? rsv1 : 0) | static_cast<unsigned>(form.what)));
    const unsigned mask_bit = form.mask ? masked : 0;
    if (size < two_bytes_follow) {
        out.push_back(static_cast<char>(mask_bit | size));
    } else if (size <= 0xffff) {
        out.push_back(static_cast<char>(mask_bit | two_bytes_follow));
        append_number(out, size, 2);
    } else {
        out.push_back(static_cast<char>(mask_bit | eight_bytes_follow));
        append_number(out, size, 8);
    }
    if (form.mask) out.append(reinterpret_cast<const char*>(form.mask->data()), form.mask->size());
    const auto begin = out.size();
    out.append(payload);
    if (form.mask) apply_mask(out.data() + begin, size, *form.mask);
}

std::string close_payload(std::uint16_t code, std::string_view reason) {
    std::string made;
    append_number(made, code, 2);
    reason = reason.substr(0, most_of_control - made.size());
    while (!is_utf8(reason)) reason.remove_suffix(1);  // a character was cut
    return made.append(reason);
}

bool is_close_code(unsigned code) noexcept {
    return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code <= 4999);
}

frame_reader::event frame_reader::fail(errc why) noexcept {
    failure_ = why;
    return event::broken;
}

/// \returns  whether the head is whole, or wrong.
bool frame_reader::read_head(std::string_view& in) {
    while (have_ < need_) {
        if (in.empty()) return false;
        const auto n = std::min<std::size_t>(in.size(), static_cast<std::size_t>(need_ - have_));
        std::memcpy(head_.data() + have_, in.data(), n);
        have_ = static_cast<std::uint8_t>(have_ + n);
        in.remove_prefix(n);
        if (have_ == 2) {
            if (!check_start()) return true;
            const auto size = byte(head_[1]) & ~masked;
            need_ = static_cast<std::uint8_t>(2 +
                                              (size == two_bytes_follow     ? 2
                                               : size == eight_bytes_follow ? 8
                                                                            : 0) +
                                              (is_masked_ ? 4 : 0));
        }
    }
    static_cast<void>(check_head());
    return true;
}

/// The first two bytes. What is wrong with them is found before the rest has come.
bool frame_reader::check_start() noexcept {
    const auto first = byte(head_[0]), second = byte(head_[1]);
    const auto code = first & 0x0f;
    what_ = static_cast<opcode>(code);
    is_last_ = first & last_frame;
    failure_ = errc::protocol_error;
    if ((first & other_rsv) || code > 10 || (code > 2 && code < 8)) return false;
    if (static_cast<bool>(second & masked) != is_masked_) return false;
    if ((first & rsv1) && (!limits_.may_be_compressed || is_control(what_) || what_ == opcode::continuation)) return false;
    if (is_control(what_)) {
        if (!is_last_ || (second & ~masked) > most_of_control) return false;
    } else if ((what_ == opcode::continuation) != in_message_) {
        return false;
    } else if (!in_message_) {
        message_kind_ = what_;
        is_compressed_ = first & rsv1;
    }
    failure_ = {};
    return true;
}

/// The length, in the shortest form that holds it, and the key.
bool frame_reader::check_head() noexcept {
    const auto size = byte(head_[1]) & ~masked;
    std::uint64_t n = size;
    if (size >= two_bytes_follow) {
        n = 0;
        const std::size_t bytes = size == two_bytes_follow ? 2 : 8;
        for (std::size_t i = 0; i < bytes; ++i) n = n << 8 | byte(head_[2 + i]);
        const std::uint64_t least = size == two_bytes_follow ? two_bytes_follow : 0x10000;
        if (n < least || n >> 63) {
            failure_ = errc::protocol_error;
            return false;
        }
    }
    if (is_masked_) std::memcpy(key_.data(), head_.data() + need_ - key_.size(), key_.size());
    // A compressed one may be somewhat larger than what is in it.
    const auto most = limits_.max_message + (is_compressed_ ? limits_.max_message / 256 + 1024 : 0);
    if (!is_control(what_) && (n > most || message_.size() > most - n)) {
        failure_ = errc::message_too_big;
        return false;
    }
    length_ = left_ = n;
    return true;
}

frame_reader::event frame_reader::next(std::string_view& in) {
    if (failure_ != errc{}) return event::broken;
    for (;;) {
        if (!in_payload_) {
            if (!read_head(in)) return event::more;
            if (failure_ != errc{}) return event::broken;
            in_payload_ = true;
            if (is_control(what_)) {
                control_.clear();
            } else {
                if (!in_message_) {
                    message_.clear();
                    utf8_.restart();
                }
                in_message_ = true;
                message_.reserve(message_.size() + static_cast<std::size_t>(std::min(length_, reserved_ahead)));
            }
        }
        const auto piece = in.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left_, in.size())));
        in.remove_prefix(piece.size());
        if (!put(piece)) return fail(errc::invalid_text);
        if (left_ > 0) return event::more;
        in_payload_ = false;
        have_ = 0;
        need_ = 2;
        if (const auto e = finish_frame(); e != event::more) return e;
    }
}

/// \returns  whether it may belong to a text, if it has to.
bool frame_reader::put(std::string_view piece) {
    auto& to = is_control(what_) ? control_ : message_;
    const auto begin = to.size();
    to.append(piece);
    if (is_masked_) apply_mask(to.data() + begin, piece.size(), key_, length_ - left_);
    left_ -= piece.size();
    if (is_control(what_) || message_kind_ != opcode::text || is_compressed_) return true;
    return utf8_.put(std::string_view(to).substr(begin));
}

frame_reader::event frame_reader::finish_frame() {
    if (is_control(what_)) return finish_control();
    if (!is_last_) return event::more;
    in_message_ = false;
    if (message_kind_ == opcode::text && !is_compressed_ && !utf8_.is_whole()) return fail(errc::invalid_text);
    return event::message;
}

frame_reader::event frame_reader::finish_control() {
    if (what_ == opcode::ping) return event::ping;
    if (what_ == opcode::pong) return event::pong;
    if (control_.empty()) return event::close;
    if (control_.size() == 1 || !is_close_code(byte(control_[0]) << 8 | byte(control_[1]))) return fail(errc::protocol_error);
    if (!is_utf8(std::string_view(control_).substr(2))) return fail(errc::invalid_text);
    return event::close;
}

}  // namespace weft::detail::ws
