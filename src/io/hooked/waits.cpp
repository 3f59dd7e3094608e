#include "io/hooked/waits.hpp"

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <span>

#include "base/hook_time.hpp"
#include "io/blocking_calls.hpp"
#include "io/current.hpp"
#include "io/engine.hpp"
#include "io/hooked/descriptor.hpp"
#include "io/system.hpp"
#include "sched/inspect/leaving.hpp"
#include "sched/scheduler.hpp"
#include "sched/simulate/simulator.hpp"
#include "sched/wait/wait.hpp"

namespace weft::detail {
namespace {

constexpr wait_kind hooked_read_wait{.name = "hooked read", .ends = ended_by::outside, .shows_call = true};
constexpr wait_kind hooked_write_wait{.name = "hooked write", .ends = ended_by::outside, .shows_call = true};
constexpr wait_kind hooked_poll_wait{.name = "hooked poll", .ends = ended_by::outside, .shows_call = true};
constexpr wait_kind hooked_sleep_wait{.name = "hooked sleep", .ends = ended_by::outside, .shows_call = true};

using wanted_set = std::span<const pollfd>;

constexpr long looks_again = 1;  // beside results of the kernel

const wait_kind& kind_of(wanted_set wanted) noexcept {
    constexpr short for_reading = POLLIN | POLLPRI | POLLRDNORM | POLLRDHUP;
    if (wanted.size() != 1) return hooked_poll_wait;
    const bool reads = (wanted[0].events & for_reading) != 0, writes = (wanted[0].events & POLLOUT) != 0;
    return reads == writes ? hooked_poll_wait : reads ? hooked_read_wait : hooked_write_wait;
}

long code_of_interrupt(std::errc why) noexcept { return why == std::errc::timed_out ? -ETIMEDOUT : -ECANCELED; }

long result_of_hooked_wait(wait_end how, wait_outcome which) noexcept {
    switch (how) {
        case wait_end::notified: return which == hooked_descriptor::closed ? -EBADF : 0;
        case wait_end::timed_out: return -ETIME;
        case wait_end::stopped:
        case wait_end::stopped_by_token: break;
    }
    return code_of_interrupt(interrupt_reason());
}

/// Room for the waiters of one wait, which is as large as the wait is.
template <std::size_t Most>
class waiters_of_wait {
public:
    waiters_of_wait() noexcept {}  // the room needs no values
    waiter& make(std::size_t i, wait& w) noexcept { return *::new (&room_[i]) waiter(w.cell(), w.ticket()); }
    waiter& operator[](std::size_t i) noexcept { return *std::launder(reinterpret_cast<waiter*>(&room_[i])); }

private:
    struct place {
        alignas(waiter) std::byte bytes[sizeof(waiter)];
    };
    place room_[Most];
};

// A class of its own for each size: the frame of a call that waits for one descriptor is small.
template <std::size_t Most>
[[gnu::noinline]] long wait_for(wanted_set wanted, time_point until, io_engine& mine, const hook_call& call) noexcept {
    for (const auto& p : wanted)
        if (p.fd >= 0 && !hooked_descriptor::of(p.fd)) return -EPERM;  // allocates, so it comes before the wait
    const auto how_many = wanted.size() == 1 ? hooked_descriptor::one_at_a_time : hooked_descriptor::all_at_once;

    waiters_of_wait<Most> mine_of;
    wait w({.kind = kind_of(wanted), .object = &call, .deadline = until});
    long refused = 0;
    std::size_t listed = 0;
    for (; listed < wanted.size() && refused == 0; ++listed) {
        const auto& p = wanted[listed];
        waiter& me = mine_of.make(listed, w);
        if (p.fd >= 0) refused = hooked_descriptor::existing(p.fd)->enlist(me, p.fd, p.events, how_many, mine);
    }
    if (refused == -EBADF) refused = looks_again;  // closed already: the caller finds that
    const bool gives_up = refused != 0 && w.abandon();
    const auto how = gives_up ? wait_end::notified : w.park();
    // A waiter that was claimed has left its list, but those of the other descriptors have not.
    if (gives_up || how != wait_end::notified || wanted.size() > 1)
        for (std::size_t i = 0; i < listed; ++i)
            if (wanted[i].fd >= 0) hooked_descriptor::existing(wanted[i].fd)->delist(mine_of[i]);
    return gives_up ? refused : result_of_hooked_wait(how, w.index());
}

/// An epoll of its own for one wait: for many descriptors, and for those that the engine watches for weft.
class nested_epoll {
public:
    nested_epoll() noexcept : fd_(system_result([] { return ::epoll_create1(EPOLL_CLOEXEC); })) {}
    ~nested_epoll() {
        if (fd_ < 0) return;
        hooked_closing(static_cast<int>(fd_));
        direct::close(static_cast<int>(fd_));
    }
    nested_epoll(const nested_epoll&) = delete;
    nested_epoll& operator=(const nested_epoll&) = delete;

    /// \returns  0 or a negated error.
    long add(wanted_set wanted) noexcept {
        if (fd_ < 0) return fd_;
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            if (wanted[i].fd < 0) continue;
            long r = control(EPOLL_CTL_ADD, wanted[i].fd, wanted[i].events);
            // One number may be wanted twice, as poll(2) allows.
            if (r == -EEXIST) r = control(EPOLL_CTL_MOD, wanted[i].fd, all_events(wanted.first(i + 1), wanted[i].fd));
            if (r != 0) return r;
        }
        return 0;
    }
    int number() const noexcept { return static_cast<int>(fd_); }

private:
    static short all_events(wanted_set wanted, int fd) noexcept {
        short r = 0;
        for (const auto& p : wanted)
            if (p.fd == fd) r |= p.events;
        return r;
    }
    long control(int what, int fd, short events) const noexcept {
        epoll_event e{.events = static_cast<std::uint32_t>(static_cast<unsigned short>(events)), .data = {.fd = fd}};
        return direct::epoll_ctl(number(), what, fd, &e);
    }

    const long fd_;
};

[[gnu::noinline]] long wait_nested(wanted_set wanted, time_point until, io_engine& mine, const hook_call& call) noexcept {
    nested_epoll all;
    if (const long r = all.add(wanted); r != 0) return r == -EBADF ? looks_again : r;
    const pollfd ready{.fd = all.number(), .events = POLLIN, .revents = 0};
    const long r = wait_for<1>({&ready, 1}, until, mine, call);
    return r == -EEXIST ? -EPERM : r;
}

/// Why the caller may not begin a wait, as hook_table says; 0 if it may.
long interrupted_before_hooked_wait() noexcept {
    const auto why = pending_interrupt();
    return why ? code_of_interrupt(*why) : 0;
}

}  // namespace

bool is_in_hooked_fiber() noexcept {
    auto* const self = this_fiber_block();
    return self && self->is_any(rare_identity) && self->owner->is_hooked() && !this_carrier()->is_inside();
}

std::int64_t hooked_now() noexcept { return std::chrono::nanoseconds(clock::now().time_since_epoch()).count(); }

long hooked_wait(const pollfd* wanted, std::size_t count, std::int64_t until, const hook_call& call) noexcept {
    constexpr std::size_t few = 4, many = 64;
    if (simulator_here()) return -EOPNOTSUPP;
    if (const long r = interrupted_before_hooked_wait(); r != 0) return r;
    auto* const mine = current_io();
    if (!mine || mine->hooked_bit() == 0 || !may_leave_thread()) return -EPERM;
    const auto limit = time_of_hook(until);
    const wanted_set all{wanted, count};
    long r = count <= 1      ? wait_for<1>(all, limit, *mine, call)
             : count <= few  ? wait_for<few>(all, limit, *mine, call)
             : count <= many ? wait_for<many>(all, limit, *mine, call)
                             : -EEXIST;
    if (r == -EEXIST) r = wait_nested(all, limit, *mine, call);
    switch (r) {
        case 0:
        case -ETIME:
        case -ECANCELED:
        case -ETIMEDOUT: return r;
        case -EBADF: return count == 1 ? r : 0;
        case looks_again: return 0;
        default: return -EPERM;
    }
}

long hooked_sleep(std::int64_t until, const hook_call& call) noexcept {
    if (const long r = interrupted_before_hooked_wait(); r != 0) return r;
    if (!may_leave_thread()) {
        direct::sleep_for(std::max(duration::zero(), time_of_hook(until) - clock::now()));
        return -ETIME;
    }
    wait w({.kind = hooked_sleep_wait, .object = &call, .deadline = time_of_hook(until)});
    return result_of_hooked_wait(w.park(), 0);
}

namespace {

class plain_call final : public task {
public:
    plain_call(void (*call)(void*), void* what) noexcept : call_(call), what_(what) {}

private:
    void body() override { call_(what_); }

    void (*const call_)(void*);
    void* const what_;
};

}  // namespace

long hooked_elsewhere(void (*call)(void*), void* what, const hook_call&) noexcept {
    if (const long r = interrupted_before_hooked_wait(); r != 0) return r;
    if (!may_leave_thread()) {
        call(what);
        return 0;
    }
    plain_call job(call, what);
    try {
        switch (run_blocking_to_its_end(pool_for::look_ups, job)) {
            case call_end::returned:
            case call_end::returned_interrupted: return 0;
            case call_end::withdrawn: return code_of_interrupt(interrupt_reason());
            case call_end::refused: break;
        }
    } catch (const std::exception&) {  // no memory, no thread
    }
    return -EAGAIN;
}

void hooked_pause() noexcept {
    if (auto* const self = this_fiber_block(); self && may_leave_thread()) carrier::yield(*self);
}

void hooked_closing(int descriptor) noexcept {
    // In a visit nobody can be woken; only a signal handler comes here then.
    if (auto* const c = this_carrier(); c && c->is_inside()) return;
    if (auto* const d = hooked_descriptor::existing(descriptor)) d->closing();
}

}  // namespace weft::detail
