#include "io/late_buffer.hpp"

#include "io/socket_io.hpp"

namespace weft::detail {
namespace {

/// For a stream that is not one socket.
std::size_t wait_and_read(io::byte_stream& from, late_buffer& into, std::error_code& error) {
    from.wait_readable(error);
    if (error) return 0;
    const auto room = into.take();
    std::size_t n = 0;
    if (room.empty())
        error = std::make_error_code(std::errc::not_enough_memory);
    else
        n = from.read_some(room, error);
    if (n == 0) into.give_back();
    return n;
}

}  // namespace

std::size_t read_late(io::byte_stream& from, late_buffer& into, std::error_code& error) {
    const auto n = read_late_socket(from, into, error);
    // comparing costs as much as a receive's other instructions
    return error && error == std::errc::not_a_socket ? wait_and_read(from, into, error) : n;
}

std::size_t read_late_socket(io::byte_stream& from, late_buffer& into, std::error_code& error) {
    if (auto* const s = source_of(from)) return report(receive_late(s, into), error);
    return read_layer_late(from, into, error);
}

}  // namespace weft::detail
