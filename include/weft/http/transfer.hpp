// transfer.hpp - one HTTP request whose bodies are streamed: written and read piece by piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <weft/detail/export.hpp>
#include <weft/http/headers.hpp>

namespace weft::detail {
class http_transfer;
}

namespace weft::http {

/// An answer, as a client sees it.
struct answer {
    int status = 0;
    std::string reason = {};  ///< as the server words it; may be empty
    http::headers headers = {};
    /// The whole body, decompressed if client_options::decompress says so. Empty in transfer::head().
    std::string body = {};
    /// The URL that has answered, after redirects; without user and password.
    std::string url = {};
    unsigned redirects = 0;  ///< how many were followed

    /// Whether the status is one of success: 200 to 299.
    [[nodiscard]] bool ok() const noexcept { return status >= 200 && status < 300; }
    /// The value of the first header of that name, whatever its case; empty if there is none.
    ///
    /// \lifetime  of the view: that of the answer.
    [[nodiscard]] std::string_view header(std::string_view name) const noexcept {
        return headers.find(name).value_or(std::string_view{});
    }
};

/// How long the body of a request is: `.body = 1000` bytes, `.body = weft::http::chunked` if that is not known
/// before. By default there is none.
class body_size {
public:
    constexpr body_size() noexcept = default;
    constexpr body_size(std::uint64_t bytes) noexcept : bytes_(bytes), kind_(kind::known) {}

    [[nodiscard]] constexpr bool is_none() const noexcept { return kind_ == kind::none; }
    [[nodiscard]] constexpr bool is_chunked() const noexcept { return kind_ == kind::chunked; }
    [[nodiscard]] constexpr std::uint64_t bytes() const noexcept { return bytes_; }

    [[nodiscard]] static constexpr body_size in_chunks() noexcept {
        body_size s;
        s.kind_ = kind::chunked;
        return s;
    }

private:
    enum class kind : std::uint8_t { none, known, chunked };

    std::uint64_t bytes_ = 0;
    kind kind_ = kind::none;
};

inline constexpr body_size chunked = body_size::in_chunks();

/// A request that client::open() made. Its body is written piece by piece, and so is the body of the
/// answer read:
///
///     auto up = client.open({.method = "POST", .url = "http://127.0.0.1/rows", .body = weft::http::chunked});
///     for (const auto& row : rows) up.write(row);
///     up.finish();
///     if (!up.head().ok()) throw std::runtime_error(up.read_all(1000));
///
/// One fiber or thread may write while another reads. It is move-only. The destructor gives the connection
/// back if both bodies are done, and closes it otherwise. It must not outlive the client.
///
/// Members throw client_error; weft::cancelled if this fiber is stopped or a deadline of the caller has passed.
class WEFT_EXPORT transfer {
public:
    /// Nothing is under way: only assignment and destruction are allowed.
    transfer() noexcept;
    transfer(transfer&&) noexcept;
    transfer& operator=(transfer&&) noexcept;
    ~transfer();

    /// Appends a piece of the body. Small pieces are collected and sent 16 KiB at a time.
    ///
    /// \returns  false if the server takes no more: it has closed the connection, or has answered where it
    ///           was asked before (wait_for_continue). head() then has its answer, or throws the reason. What
    ///           else is written is dropped. An answer that comes earlier is not looked for.
    /// \parks    while the server accepts nothing; with wait_for_continue the first call waits for "100
    ///           Continue" for at most a second.
    /// \throws   client_errc::bad_body if it is more than was announced.
    bool write(std::string_view piece);
    bool write(std::span<const std::byte> piece) {
        return write(std::string_view(reinterpret_cast<const char*>(piece.data()), piece.size()));
    }
    /// Sends what was collected.
    ///
    /// \returns  as write().
    /// \parks    while the server accepts nothing.
    bool flush();
    /// Ends the body. Without a body it need not be called.
    ///
    /// \returns  as write().
    /// \parks    while the server accepts nothing.
    /// \throws   client_errc::bad_body if fewer bytes were written than announced.
    bool finish();

    /// The status and the headers of the answer. The body of the request must have ended by then, or
    /// another fiber must be writing it.
    ///
    /// \parks     until they are there.
    /// \lifetime  of the reference: that of the transfer.
    const answer& head();

    /// Reads the bytes of the answer's body that are there, at least one.
    ///
    /// \returns  the number of bytes; 0 at the end of the body, and for an empty buffer.
    /// \parks    while there is nothing to read.
    std::size_t read_some(std::span<std::byte> into);
    /// Reads the rest of the body.
    ///
    /// \parks   until it is there.
    /// \throws  client_errc::body_too_large if there are more than `most` bytes; what was read before is
    ///          lost then.
    std::string read_all(std::size_t most = std::numeric_limits<std::size_t>::max());
    /// How many bytes of the body are still to be read; empty if that is not known: before the head
    /// has come, of a chunked body, and of one that is decompressed. For the reading side.
    [[nodiscard]] std::optional<std::uint64_t> left() const noexcept;

    /// Closes the connection. Operations under way fail. May be called from any fiber or thread.
    void abort() noexcept;

private:
    friend class client;
    explicit transfer(std::unique_ptr<detail::http_transfer> t) noexcept;

    std::unique_ptr<detail::http_transfer> open_;
};

}  // namespace weft::http
