// park_reason.hpp - why a fiber or thread waits: one value per call site that waits, for dumps and deadlock reports.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft::detail {

enum class park_reason : std::uint8_t {
    none, sleep, yield, join, scope_end, fiber_limit, mutex, condition_variable,
    wait_group, channel_send, channel_receive, select, select_readiness, blocking, callback, read, write, accept, connect, signal,
    shared_mutex, once, semaphore, event, latch, barrier, ivar, ticker, mailbox, mailbox_room, ask, process, scope_limit,
};

inline std::string_view name(park_reason r) noexcept {
    switch (r) {
        case park_reason::none: return "nothing";
        case park_reason::sleep: return "sleep";
        case park_reason::yield: return "yield";
        case park_reason::join: return "join";
        case park_reason::scope_end: return "end of scope";
        case park_reason::fiber_limit: return "fiber limit";
        case park_reason::mutex: return "mutex";
        case park_reason::condition_variable: return "condition variable";
        case park_reason::wait_group: return "wait group";
        case park_reason::channel_send: return "channel send";
        case park_reason::channel_receive: return "channel receive";
        case park_reason::select:
        case park_reason::select_readiness: return "select";
        case park_reason::blocking: return "blocking call";
        case park_reason::callback: return "callback";
        case park_reason::read: return "read";
        case park_reason::write: return "write";
        case park_reason::accept: return "accept";
        case park_reason::connect: return "connect";
        case park_reason::signal: return "signal";
        case park_reason::shared_mutex: return "shared mutex";
        case park_reason::once: return "call_once";
        case park_reason::semaphore: return "semaphore";
        case park_reason::event: return "event";
        case park_reason::latch: return "latch";
        case park_reason::barrier: return "barrier";
        case park_reason::ivar: return "ivar";
        case park_reason::ticker: return "ticker";
        case park_reason::mailbox: return "mailbox";
        case park_reason::mailbox_room: return "room in a mailbox";
        case park_reason::ask: return "ask";
        case park_reason::process: return "child process";
        case park_reason::scope_limit: return "limit of its scope";
    }
    return "?";
}

/// Whether time or something outside of the program's fibers may end such a wait.
inline bool is_ended_from_outside(park_reason r) noexcept {
    switch (r) {
        case park_reason::sleep:
        case park_reason::blocking:
        case park_reason::callback:
        case park_reason::read:
        case park_reason::write:
        case park_reason::accept:
        case park_reason::connect:
        case park_reason::signal:
        case park_reason::ticker:
        case park_reason::select_readiness:
        case park_reason::process: return true;
        default: return false;
    }
}

}  // namespace weft::detail
