// channel.cpp - functions by which <weft/channel.hpp> reaches channel_core, which it must not see.
#include <weft/channel.hpp>

#include <stdexcept>
#include <system_error>

#include "base/panic.hpp"
#include "sync/channel_core.hpp"

namespace weft {

channel_closed::channel_closed() : std::runtime_error("weft: send on a closed channel") {}

namespace detail {

channel_core* make_channel(const element_operations& element, std::size_t capacity, overflow when_full) {
    if (capacity == 0 && when_full == overflow::drop_oldest)
        throw std::invalid_argument("weft::channel: overflow::drop_oldest needs a capacity");
    return new channel_core(element, capacity, when_full);
}

void add_handle(channel_core& c) noexcept { c.add_handle(); }
void drop_handle(channel_core& c) noexcept { c.drop_handle(); }
void add_sender(channel_core& c) noexcept { c.add_sender(); }
void drop_sender(channel_core& c) noexcept { c.drop_sender(); }

void keep_channel(channel_core& c) noexcept { c.keep(); }
bool await_abandoned(channel_core& c, time_point until) { return c.await_abandoned(until); }

channel_op channel_send(channel_core& c, void* from, time_point until) { return c.send(from, until); }
channel_op channel_receive(channel_core& c, void* place, time_point until) { return c.receive(place, until); }
channel_op channel_try_send(channel_core& c, void* from) { return c.try_operate(direction::send, from); }
channel_op channel_try_receive(channel_core& c, void* place) { return c.try_operate(direction::receive, place); }

channel_op channel_try_send_many(channel_core& c, void* from, std::size_t& count) { return c.try_send_many(from, count); }
void channel_close(channel_core& c) noexcept { c.close(); }
bool channel_is_closed(channel_core& c) noexcept { return c.is_closed(); }
std::size_t channel_size(channel_core& c) noexcept { return c.size(); }
std::size_t channel_capacity(channel_core& c) noexcept { return c.capacity(); }
const element_operations& channel_element(const channel_core& c) noexcept { return c.element(); }

void throw_channel_closed() { throw channel_closed(); }
void channel_not_sent(const channel_core& c, channel_op result) {
    if (result == channel_op::closed) throw_channel_closed();
    if (c.drops_newest()) return;
    throw std::system_error(std::make_error_code(std::errc::no_buffer_space), "weft::channel: no room");
}
void used_after_move() noexcept { panic("channel: a handle is not used after it was moved from"); }

}  // namespace detail
}  // namespace weft
