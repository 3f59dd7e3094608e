// simulated_work.cpp - one lock and one condition for all queues.
#include <weft/cluster/simulated_work.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <weft/cluster/error.hpp>

#include "cluster/simulated_access.hpp"

namespace weft::cluster {

namespace detail {

using std::chrono::nanoseconds;
using time_point = simulated_access::time_point;

/// A message of a queue. It may be delivered from `ready_at` on.
struct kept_work {
    stored_work::content what;
    time_point ready_at;
};

struct simulated_queue {
    stored_queue_options options;
    std::uint64_t last_sequence = 0, bytes = 0;
    std::map<std::uint64_t, kept_work> messages;  // by sequence
    std::map<std::string, time_point, std::less<>> ids;  // when a message with it was stored

    static std::uint64_t size_of(const work_item& i) { return i.name.size() + i.bytes.size(); }

    append_result append(const work_item& item, std::string_view id) {
        const auto now = weft::now();
        std::erase_if(ids, [&](const auto& known) { return known.second + options.duplicate_window <= now; });
        if (ids.contains(id)) return append_result::duplicate;
        const auto size = size_of(item);
        if (size > options.max_bytes)
            throw error(errc::too_large,
                        "weft: a message of " + std::to_string(size) + " bytes is larger than work_options::max_bytes, " +
                            std::to_string(options.max_bytes),
                        false);
        if (messages.size() >= options.max_messages || bytes > options.max_bytes - size) return append_result::full;
        ids.emplace(id, now);
        bytes += size;
        ++last_sequence;
        messages.emplace(last_sequence, kept_work{{item, std::string(id), last_sequence, 0}, now});
        return append_result::stored;
    }
    std::vector<stored_work::content> deliver(std::size_t most, std::uint32_t repeat_one_in) {
        const auto now = weft::now();
        std::vector<stored_work::content> all;
        for (auto& [_, m] : messages) {
            if (all.size() == most) break;
            if (m.ready_at > now) continue;
            ++m.what.delivered;
            m.ready_at = simulated_access::happens(repeat_one_in) ? now + options.ack_wait / 20 : now + options.ack_wait;
            all.push_back(m.what);
        }
        return all;
    }
    void forget(std::uint64_t sequence) {
        const auto found = messages.find(sequence);
        if (found == messages.end()) return;
        bytes -= size_of(found->second.what.item);
        messages.erase(found);
    }
    void delay(std::uint64_t sequence, nanoseconds by) {
        if (const auto found = messages.find(sequence); found != messages.end()) found->second.ready_at = weft::now() + by;
    }
    time_point next_ready() const {
        auto earliest = time_point::max();
        for (const auto& [_, m] : messages) earliest = std::min(earliest, m.ready_at);
        return earliest;
    }
};

/// What a receiver has said without waiting, on its way.
struct spoken {
    enum class word { forget, delay };
    time_point arrives;
    std::string queue;
    std::uint64_t sequence;
    word what;
    nanoseconds by;
};

struct simulated_queues : simulated_access {
    std::map<std::string, simulated_queue, std::less<>> queues;
    std::vector<spoken> on_their_way;
    std::uint64_t largest_message = no_limit;
    work_store_faults faults;

    /// Does what has arrived until now. Called before each look.
    void listen() {
        const auto now = weft::now();
        const auto later =
            std::stable_partition(on_their_way.begin(), on_their_way.end(), [&](const spoken& s) { return s.arrives <= now; });
        std::stable_sort(on_their_way.begin(), later, [](const spoken& a, const spoken& b) { return a.arrives < b.arrives; });
        for (auto s = on_their_way.begin(); has_leader && s != later; ++s) {
            auto& q = queues.at(s->queue);
            if (s->what == spoken::word::forget)
                q.forget(s->sequence);
            else
                q.delay(s->sequence, s->by);
        }
        on_their_way.erase(on_their_way.begin(), later);
    }
    time_point next_change(const simulated_queue& q) const {
        auto earliest = q.next_ready();
        for (const auto& s : on_their_way) earliest = std::min(earliest, s.arrives);
        return earliest;
    }
};

namespace {

class simulated_stored_work final : public stored_work {
public:
    simulated_stored_work(std::shared_ptr<simulated_queues> s, std::string host, std::string queue, content what)
        : stored_work(std::move(what)), state_(std::move(s)), host_(std::move(host)), queue_(std::move(queue)) {}

    void ack() override { say(spoken::word::forget); }
    void ack_sure() override {
        state_->call(host_, [&](const auto&) {
            state_->listen();
            state_->queues.at(queue_).forget(what().sequence);
            state_->changed.notify_all();
            return 0;
        });
    }
    void give_back(nanoseconds delay) override { say(spoken::word::delay, delay); }
    void extend() override {
        nanoseconds by;
        {
            const std::lock_guard guard(state_->lock);
            by = state_->queues.at(queue_).options.ack_wait;
        }
        say(spoken::word::delay, by);
    }
    void terminate() override { say(spoken::word::forget); }

private:
    void say(spoken::word what_it_is, nanoseconds by = {}) {
        std::unique_lock guard(state_->lock);
        state_->changed.wait(guard, [&] { return !state_->is_frozen(host_); });
        if (state_->is_cut(host_) || simulated_access::happens(state_->faults.lose_one_in)) return;
        state_->on_their_way.push_back({weft::now() + state_->delay(host_), queue_, what().sequence, what_it_is, by});
        state_->changed.notify_all();
    }

    std::shared_ptr<simulated_queues> state_;
    const std::string host_, queue_;
};

class simulated_stored_queue final : public stored_queue {
public:
    simulated_stored_queue(std::shared_ptr<simulated_queues> s, std::string host, std::string name)
        : state_(std::move(s)), host_(std::move(host)), name_(std::move(name)) {}

    std::uint64_t largest_message() const override {
        const std::lock_guard guard(state_->lock);
        return state_->largest_message;
    }
    append_result append(const work_item& item, std::string_view id) override {
        return state_->call(host_, [&](const auto&) {
            state_->listen();
            if (simulated_queue::size_of(item) + id.size() > state_->largest_message)
                throw error(errc::too_large, "weft: the simulated store takes no message as large as that", false);
            const auto done = mine().append(item, id);
            state_->changed.notify_all();
            return done;
        });
    }
    std::vector<std::shared_ptr<stored_work>> pull(std::size_t most, nanoseconds limit) override {
        const auto got = state_->call(host_, [&](std::unique_lock<weft::mutex>& guard) {
            const auto until = weft::now() + limit;
            for (;;) {
                if (!state_->has_leader || state_->is_cut(host_)) simulated_access::fail();
                state_->listen();
                auto all = mine().deliver(most, state_->faults.repeat_one_in);
                if (!all.empty() || weft::now() >= until) return all;
                state_->changed.wait_until(guard, std::min(until, state_->next_change(mine())));
            }
        });
        std::vector<std::shared_ptr<stored_work>> all;
        for (const auto& what : got) all.push_back(std::make_shared<simulated_stored_work>(state_, host_, name_, what));
        return all;
    }

private:
    simulated_queue& mine() { return state_->queues.at(name_); }

    std::shared_ptr<simulated_queues> state_;
    const std::string host_, name_;
};

class simulated_work_store final : public work_store {
public:
    simulated_work_store(std::shared_ptr<simulated_queues> s, std::string host) : state_(std::move(s)), host_(std::move(host)) {}

    std::shared_ptr<stored_queue> open(std::string_view name, const stored_queue_options& options) override {
        state_->call(host_, [&](const auto&) {
            const auto found = state_->queues.find(name);
            if (found != state_->queues.end()) require_ack_wait(name, options.ack_wait, found->second.options.ack_wait);
            state_->queues[std::string(name)].options = options;
            return 0;
        });
        return std::make_shared<simulated_stored_queue>(state_, host_, std::string(name));
    }

private:
    std::shared_ptr<simulated_queues> state_;
    const std::string host_;
};

}  // namespace
}  // namespace detail

simulated_work::simulated_work(const store_faults& calls, const work_store_faults& words)
    : state_(std::make_shared<detail::simulated_queues>()) {
    state_->set_faults(calls);
    state_->faults = words;
}

simulated_work::~simulated_work() = default;

std::shared_ptr<work_store> simulated_work::at(std::string_view host) {
    return std::make_shared<detail::simulated_work_store>(state_, std::string(host));
}

void simulated_work::set_faults(const store_faults& faults) { state_->set_faults(faults); }
void simulated_work::set_faults(std::string_view host, const store_faults& faults) { state_->set_faults(host, faults); }
void simulated_work::set_faults(const work_store_faults& faults) {
    const std::lock_guard guard(state_->lock);
    state_->faults = faults;
}
void simulated_work::set_largest_message(std::uint64_t bytes) {
    const std::lock_guard guard(state_->lock);
    state_->largest_message = bytes;
}
void simulated_work::cut(std::string_view host) { state_->cut(host); }
void simulated_work::heal(std::string_view host) { state_->heal(host); }
void simulated_work::freeze(std::string_view host) { state_->freeze(host); }
void simulated_work::thaw(std::string_view host) { state_->thaw(host); }

void simulated_work::lose_leader() {
    const std::lock_guard guard(state_->lock);
    state_->listen();
    state_->has_leader = false;
    state_->changed.notify_all();
}

void simulated_work::recover() {
    const std::lock_guard guard(state_->lock);
    state_->has_leader = true;
    for (auto& [name, q] : state_->queues)
        for (auto& [sequence, m] : q.messages)
            if (weft::draw(2) == 0) m.ready_at = weft::now();
    state_->changed.notify_all();
}

void simulated_work::make_anew(std::string_view queue) {
    const std::lock_guard guard(state_->lock);
    const auto found = state_->queues.find(queue);
    if (found == state_->queues.end()) return;
    found->second = {.options = found->second.options, .messages = {}, .ids = {}};
    std::erase_if(state_->on_their_way, [&](const auto& s) { return s.queue == queue; });
}

std::size_t simulated_work::size(std::string_view queue) const {
    const std::lock_guard guard(state_->lock);
    state_->listen();
    const auto found = state_->queues.find(queue);
    return found == state_->queues.end() ? 0 : found->second.messages.size();
}

}  // namespace weft::cluster
