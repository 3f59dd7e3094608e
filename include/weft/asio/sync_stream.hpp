// sync_stream.hpp - a stream of weft as a SyncReadStream and SyncWriteStream of Asio.
#pragma once

#include <weft/asio/error.hpp>
#include <weft/io/byte_stream.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/system/system_error.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

namespace boost::beast {
enum class role_type;  // for teardown(), without the headers of Beast
}

namespace weft::asio {

/// Lets code that was written for Asio's synchronous streams, such as boost::asio::read(), Beast or a
/// client library over them, talk through a stream of weft. What would block a thread parks the fiber.
///
///     weft::asio::sync_stream s(weft::tcp::stream::connect(server));
///     boost::asio::write(s, boost::asio::buffer(text));
///
/// S is the type of the stream, or a reference to it: `sync_stream<weft::tcp::stream&>`. The end of the
/// stream is boost::asio::error::eof; a stop or a passed deadline is weft::cancelled in the throwing forms,
/// and operation_canceled or timed_out in those with an error code.
template <class S>
    requires io::stream<std::remove_reference_t<S>>
class sync_stream {
public:
    using next_layer_type = std::remove_reference_t<S>;
    using lowest_layer_type = sync_stream;
    /// Asked for by templates that run asynchronous operations as well; nothing runs on it here.
    using executor_type = boost::asio::system_executor;

    template <class... A>
        requires std::constructible_from<S, A...>
    explicit sync_stream(A&&... a) : next_(std::forward<A>(a)...) {}

    executor_type get_executor() const noexcept { return {}; }
    next_layer_type& next_layer() noexcept { return next_; }
    const next_layer_type& next_layer() const noexcept { return next_; }
    lowest_layer_type& lowest_layer() noexcept { return *this; }

    /// Reads at least one byte, unless the buffers are empty.
    ///
    /// \returns  how many were read.
    /// \parks    while there is nothing to read.
    template <class MutableBuffers>
    std::size_t read_some(const MutableBuffers& into) {
        const auto room = first_of<std::byte, boost::asio::mutable_buffer>(into);
        if (room.empty()) return 0;
        const auto n = next_.read_some(room);
        if (n == 0) throw boost::system::system_error(boost::asio::error::eof, "weft: read");
        return n;
    }
    template <class MutableBuffers>
    std::size_t read_some(const MutableBuffers& into, boost::system::error_code& error) {
        error = {};
        const auto room = first_of<std::byte, boost::asio::mutable_buffer>(into);
        if (room.empty()) return 0;
        std::error_code failure;
        const auto n = next_.read_some(room, failure);
        error = failure ? detail::to_boost(failure) : n == 0 ? boost::asio::error::eof : boost::system::error_code();
        return n;
    }

    /// Writes the buffers, or as many as go together; at least one byte, unless they are empty.
    ///
    /// \returns  how many bytes were written.
    /// \parks    while the peer accepts nothing.
    template <class ConstBuffers>
    std::size_t write_some(const ConstBuffers& from) {
        const pieces all(from);
        if constexpr (detail::writes_pieces<next_layer_type>) {
            next_.write_all(all.get());
            return all.bytes();
        } else {
            return all.bytes() == 0 ? 0 : next_.write_some(all.get().front());
        }
    }
    template <class ConstBuffers>
    std::size_t write_some(const ConstBuffers& from, boost::system::error_code& error) {
        const pieces all(from);
        std::error_code failure;
        std::size_t n = 0;
        if constexpr (detail::writes_pieces<next_layer_type>)
            n = next_.write_all(all.get(), failure);
        else if (all.bytes() != 0)
            n = next_.write_some(all.get().front(), failure);
        error = detail::to_boost(failure);
        return n;
    }

    /// The end of a websocket connection of Beast.
    friend void teardown(boost::beast::role_type /*role*/, sync_stream& s, boost::system::error_code& error) {
        std::error_code failure;
        s.next_.shutdown(io::side::send, failure);
        error = detail::to_boost(failure);
    }

private:
    template <class Byte, class Buffer, class Buffers>
    static std::span<Byte> first_of(const Buffers& all) {
        for (auto at = boost::asio::buffer_sequence_begin(all); at != boost::asio::buffer_sequence_end(all); ++at) {
            const Buffer b(*at);
            if (b.size() != 0) return {static_cast<Byte*>(b.data()), b.size()};
        }
        return {};
    }

    /// The first buffers of a sequence that are not empty.
    class pieces {
    public:
        template <class Buffers>
        explicit pieces(const Buffers& all) {
            for (auto at = boost::asio::buffer_sequence_begin(all);
                 at != boost::asio::buffer_sequence_end(all) && count_ < parts_.size(); ++at) {
                const boost::asio::const_buffer b(*at);
                if (b.size() == 0) continue;
                parts_[count_++] = {static_cast<const std::byte*>(b.data()), b.size()};
                bytes_ += b.size();
            }
        }
        std::span<const std::span<const std::byte>> get() const noexcept { return std::span(parts_).first(count_); }
        std::size_t bytes() const noexcept { return bytes_; }

    private:
        std::array<std::span<const std::byte>, 16> parts_;  // chosen: what a system call takes at once
        std::size_t count_ = 0;
        std::size_t bytes_ = 0;
    };

    S next_;
};

template <class S>
sync_stream(S&&) -> sync_stream<S>;

}  // namespace weft::asio
