#include "cluster/work_queue.hpp"

#include <algorithm>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include <weft/cluster/dead_work.hpp>
#include <weft/cluster/error.hpp>
#include <weft/simulation.hpp>

#include "cluster/dead_letter.hpp"
#include "cluster/subject.hpp"
#include "sched/simulate/simulator.hpp"

namespace weft::cluster::detail {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using lock_type = std::unique_lock<weft::mutex>;

constexpr milliseconds first_pause(10), longest_pause(1000);  // chosen: of a sender that tries again

/// 128 bits by chance. weft::draw() has a state of its own for each thread, which is too small for what must be
/// unique among all senders, so it counts in a simulation only.
std::string new_id() {
    constexpr char digits[] = "0123456789abcdef";
    std::random_device random;
    const bool is_simulated = weft::detail::simulator_here() != nullptr;
    std::string id;
    for (int part = 0; part < 4; ++part) {
        std::uint32_t bits = is_simulated ? weft::draw(1u << 16) << 16 | weft::draw(1u << 16) : random();
        for (int n = 0; n < 8; ++n, bits >>= 4) id += digits[bits & 15];
    }
    return id;
}

void require_option(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(std::string("weft: work_options::") + what);
}

void check_options(const work_options& o, const wire_versions& known) {
    require_option(o.when_full != overflow::drop_oldest,
                   "when_full cannot be drop_oldest: the work that is dropped was accepted");
    require_option(o.max_messages > 0, "max_messages is 0: the queue could have none");
    require_option(o.max_bytes > 0, "max_bytes is 0: the queue could have none");
    require_option(o.ack_wait >= milliseconds(100), "ack_wait is at least 100 ms");
    require_option(o.duplicate_window >= milliseconds(100), "duplicate_window is at least 100 ms");
    require_option(o.max_deliver > 0, "max_deliver is 0: nothing would be delivered");
    require_option(o.give_up > nanoseconds::zero(), "give_up is longer than zero");
    require_option(o.duplicate_window > o.give_up && o.duplicate_window > o.ack_wait,
                   "duplicate_window is longer than give_up and than ack_wait: what is repeated within these must be known");
    require_option(std::ranges::all_of(o.backoff, [](auto d) { return d >= nanoseconds::zero(); }),
                   "backoff has a negative time");
    require_option(o.version == 0 || (o.version >= known.oldest && o.version <= known.newest),
                   "version is none of those that WEFT_WIRE names");
}

std::string in_milliseconds(nanoseconds d) { return std::to_string(std::chrono::duration_cast<milliseconds>(d).count()) + " ms"; }

}  // namespace
}  // namespace weft::cluster::detail

namespace weft::cluster {

void require_ack_wait(std::string_view queue, std::chrono::nanoseconds wanted, std::chrono::nanoseconds there) {
    if (wanted >= there) return;
    throw std::invalid_argument("weft: work_options::ack_wait is " + detail::in_milliseconds(wanted) + ", and the queue '" +
                                std::string(queue) + "' has " + detail::in_milliseconds(there) +
                                ": give as much or more, since its receivers extend by what they were given");
}

}  // namespace weft::cluster

namespace weft::cluster::detail {

work_core::work_core(work_parts parts)
    : has(std::move(parts)),
      extending_(weft::spawn(
          weft::detail::never_inline(weft::detail::runtime_here("weft::cluster::work_queue"), {.name = "work:extend"}),
          [this] { keep_extending(); })) {}

void work_core::close() noexcept {
    const std::lock_guard guard(lock);
    is_closed = true;
    changed.notify_all();
}

nanoseconds work_core::backoff(std::uint64_t delivered) const noexcept {
    const auto& all = has.options.backoff;
    if (all.empty()) return {};
    return all[std::min<std::size_t>(delivered > 0 ? delivered - 1 : 0, all.size() - 1)];
}

void work_core::require_open(bool maybe_stored) {
    const std::lock_guard guard(lock);
    if (is_closed) throw error(errc::closed, "weft: the work queue '" + has.name + "' was closed", maybe_stored);
}

/// A message that nobody can handle must have room as a dead letter.
void work_core::require_room_for_letter(const work_item& item, const std::string& id) const {
    if (!has.dead) return;
    const auto size = item.name.size() + item.bytes.size() + id.size(), most = has.dead->largest_message();
    if (most != no_limit && size + letter_room > most)
        throw error(errc::too_large,
                    "weft: a message for the work queue '" + has.name + "' has " + std::to_string(size) +
                        " bytes, and its dead letter, which has up to " + std::to_string(letter_room) +
                        " more, would be larger than the " + std::to_string(most) + " that the store takes",
                    false);
}

void work_core::wait_for_room(nanoseconds limit) {
    lock_type guard(lock);
    changed.wait_for(guard, limit, [&] { return is_closed; });
}

sent work_core::send(const work_item& item, const std::string& id) {
    const auto& o = has.options;
    require_room_for_letter(item, id);
    auto answered = weft::now();
    bool maybe_stored = false, has_backed_off = false;
    for (nanoseconds pause = first_pause;; pause = std::min<nanoseconds>(2 * pause, longest_pause)) {
        require_open(maybe_stored);
        try {
            // WORK_QUEUE-5
            const auto done = has.queue->append(item, has.planted.renames_repeats ? new_id() : id);
            if (done == append_result::stored) return sent::stored;
            if (done == append_result::duplicate) return maybe_stored ? sent::stored : sent::duplicate;
            answered = weft::now();
        } catch (const error&) {
            throw;
        } catch (const std::system_error& e) {
            maybe_stored = true;
            if (weft::now() - answered >= o.give_up)
                throw error(errc::unreachable,
                            "weft: the store of the work queue '" + has.name + "' has not answered for too long: " + e.what(),
                            true);
            wait_for_room(pause);
            continue;
        }
        // An earlier attempt without an answer may have stored it; then nobody may call it dropped.
        if (o.when_full == overflow::drop_newest && !maybe_stored) return sent::dropped;
        if (o.when_full == overflow::fail || o.when_full == overflow::drop_newest || has_backed_off)
            throw error(errc::queue_full, "weft: the work queue '" + has.name + "' is full", maybe_stored);
        has_backed_off = o.when_full == overflow::back_off;
        wait_for_room(has_backed_off ? weft::detail::back_off_time : pause);
    }
}

/// The next one by address; null: there is none. So no list is made, which might find no memory.
std::shared_ptr<held_work> work_core::under_way_after(const held_work* last) {
    const std::lock_guard guard(lock);
    const auto next = under_way.upper_bound(last);
    return next == under_way.end() ? nullptr : next->second;
}

/// WORK_QUEUE-2, WORK_QUEUE-4.
void work_core::keep_extending() {
    for (;;) {
        {
            lock_type guard(lock);
            changed.wait(guard, [&] { return !under_way.empty(); });
            changed.wait_for(guard, has.options.ack_wait / 3, [] { return false; });
        }
        if (has.planted.never_extends) continue;
        for (auto held = under_way_after(nullptr); held; held = under_way_after(held.get())) {
            const std::lock_guard guard(held->word);
            if (held->was_given_back && !has.planted.extends_what_was_given_back) continue;
            try {
                held->work->extend();
            } catch (const std::exception&) {  // the next one may get through; else it is delivered again
            }
        }
    }
}

std::shared_ptr<work_core> open_work(const std::shared_ptr<work_store>& store, std::string_view name, const work_options& options,
                                     const work_type& type, const work_faults& planted) {
    require_name("work queue", name);
    if (!store) throw std::invalid_argument("weft: a work queue needs a store");
    check_options(options, type.versions);
    stored_queue_options kept{.max_messages = options.max_messages,
                              .max_bytes = options.max_bytes,
                              .ack_wait = options.ack_wait,
                              .duplicate_window = options.duplicate_window};
    auto queue = store->open(name, kept);
    kept.max_messages = kept.max_bytes = no_limit;  // a dead letter must find room
    auto dead = store->open(std::string(name) + ".dead", kept);
    return std::make_shared<work_core>(work_parts{.name = std::string(name),
                                                  .options = options,
                                                  .type = type,
                                                  .store = store,
                                                  .queue = std::move(queue),
                                                  .dead = std::move(dead),
                                                  .planted = planted});
}

std::shared_ptr<work_core> open_dead(const work_core& of) {
    work_parts parts = of.has;
    parts.name += ".dead";
    parts.type = {wire_name<dead_work>::name, wire_name<dead_work>::versions};
    parts.queue = std::exchange(parts.dead, nullptr);
    parts.planted = {};
    return std::make_shared<work_core>(std::move(parts));
}

std::shared_ptr<work_core> open_work(const std::shared_ptr<work_store>& store, std::string_view name, const work_options& options,
                                     const work_type& type) {
    return open_work(store, name, options, type, {});
}

void close_work(work_core& core) noexcept { core.close(); }

std::uint32_t version_to_write(const work_core& core) noexcept {
    return core.has.options.version != 0 ? core.has.options.version : core.has.type.versions.newest;
}

sent send_work(work_core& core, const work_item& item, std::string id) {
    if (id.empty()) id = new_id();
    return core.send(item, id);
}

sent retry_work(work_core& to, work_under_way& dead, const dead_work& letter) {
    dead.require_letter_of(to);  // before the message is stored
    if (letter.missing > 0)
        throw std::logic_error("weft: the end of this message was cut off: complete the job, set `missing` to 0, and retry it");
    // The dead letter may come again: then its message has the id of this time.
    const auto done = to.send(letter.job, to.has.name + ".retry." + std::to_string(dead.what().sequence) + "." + dead.what().id);
    if (done != sent::dropped) dead.ack_sure();
    return done;
}

std::shared_ptr<work_receiving> receive_work(std::shared_ptr<work_core> core, std::size_t most) {
    if (most == 0) throw std::invalid_argument("weft: a receiver of a work queue needs room for 1 message at least");
    return std::shared_ptr<work_receiving>(new work_receiving{.of = std::move(core), .most = most});
}

}  // namespace weft::cluster::detail
