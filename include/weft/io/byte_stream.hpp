// byte_stream.hpp - any stream of bytes behind one type, chosen at run time: TCP, pipes, simulated.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include <weft/detail/export.hpp>
#include <weft/detail/stream_operations.hpp>
#include <weft/io/stream.hpp>
#include <weft/net/endpoint.hpp>

namespace weft::io {

class byte_stream;

/// What a byte_stream can hold: a stream for both directions that can be moved, with
///
///     void wait_readable(std::error_code&);          // parks until read_some() would not wait
///     void shutdown(io::side, std::error_code&);     // ends one direction, from any thread, also
///                                                    // while an operation is under way
///     void close() noexcept;                         // from any thread; wakes what is under way
///     bool is_open() const noexcept;
///     watch_readable(const S&)                       // for on_readable(); found by its argument
///
/// It may also have write_all(pieces, error), try_read_some(), try_write_some(), abort(), remote(),
/// unacknowledged() and source_of(), which mean what they mean in tcp::stream. Without them a
/// byte_stream writes pieces one by one, its try_ forms always return empty, abort() is close(),
/// remote() is empty, unacknowledged() is 0, and io::copy() passes its bytes through a buffer.
template <class S>
concept full_stream =
    stream<S> && std::move_constructible<S> && requires(S& s, const S& there, side which, std::error_code& error) {
        s.wait_readable(error);
        s.shutdown(which, error);
        s.close();
        { there.is_open() } -> std::convertible_to<bool>;
        { watch_readable(there) } -> std::derived_from<detail::select_watch>;
    };

/// The readiness of a byte_stream as a case of a select; see on_readable().
class WEFT_EXPORT byte_readiness final : public detail::select_watch {
public:
    explicit byte_readiness(const byte_stream& of) noexcept : stream_(&of) {}

    void open() noexcept override;
    state look() noexcept override { return held_->look(); }
    bool enlist(detail::waiter& w) noexcept override { return held_->enlist(w); }
    void delist(detail::waiter& w) noexcept override { held_->delist(w); }
    detail::time_point ready_at() const noexcept override { return held_->ready_at(); }
    void close() noexcept override;

private:
    const byte_stream* stream_;
    detail::select_watch* held_ = nullptr;  // in room_, from open() to close()
    detail::watch_room room_;
};

/// Any stream, for code that is compiled once and is told at run time what it talks through: a TCP
/// connection, the pipes of a child process, a stream of a simulated network, or a class of your
/// own.
///
///     weft::io::byte_stream s = weft::tcp::stream::connect({.host = "127.0.0.1", .port = 6379});
///     s.write_all("PING\r\n");
///
/// Its operations are those of tcp::stream, parks and failures included; deadlines and stops work
/// as they do there. One fiber or thread may read while another writes. close(), abort() and
/// shutdown() may be called from anywhere meanwhile; the destructor and a move may not.
///
/// \cost  one indirect call per operation: six instructions (docs/design/streams.md). A stream of
///        up to three words, such as tcp::stream, is kept inside; a larger one on the heap.
class WEFT_EXPORT byte_stream {
public:
    /// A closed stream.
    byte_stream() noexcept { hold_closed(); }

    /// Takes the stream over. \throws std::bad_alloc, only if it has to be kept on the heap.
    template <class S>
        requires(!std::same_as<std::remove_cvref_t<S>, byte_stream> && !std::is_lvalue_reference_v<S> && full_stream<S>)
    byte_stream(S&& s) noexcept(detail::fits_in_room<S>) : operations_(&detail::operations_on<S>::table) {
        if constexpr (detail::fits_in_room<S>)
            ::new (room_.bytes) S(std::move(s));
        else
            ::new (room_.bytes) S*(new S(std::move(s)));
    }

    /// The stream moved from is closed.
    byte_stream(byte_stream&& other) noexcept : operations_(other.operations_) {
        operations_->move(other.room_, room_);
        other.hold_closed();
    }
    byte_stream& operator=(byte_stream&& other) noexcept {
        if (this == &other) return *this;
        operations_->destroy(room_);
        operations_ = other.operations_;
        operations_->move(other.room_, room_);
        other.hold_closed();
        return *this;
    }
    ~byte_stream() { operations_->destroy(room_); }

    /// Reads the bytes that are there, at least one.
    ///
    /// \returns  the number of bytes; 0 at end of stream, and for an empty buffer.
    /// \parks    while there is nothing to read.
    std::size_t read_some(std::span<std::byte> into);
    std::size_t read_some(std::span<std::byte> into, std::error_code& error) {
        return operations_->read_some(room_, into, error);
    }
    /// Does what read_some() would do, if that is possible without waiting.
    ///
    /// \returns  what read_some() would return; empty if it would wait, and always if the stream
    ///           inside has no try_read_some() of its own.
    [[nodiscard]] std::optional<std::size_t> try_read_some(std::span<std::byte> into);
    [[nodiscard]] std::optional<std::size_t> try_read_some(std::span<std::byte> into, std::error_code& error) {
        return operations_->try_read_some(room_, into, error);
    }
    /// Waits until read_some() would not wait: bytes, or end of stream.
    ///
    /// \parks  while there is nothing to read.
    void wait_readable();
    void wait_readable(std::error_code& error) { operations_->wait_readable(room_, error); }

    /// Writes what fits, at least one byte.
    ///
    /// \returns  the number of bytes; 0 only if `from` is empty.
    /// \parks    while the peer accepts nothing.
    std::size_t write_some(std::span<const std::byte> from);
    std::size_t write_some(std::span<const std::byte> from, std::error_code& error) {
        return operations_->write_some(room_, from, error);
    }
    template <detail::text_like Text = std::string_view>
    std::size_t write_some(const Text& from) {
        return write_some(detail::text_bytes(from));
    }
    template <detail::text_like Text = std::string_view>
    std::size_t write_some(const Text& from, std::error_code& error) {
        return write_some(detail::text_bytes(from), error);
    }
    /// Does what write_some() would do, if that is possible without waiting.
    ///
    /// \returns  what write_some() would return; empty if it would wait, and always if the stream
    ///           inside has no try_write_some() of its own.
    [[nodiscard]] std::optional<std::size_t> try_write_some(std::span<const std::byte> from);
    [[nodiscard]] std::optional<std::size_t> try_write_some(std::span<const std::byte> from, std::error_code& error) {
        return operations_->try_write_some(room_, from, error);
    }

    /// Writes everything.
    ///
    /// \parks  while the peer accepts nothing. If interrupted, it may have written a part.
    void write_all(std::span<const std::byte> from);
    /// \returns  how many bytes were written, also on failure.
    std::size_t write_all(std::span<const std::byte> from, std::error_code& error);
    void write_all(std::string_view from) { write_all(std::as_bytes(std::span(from))); }
    std::size_t write_all(std::string_view from, std::error_code& error) {
        return write_all(std::as_bytes(std::span(from)), error);
    }
    /// Writes several pieces in order, as one where the stream can.
    ///
    /// \parks  while the peer accepts nothing. If interrupted, it may have written a part.
    void write_all(std::span<const std::span<const std::byte>> pieces);
    std::size_t write_all(std::span<const std::span<const std::byte>> pieces, std::error_code& error) {
        return operations_->write_all(room_, pieces, error);
    }

    /// Ends one direction: after side::send the peer reads end of stream and may still answer.
    void shutdown(side which);
    void shutdown(side which, std::error_code& error) { operations_->shutdown(room_, which, error); }
    /// Calls shutdown(side::send) and ignores a failure.
    void shutdown_send() {
        std::error_code ignored;
        shutdown(side::send, ignored);
    }

    /// Ends the stream. Operations under way wake with bad_file_descriptor. May be called
    /// repeatedly, and from any thread.
    void close() noexcept { operations_->close(room_); }
    /// Does close() in such a way that the peer learns that something is missing, where the stream
    /// can say so: a TCP connection is reset.
    void abort() noexcept { operations_->abort(room_); }
    [[nodiscard]] bool is_open() const noexcept { return operations_->is_open(room_); }

    /// \returns  the stream inside, if it is an S; else null. For what only one kind has, such as
    ///           tls::stream::peer().
    template <class S>
    [[nodiscard]] S* target() noexcept {
        return *operations_->type == typeid(S) ? &detail::stream_in<S>(room_) : nullptr;
    }
    template <class S>
    [[nodiscard]] const S* target() const noexcept {
        return *operations_->type == typeid(S) ? &detail::stream_in<S>(room_) : nullptr;
    }

    /// How many bytes were written that the peer is not known to have; 0 if the stream cannot tell.
    [[nodiscard]] std::size_t unacknowledged() const noexcept { return operations_->unacknowledged(room_); }
    /// The address of the other end; empty, with port 0, if it has none.
    [[nodiscard]] net::endpoint remote() const { return operations_->remote(room_); }
    [[nodiscard]] net::endpoint remote(std::error_code& error) const;
    /// The descriptor; -1 once closed, and for a stream that is not one descriptor.
    [[nodiscard]] int native_handle() const noexcept;

    /// For the select case on_readable().
    friend byte_readiness watch_readable(const byte_stream& s) noexcept { return byte_readiness(s); }
    /// For io::copy().
    friend detail::io_source* source_of(const byte_stream& s) noexcept { return s.operations_->source(s.room_); }
    /// For servers, which end waits: the descriptor whose events its reads wait for, also below a layer such
    /// as TLS.
    friend detail::io_source* source_below(const byte_stream& s) noexcept { return s.operations_->below(s.room_); }
    /// For servers: what a layer does in place of detail::receive_late().
    friend std::size_t read_layer_late(byte_stream& s, detail::late_buffer& into, std::error_code& error) {
        return s.operations_->late_read(s.room_, into, error);
    }

private:
    friend class byte_readiness;

    void hold_closed() noexcept;

    const detail::stream_operations* operations_;
    detail::stream_room room_;
};

}  // namespace weft::io
