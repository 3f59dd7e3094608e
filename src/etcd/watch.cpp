// watch.cpp - the fiber of a watch: reads what the server tells, hands it on, and connects again.
//
//  state       the fiber waits for     leaves by
//  following   an object               object with events -> delivering | end, failure, silence -> connecting
//                                      | canceled -> ended
//  delivering  room in the channel     all events stored -> following | receiver closed -> ended
//  connecting  a pause, a server       first object -> delivering | no server -> connecting | refused -> ended
//  ended       nothing                 -
//  A stop ends it from each state.
//
// Invariants
//   WATCH-1  Every event below `next` has been stored in the channel, once, and none at or above it has.
//            It moves once for an object, when all its events are stored; etcd never parts those of a
//            revision.
//   WATCH-2  A connection asks from `next` on, and what comes below it nevertheless is dropped.
//   WATCH-3  Nothing is read while events wait for room, so a slow receiver slows the server's connection.
#include <weft/etcd/watch.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include <weft/etcd/client.hpp>
#include <weft/fiber.hpp>

#include "base/atomic.hpp"
#include "base/futex_lock.hpp"
#include "etcd/wire.hpp"

namespace weft::etcd {

using weft::detail::etcd_wire;
using weft::detail::relaxed;
using weft::detail::etcd::failed;
using weft::detail::etcd::json;

namespace {

constexpr std::chrono::milliseconds first_pause(20), longest_pause(1000);  // chosen: a server that restarts takes about a second

bool goes_on(etcd_errc reason) noexcept {
    return reason == etcd_errc::unavailable || reason == etcd_errc::no_leader || reason == etcd_errc::server ||
           reason == etcd_errc::overloaded;
}

}  // namespace

struct watcher::impl {
    impl(std::shared_ptr<etcd_wire> w, const key_range& k, const watch_options& o)
        : wire(std::move(w)), keys(k), options(o), events(o.capacity), received(events.rx()), next(o.from_revision) {
        auto opened = connect();
        if (next.load(relaxed) == 0)  // before the fiber is there
            next.store(weft::detail::etcd::revision_of(weft::detail::etcd::at(opened.first, "result")) + 1, relaxed);
        following = weft::spawn({.name = "etcd watch"}, [this, o = std::move(opened)]() mutable { run(std::move(o)); });
    }

    etcd_wire::opened connect() { return wire->watch(wire->codec().watch(keys, options, next.load(relaxed))); }

    /// The body of the fiber.
    void run(std::optional<etcd_wire::opened> now) {
        struct closing {
            channel<event>& c;
            ~closing() { c.close(); }
        } const at_the_end{events};
        for (auto pause = first_pause;;) {
            taken = 0;
            if (now && !follow(*now)) return;
            if (taken > 1) pause = first_pause;  // more than the first object: this was a server that works
            now.reset();
            weft::this_fiber::sleep_for(pause);
            pause = std::min(2 * pause, longest_pause);
            std::optional<error> why;
            try {
                now = connect();
            } catch (const error& e) {
                why = e;
            }
            if (why && !goes_on(why->reason())) return end_with(*why);
        }
    }

    /// \returns  whether to connect again.
    bool follow(etcd_wire::opened& now) {
        std::optional<weft::detail::etcd::failure> why;
        try {
            for (bool more = take(now.first); more;) more = take(now.objects.next());
            return false;
        } catch (const failed& f) {
            why = f.why;
        } catch (const weft::detail::etcd::bad_answer& e) {
            why = {.reason = etcd_errc::protocol, .words = e.what()};
        } catch (const channel_closed&) {
            return false;
        }
        if (goes_on(why->reason)) return true;
        end_with(error(why->reason, "weft: etcd /v3/watch: " + why->words, false));
        return false;
    }

    /// Hands on what an object tells. \returns whether another one follows.
    bool take(const json& object) {
        using namespace weft::detail::etcd;
        ++taken;
        const auto& result = at(object, "result");
        if (!result.is_object()) throw bad_answer("an object of the stream has no result");
        if (flag_at(result, "canceled")) {
            const auto oldest = integer_at(result, "compact_revision");
            if (oldest == 0) throw failed{judge(14, text_at(result, "cancel_reason"))};
            events.send({.kind = event_kind::compacted, .revision = oldest});
            return false;
        }
        const auto expected = next.load(relaxed);  // its own store
        auto last = expected - 1;
        std::vector<event> fresh;  // all are looked at before one is stored (WATCH-1)
        for (const auto& e : list_at(result, "events")) {
            fresh.push_back(wire->codec().event_of(e));
            if (fresh.back().revision < expected) {
                fresh.pop_back();  // WATCH-2
            } else if (fresh.back().revision < last) {
                throw bad_answer("the events of a watch are out of order");
            } else {
                last = fresh.back().revision;
            }
        }
        for (auto& e : fresh) events.send(std::move(e));  // WATCH-3
        const bool is_progress = list_at(result, "events").empty() && !flag_at(result, "created");
        if (is_progress) last = std::max(last, revision_of(result));  // the server sends it behind all events before it
        next.store(last + 1, relaxed);  // a number that others may read; the channel orders the events
        return true;
    }

    void end_with(const error& why) {
        const weft::detail::lock_guard hold(lock);
        reason = std::make_exception_ptr(why);
    }

    std::shared_ptr<etcd_wire> wire;
    const key_range keys;
    const watch_options options;
    channel<event> events;
    receiver<event> received;
    weft::detail::atomic<revision_number> next;
    std::size_t taken = 0;  // objects of this connection
    weft::detail::futex_lock lock;
    std::exception_ptr reason WEFT_GUARDED_BY(lock);
    weft::fiber<> following;  // the last: its end comes first
};

watcher::watcher(std::unique_ptr<impl> i) noexcept : impl_(std::move(i)) {}
watcher::watcher(watcher&&) noexcept = default;
watcher& watcher::operator=(watcher&&) noexcept = default;
watcher::~watcher() = default;

const receiver<event>& watcher::events() const noexcept { return impl_->received; }
revision_number watcher::next_revision() const noexcept { return impl_->next.load(relaxed); }  // a hint
std::exception_ptr watcher::failure() const noexcept {
    const weft::detail::lock_guard hold(impl_->lock);
    return impl_->reason;
}

watcher client::watch(const key_range& keys, const watch_options& o) const {
    if (o.from_revision < 0) throw std::invalid_argument("weft: etcd: from_revision is negative");
    return watcher(std::make_unique<watcher::impl>(wire_, keys, o));
}

}  // namespace weft::etcd
