// chunk_decoder.hpp - decodes a chunked body (RFC 9112, 7.1), in whatever pieces its bytes arrive.
//
// Trailers and extensions are dropped.
//
//  state          the next byte belongs to              leaves by
//  size_begin     a chunk's size, its first digit       digit -> size
//  size           the size, or what ends it             ';' -> extension_name | CR -> size_lf
//  extension_name an extension, its first byte          token -> extension
//  extension      the extension                         CR -> size_lf
//  size_lf        the end of that line                  LF -> data | last chunk: trailer_begin
//  data           the chunk                             its last byte -> data_cr
//  data_cr, _lf   the line end after the chunk          CR, LF -> size_begin
//  trailer_begin  a trailer's name, or the empty line   token -> trailer_name | CR -> end_lf
//  trailer_name   the name                              ':' -> trailer_value
//  trailer_value  its value                             CR -> trailer_lf
//  trailer_lf     the end of that line                  LF -> trailer_begin
//  end_lf         the end of the body                   LF -> done
//  done           the next message                      -
//
// Any other byte, and any control byte except tab, is refused; a bare LF does not end a line here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "http/head_parser.hpp"

namespace weft::detail {

class chunk_decoder {
public:
    /// Takes bytes from the front, up to the end of the body, and appends the data they contain to
    /// `body`.
    refusal put(std::string_view& bytes, std::string& body, const decode_limits& limits);

    /// How many of the next bytes are data of the current chunk.
    std::uint64_t left_of_chunk() const noexcept { return state_ == state::data ? left_ : 0; }
    /// Takes at most so many bytes of data that are not here.
    void skip(std::uint64_t bytes) noexcept {
        left_ -= bytes;
        if (left_ == 0 && bytes > 0) state_ = state::data_cr;
    }
    bool done() const noexcept { return state_ == state::done; }
    void restart() noexcept { *this = chunk_decoder(); }

private:
    enum class state : std::uint8_t {
        size_begin,
        size,
        extension_name,
        extension,
        size_lf,
        data,
        data_cr,
        data_lf,
        trailer_begin,
        trailer_name,
        trailer_value,
        trailer_lf,
        end_lf,
        done
    };

    void take_data(std::string_view& bytes, std::string& body);
    bool take_byte(char c) noexcept;
    bool take_digit(char c) noexcept;
    bool expect(bool fits, state next) noexcept;

    state state_ = state::size_begin;
    unsigned digits_ = 0;
    std::uint64_t left_ = 0;  // bytes left of the current chunk
    std::size_t overhead_ = 0;
};

}  // namespace weft::detail
