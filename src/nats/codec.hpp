// codec.hpp - reads and writes the protocol of NATS: lines, and payloads of announced size.
//
//  state    bytes that come                   leaves by
//  line     a control line, without its end   LF -> line | payload (MSG, HMSG)
//  payload  of a message                      all are there -> end
//  end      CR and LF behind a payload        both -> line
//  broken   are ignored                       -
//
// Invariants
//   NATS_CODEC-1  What is reported does not depend on where the stream is cut.
//   NATS_CODEC-2  At most max_line bytes of a line are held (max_info of an INFO), and never more of a
//                 payload than have come, rounded up as a string grows.
//   NATS_CODEC-3  A payload is copied once, from the read buffer into its message: one that has come in
//                 pieces is gathered in the string that becomes its message's.
//
// What a message of which all has come passes through is `line` alone: nothing of it is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <weft/nats/message.hpp>

namespace weft::detail::nats {

/// A message that has come. What it refers to is valid during the call.
struct arrival {
    std::uint64_t sid = 0;
    std::string_view subject, reply, payload;
    std::string* gathered = nullptr;          // the string of a payload that came in pieces
    weft::nats::headers* headers = nullptr;  // if there are some

    /// Called once: it takes what was gathered.
    weft::nats::message take() const;
    /// So that a message can be made where it is to lie.
    explicit(false) operator weft::nats::message() const { return take(); }
};

/// What a parser reports. The views are valid during the call.
class listener_of_parser {
public:
    virtual void on_message(const arrival&) = 0;
    virtual void on_info(std::string_view json) = 0;
    virtual void on_ping() = 0;
    virtual void on_pong() = 0;
    virtual void on_error(std::string_view text) = 0;

protected:
    ~listener_of_parser() = default;
};

class parser {
public:
    static constexpr std::size_t max_line = 4096;  // required: what a server takes by default
    static constexpr std::size_t max_info = std::size_t{64} * 1024;  // chosen: a thousand servers of a cluster

    explicit parser(std::size_t max_message) : max_message_(max_message) {}

    /// \throws  weft::nats::error of protocol_error; then it is broken.
    void feed(std::string_view bytes, listener_of_parser& to);

    /// Whether it is between two lines.
    bool is_between() const noexcept { return state_ == state::line && held_.empty(); }

private:
    enum class state : std::uint8_t { line, payload, end, broken };

    /// Of a message, as its line has it.
    struct head {
        std::uint64_t sid = 0;
        std::string_view subject, reply;
        std::size_t header_size = 0, size = 0;
    };

    bool take_whole_message(std::string_view& bytes, listener_of_parser& to);
    void take_line(std::string_view& bytes, listener_of_parser& to);
    void take_payload(std::string_view& bytes);
    void take_end(std::string_view& bytes, listener_of_parser& to);
    /// `bytes` is what follows the line.
    void read_line(std::string_view line, std::string_view& bytes, listener_of_parser& to);
    void begin_message(const head&, std::string_view& bytes, listener_of_parser& to);
    head read_head(std::string_view words, bool with_headers);
    void report(const head&, std::string_view header_block, std::string_view payload, std::string* gathered,
                listener_of_parser& to);
    [[noreturn]] void refuse(const std::string& why);

    const std::size_t max_message_;
    state state_ = state::line;
    std::string held_;  // of an incomplete line
    // Of a message of which not all has come.
    head head_;
    std::string subject_, reply_, header_block_, payload_;
    std::size_t left_ = 0;  // bytes of the payload that are still to come; in `end`, of CR and LF
};

/// Throws error of bad_subject unless `subject` may be published to.
void check_subject(std::string_view subject);
/// Wildcards are allowed: `*` as a token, `>` as the last one.
void check_pattern(std::string_view pattern);
void check_headers(const weft::nats::headers&);

/// What follows "NATS/1.0" in a header block.
weft::nats::headers read_headers(std::string_view block);
std::string write_headers(const weft::nats::headers&);

/// Appends PUB, or HPUB if there are headers (as write_headers() spells them).
void append_publish(std::string& to, std::string_view subject, std::string_view reply, std::string_view header_block,
                    std::string_view payload);
void append_subscribe(std::string& to, std::string_view subject, std::string_view queue, std::uint64_t sid);
void append_unsubscribe(std::string& to, std::uint64_t sid);

}  // namespace weft::detail::nats
