// work_receiving.cpp - pulls the messages of a work queue, and settles them.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include <weft/cluster/error.hpp>
#include <weft/simulation.hpp>
#include <weft/stop.hpp>

#include "cluster/dead_letter.hpp"
#include "cluster/work_queue.hpp"

namespace weft::cluster::detail {
namespace {

using std::chrono::nanoseconds;
using lock_type = std::unique_lock<weft::mutex>;

// chosen: one request in so long to a queue that is empty, and how soon a receiver ends that was closed
constexpr std::chrono::seconds longest_pull(1);
constexpr std::chrono::milliseconds pause_after_failure(200);
// chosen: what is pulled at once should be handed out within that
constexpr std::chrono::milliseconds time_of_a_batch(100);

/// Why the message must not be handed out; empty: it may be.
std::string objection(const work_parts& to, const stored_work::content& what) {
    const auto& [item, id, sequence, delivered] = what;
    if (!to.dead) return {};  // dead letters are read whatever they are
    if (delivered > to.options.max_deliver)
        return "it was delivered " + std::to_string(delivered - 1) + " times, and never acknowledged";
    if (item.name != to.type.name)
        return "its name is '" + shortened(item.name, longest_name_shown) + "', and this queue has '" +
               std::string(to.type.name) + "'";
    const auto& v = to.type.versions;
    if (item.version < v.oldest || item.version > v.newest)
        return "its version is " + std::to_string(item.version) + ", and this program reads " + std::to_string(v.oldest) +
               " to " + std::to_string(v.newest);
    return {};
}

enum class wanted { pull, one_is_here, nothing };

/// Waits until something can be done. \param room  how many messages may be pulled
wanted next_step(work_receiving& r, weft::detail::time_point until, std::shared_ptr<held_work>& here, std::size_t& room) {
    auto& core = *r.of;
    lock_type guard(core.lock);
    const auto can_go_on = [&] { return core.is_closed || !r.pulled.empty() || r.under_way < r.most; };
    if (!core.changed.wait_until(guard, until, can_go_on) || core.is_closed) return wanted::nothing;
    if (!r.pulled.empty()) {
        here = std::move(r.pulled.front());
        r.pulled.pop_front();
        return wanted::one_is_here;
    }
    // What is pulled and never handed out counts as delivered, and goes to no other receiver meanwhile.
    if (r.pulled_at != weft::detail::time_point{})
        r.ahead =
            weft::now() - r.pulled_at <= time_of_a_batch ? std::min(2 * r.ahead, r.most) : std::max<std::size_t>(r.ahead / 2, 1);
    room = std::min(r.most - r.under_way, r.ahead);  // WORK_QUEUE-3: only this fiber adds to it
    return wanted::pull;
}

/// The lock is held. Without memory the message is neither under way nor pulled, and comes again after ack_wait.
void hold(work_receiving& r, std::shared_ptr<stored_work> what) {
    const auto held = std::make_shared<held_work>(std::move(what));
    r.pulled.push_back(held);
    try {
        r.of->under_way.emplace(held.get(), held);
    } catch (...) {
        r.pulled.pop_back();
        throw;
    }
    ++r.under_way;
}

void pull(work_receiving& r, std::size_t room, nanoseconds limit) {
    auto& core = *r.of;
    try {
        auto got = core.has.queue->pull(room, limit);
        const std::lock_guard guard(core.lock);
        r.pulled_at = got.empty() ? weft::detail::time_point{} : weft::now();
        for (auto& what : got) hold(r, std::move(what));
        core.changed.notify_all();
    } catch (const std::system_error&) {  // it is out of reach: again, soon
        lock_type guard(core.lock);
        core.changed.wait_for(guard, std::min<nanoseconds>(limit, pause_after_failure), [&] { return core.is_closed; });
    }
}

/// WORK_QUEUE-4.
void give_back(held_work& what, nanoseconds delay) {
    const std::lock_guard guard(what.word);
    what.work->give_back(delay);
    what.was_given_back = true;
}

}  // namespace

std::optional<work_under_way> take_work(const std::shared_ptr<work_receiving>& r, weft::detail::time_point until) {
    for (bool has_asked = false;;) {
        std::shared_ptr<held_work> here;
        std::size_t room = 0;
        switch (next_step(*r, until, here, room)) {
            case wanted::nothing: return std::nullopt;
            case wanted::pull: {
                const auto left = until == weft::detail::never ? nanoseconds(longest_pull) : until - weft::now();
                if (left <= nanoseconds::zero() && has_asked) return std::nullopt;
                has_asked = true;
                pull(*r, room, std::clamp<nanoseconds>(left, nanoseconds::zero(), longest_pull));
                break;
            }
            case wanted::one_is_here: {
                if (r->of->has.planted.acks_before_handling) here->work->ack();
                work_under_way one(r, std::move(here));
                const auto why = objection(r->of->has, one.what());
                if (!why.empty()) {
                    one.bury_or_give_back(why);
                    break;
                }
                return one;
            }
        }
    }
}

void end_receiving(work_receiving& r) noexcept {
    const weft::shield until_done;
    std::deque<std::shared_ptr<held_work>> left;
    {
        const std::lock_guard guard(r.of->lock);
        left.swap(r.pulled);
        r.under_way -= left.size();
        for (const auto& what : left) r.of->under_way.erase(what.get());
    }
    for (const auto& what : left) {
        try {
            give_back(*what, {});
        } catch (...) {  // it is delivered again after ack_wait
        }
    }
}

work_under_way::work_under_way(std::shared_ptr<work_receiving> from, std::shared_ptr<held_work> what) noexcept
    : from_(std::move(from)), what_(std::move(what)) {}

work_under_way::work_under_way(work_under_way&& o) noexcept = default;

work_under_way& work_under_way::operator=(work_under_way&& o) noexcept {
    if (this == &o) return *this;
    leave();
    from_ = std::move(o.from_);
    what_ = std::move(o.what_);
    return *this;
}

work_under_way::~work_under_way() { leave(); }

const stored_work::content& work_under_way::what() const noexcept { return what_->work->what(); }

/// Gives back what was not settled.
void work_under_way::leave() noexcept {
    if (!from_) return;
    const weft::shield until_done;
    try {
        detail::give_back(*what_, from_->of->backoff(what().delivered));
    } catch (...) {  // it is delivered again after ack_wait
    }
    settle();
}

stored_work& work_under_way::open() const {
    if (!from_) throw std::logic_error("weft: this delivery was acknowledged, given back or rejected before");
    return *what_->work;
}

void work_under_way::require_letter_of(const work_core& queue) const {
    open();
    const auto& mine = from_->of->has;
    if (mine.dead || mine.name != queue.has.name + ".dead")
        throw std::invalid_argument("weft: what the queue '" + mine.name + "' has is no dead letter of '" + queue.has.name + "'");
}

/// WORK_QUEUE-4.
void work_under_way::settle() noexcept {
    const auto from = std::move(from_);
    const std::lock_guard guard(from->of->lock);
    from->of->under_way.erase(what_.get());
    --from->under_way;
    from->of->changed.notify_all();
}

void work_under_way::ack() {
    open().ack();
    settle();
}

void work_under_way::ack_sure() {
    open().ack_sure();
    settle();
}

void work_under_way::give_back(std::optional<nanoseconds> delay) {
    open();
    detail::give_back(*what_, delay ? *delay : from_->of->backoff(what().delivered));
    settle();
}

/// WORK_QUEUE-1.
void work_under_way::bury(std::string_view reason) {
    auto& what = open();
    const auto& has = from_->of->has;
    if (!has.dead) throw std::logic_error("weft: a dead letter cannot be rejected: acknowledge it, or retry it");
    if (has.planted.ends_before_burying) what.terminate();
    store_letter(*has.dead, has.name, what.what(), reason);
    what.terminate();
    settle();
}

void work_under_way::bury_or_give_back(std::string_view reason) {
    try {
        bury(reason);
    } catch (const std::system_error&) {
        leave();
    }
}

}  // namespace weft::cluster::detail
