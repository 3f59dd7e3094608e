// lease.cpp - the fiber that renews a lease, and what it knows of the lease's end.
//
//  state    the lease                     leaves by
//  alive    valid until valid_until       answered with a TTL -> alive | answered without one -> lost
//                                         clock past valid_until -> lost
//                                         destructor -> over
//  lost     may be gone                   destructor -> over; never back to alive
//  over     revoked, or left to expire    -
//
// Invariants
//   LEASE-1  valid_until is the clock before the last answered request was sent, and the TTL that it was
//            answered with. The server begins to count later, so it never forgets the lease before.
//   LEASE-2  Only the renewing fiber stores valid_until and requests the stop: no renewal follows a loss.
#include <weft/etcd/lease.hpp>

#include <time.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include <weft/deadline.hpp>
#include <weft/etcd/client.hpp>
#include <weft/fiber.hpp>
#include <weft/select.hpp>
#include <weft/stop.hpp>

#include "base/atomic.hpp"
#include "etcd/wire.hpp"

namespace weft::etcd {

using std::chrono::nanoseconds;

std::chrono::nanoseconds boot_time() noexcept {
    timespec t{};
    ::clock_gettime(CLOCK_BOOTTIME, &t);
    return std::chrono::seconds(t.tv_sec) + nanoseconds(t.tv_nsec);
}

struct lease::impl {
    impl(std::shared_ptr<weft::detail::etcd_wire> w, nanoseconds ttl, lease_options o)
        : endpoints(static_cast<int>(w->options().endpoints.size())),
          request_limit(w->options().request_limit),
          api(std::move(w)),
          options(std::move(o)) {
        const auto before = options.clock();
        granted = api.grant(ttl);
        valid_until.store((before + granted.ttl).count(), weft::detail::relaxed);  // no other fiber knows it yet
        renewing = weft::spawn({.name = "etcd lease", .priority = weft::priority::high}, [this] { renew(); });
    }

    ~impl() {
        renewing = {};  // stops and joins
        if (!options.revoke_at_end || lost.stop_requested()) return;
        const weft::shield to_the_end;
        try {
            weft::with_timeout(std::chrono::seconds(1), [&] { api.revoke(granted.id); });
        } catch (const std::exception&) {
            // It expires by itself.
        }
    }

    /// The body of the fiber.
    void renew() {
        auto next = options.clock() + granted.ttl / 3;
        for (;;) {
            const auto now = options.clock();
            const nanoseconds until(valid_until.load(weft::detail::relaxed));  // its own store (LEASE-2)
            if (now >= until) break;
            if (now < next) {
                weft::this_fiber::sleep_for(std::min<nanoseconds>({next - now, until - now, std::chrono::seconds(1)}));
                continue;  // weft's clock stands still while the machine sleeps, so the lease's clock is read again
            }
            if (const auto answer = ask(until - now); !answer) {
                next = options.clock() + pause();
            } else if (answer->count() == 0) {
                break;
            } else {
                valid_until.store((now + *answer).count(), weft::detail::relaxed);  // one word; nothing else goes with it
                next = now + nanoseconds(*answer) / 3;
            }
        }
        lost.request_stop();
    }

    /// \returns the TTL, zero for a dead lease; empty if there was no answer.
    std::optional<std::chrono::seconds> ask(nanoseconds left) {
        const auto each =
            std::min<nanoseconds>(left / (endpoints + 1), request_limit);  // one that hangs leaves time for the others
        try {
            return weft::with_timeout(left,
                                      [&] { return api.keep_alive_once(granted.id, each).value_or(std::chrono::seconds(0)); });
        } catch (const error& e) {
            if (e.reason() == etcd_errc::lease_not_found) return std::chrono::seconds(0);
        } catch (const std::exception&) {
            // No answer, for whatever reason: valid_until decides.
        }
        return std::nullopt;
    }

    nanoseconds pause() const {
        return std::clamp<nanoseconds>(granted.ttl / 20, std::chrono::milliseconds(20), std::chrono::seconds(1));
    }

    const int endpoints;
    const nanoseconds request_limit;
    client api;
    lease_options options;
    granted_lease granted;
    weft::detail::atomic<std::int64_t> valid_until = 0;
    std::stop_source lost;
    weft::fiber<> renewing;
};

lease::lease(const client& c, nanoseconds ttl, lease_options o) : impl_(std::make_unique<impl>(c.wire_, ttl, std::move(o))) {}
lease::~lease() = default;
lease::lease(lease&&) noexcept = default;
lease& lease::operator=(lease&&) noexcept = default;

lease_id lease::id() const noexcept { return impl_->granted.id; }
std::chrono::seconds lease::ttl() const noexcept { return impl_->granted.ttl; }
nanoseconds lease::valid_until() const noexcept {
    return nanoseconds(impl_->valid_until.load(weft::detail::relaxed));  // an old one is earlier, which is safe
}
std::stop_token lease::get_stop_token() const noexcept { return impl_->lost.get_token(); }
void lease::wait_until_lost() const { weft::select(weft::on_stop(get_stop_token())); }

}  // namespace weft::etcd
