#include "callbacks/loop.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "io/current.hpp"
#include "io/source_pool.hpp"
#include "io/system.hpp"

namespace variants {

namespace detail = weft::detail;
using detail::system_result;

namespace {

/// The engine with which sources register: that of the loop, as a fiber's is that of its runtime.
detail::io_engine* engine_of_this_process = nullptr;

detail::io_source* make_source(int fd) {
    auto* const made = detail::make_source(fd);
    if (made) return made;
    ::close(fd);
    throw std::bad_alloc();
}

}  // namespace

loop::loop() : engine_(detail::make_io_engine()), now_(detail::clock::now()), next_tick_(now_ + tick) {
    engine_of_this_process = engine_.get();
    detail::set_io_context_lookup([]() noexcept { return detail::io_context{engine_of_this_process, nullptr}; });
}

loop::~loop() {
    detail::set_io_context_lookup([]() noexcept { return detail::io_context{}; });
    engine_of_this_process = nullptr;
}

void loop::run() {
    while (!ended_) {
        engine_->poll(next_tick_);
        now_ = detail::clock::now();
        if (now_ >= next_tick_) {
            for (const auto& f : ticks_) f();
            next_tick_ = now_ + tick;
        }
        for (const auto& f : turn_ends_) f();
    }
}

watched::side::side(std::function<void()> f)
    : wait_cell([](wait_cell& woken) noexcept {
          auto& self = static_cast<side&>(woken);
          self.entry.reset();  // the engine has taken it from the list (WAITER-2)
          self.call();
      }),
      call(std::move(f)) {}

watched::watched(int fd, functions call)
    : source_(make_source(fd)), reading_(std::move(call.readable)), writing_(std::move(call.writable)) {}

watched::~watched() {
    give_up(io_direction::read);
    give_up(io_direction::write);
    source_->drop();
}

void watched::give_up(io_direction way) noexcept {
    auto& s = of(way);
    if (!s.entry) return;
    source_->delist(*s.entry, way);
    s.entry.reset();
}

/// \returns  whether the side waits now. False: there was an event after `seen`, or the engine
///           refuses the descriptor, and then `refusal` is its negated errno.
bool watched::await(io_direction way, detail::io_source::event_count seen, long& refusal) {
    if (refusal = source_->attach(); refusal != 0) return false;
    auto& s = of(way);
    const auto ticket = s.word.begin(detail::interruptible::no);
    s.entry.emplace(s, ticket);
    if (source_->enlist(*s.entry, way, seen)) return true;
    s.entry.reset();
    s.word.claim(ticket);  // nobody else knows the ticket
    s.word.end_claimed();
    return false;
}

/// As perform() of io/operation.hpp, but it returns where that parks.
template <class Attempt>
long watched::attempt(io_direction way, Attempt&& call) {
    if (of(way).entry) return -EAGAIN;
    for (;;) {
        const auto seen = source_->events(way);  // before the attempt (SOURCE-4)
        if (way == io_direction::write || !source_->drained(seen)) {
            const long result = call(seen);
            if (result == -EINTR) continue;
            if (result != -EAGAIN) return result;
        }
        long refusal = 0;
        if (await(way, seen, refusal)) return -EAGAIN;
        if (refusal != 0) return refusal;
    }
}

long watched::receive(std::span<char> into) {
    return attempt(io_direction::read, [&](detail::io_source::event_count seen) {
        const long n = system_result([&] { return ::recv(descriptor(), into.data(), into.size(), 0); });
        // Less than was asked for means that no more was there.
        if (n > 0 && static_cast<std::size_t>(n) < into.size()) source_->set_drained(seen);
        return n;
    });
}

long watched::send(std::string_view from) {
    return attempt(io_direction::write, [&](auto) {
        return system_result([&] { return ::send(descriptor(), from.data(), from.size(), MSG_NOSIGNAL); });
    });
}

long watched::accept() {
    return attempt(io_direction::read, [&](auto) {
        return system_result([&] { return ::accept4(descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC); });
    });
}

long watched::read(std::span<char> into) {
    return attempt(io_direction::read,
                   [&](auto) { return system_result([&] { return ::read(descriptor(), into.data(), into.size()); }); });
}

long watched::await_writable() {
    return attempt(io_direction::write, [&](auto) {
        pollfd now{.fd = descriptor(), .events = POLLOUT, .revents = 0};
        return ::poll(&now, 1, 0) == 1 ? 0 : -EAGAIN;
    });
}

}  // namespace variants
