// content.hpp - the body of an answer as its reader sees it: decompressed, if it has to be.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <weft/http/transfer.hpp>

#include "http/client/exchange.hpp"
#include "http/compressor.hpp"

namespace weft::detail {

class content_reader {
public:
    /// Decides by the head how the body is read. If it is decompressed, the fields that describe the
    /// compressed one are removed.
    void begin(http::answer& head, bool decompresses);

    /// \returns  how many bytes were read; 0 at the end of the body, and for an empty buffer.
    /// \parks    until there are some.
    /// \throws   client_failure.
    std::size_t read(client_exchange& from, std::span<std::byte> into);
    bool is_decompressed() const noexcept { return through_ != nullptr; }

    /// Appends the rest of the body.
    ///
    /// \throws  client_failure, body_too_large if there are more than `most` bytes.
    void read_all(client_exchange& from, std::string& into, std::size_t most);

private:
    bool refill(client_exchange& from);

    std::unique_ptr<decompressor> through_;  // null: the body is not compressed
    std::string packed_;
    std::string_view rest_;    // of packed_
    bool is_full_ = false;     // the last take() has filled its room, so there may be more
    bool has_packed_ = false;  // a byte of the body has come
};

}  // namespace weft::detail
