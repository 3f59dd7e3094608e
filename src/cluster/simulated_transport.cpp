// simulated_transport.cpp - one lock and one condition for all hosts: few fibers wait in it.
#include <weft/cluster/simulated_transport.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include <weft/condition_variable.hpp>
#include <weft/mutex.hpp>
#include <weft/simulation.hpp>

#include "cluster/subject.hpp"

namespace weft::cluster {

namespace detail {

using time_point = std::chrono::steady_clock::time_point;

struct arriving {
    time_point due;
    std::string from;
    carried what;
};

struct simulated_subscription {
    std::string host, pattern, queue;
    std::deque<arriving> messages;  // by `due`
    std::map<std::string, time_point> latest;  // of each sender: its messages keep their order
    bool is_closed = false;
};

struct simulated_words {
    weft::mutex lock;  // guards everything
    weft::condition_variable changed;
    transport_faults faults;
    std::set<std::pair<std::string, std::string>> cuts;
    std::set<std::string, std::less<>> frozen, dead;
    std::vector<std::shared_ptr<simulated_subscription>> subscriptions;
    std::uint64_t lost = 0;

    bool is_cut(const std::string& a, const std::string& b) const { return cuts.contains(std::minmax(a, b)); }
    bool is_lost() const { return faults.lose_one_in != 0 && weft::draw(faults.lose_one_in) == 0; }
    std::chrono::nanoseconds delay() const {
        constexpr std::uint32_t steps = 1000;  // chosen: fine enough for any test
        return faults.least_delay + (faults.most_delay - faults.least_delay) * weft::draw(steps + 1) / steps;
    }

    void deliver(simulated_subscription& to, const std::string& from, carried what) {
        if (is_cut(from, to.host) || is_lost()) {
            ++lost;
            return;
        }
        const auto due = std::max(weft::now() + delay(), to.latest[from]);
        to.latest[from] = due;
        const auto place = std::ranges::upper_bound(to.messages, due, {}, &arriving::due);
        to.messages.insert(place, {.due = due, .from = from, .what = std::move(what)});
    }
    /// \returns whether there was a subscription
    bool send(const std::string& from, const carried& what) {
        std::map<std::string, std::vector<simulated_subscription*>> queues;
        bool any = false;
        for (const auto& s : subscriptions) {
            if (!subject_matches(s->pattern, what.subject)) continue;
            any = true;
            if (s->queue.empty())
                deliver(*s, from, what);
            else
                queues[s->queue].push_back(s.get());
        }
        for (const auto& [_, members] : queues)
            deliver(*members[weft::draw(static_cast<std::uint32_t>(members.size()))], from, what);
        return any;
    }
};

namespace {

class simulated_inbox final : public inbox {
public:
    simulated_inbox(std::shared_ptr<simulated_words> words, std::shared_ptr<simulated_subscription> mine)
        : words_(std::move(words)), mine_(std::move(mine)) {}
    ~simulated_inbox() override { simulated_inbox::close(); }

    bool receive(carried& into) override {
        std::unique_lock guard(words_->lock);
        for (;;) {
            if (mine_->is_closed) return false;
            if (mine_->messages.empty() || words_->frozen.contains(mine_->host)) {
                words_->changed.wait(guard);
            } else if (mine_->messages.front().due > weft::now()) {
                words_->changed.wait_until(guard, mine_->messages.front().due);
            } else {
                auto first = std::move(mine_->messages.front());
                mine_->messages.pop_front();
                if (words_->is_cut(first.from, mine_->host)) {
                    ++words_->lost;
                    continue;
                }
                into = std::move(first.what);
                return true;
            }
        }
    }
    void close() noexcept override {
        const std::lock_guard guard(words_->lock);
        mine_->is_closed = true;
        std::erase(words_->subscriptions, mine_);
        words_->changed.notify_all();
    }

private:
    std::shared_ptr<simulated_words> words_;
    std::shared_ptr<simulated_subscription> mine_;
};

class simulated_host final : public transport {
public:
    simulated_host(std::shared_ptr<simulated_words> words, std::string host) : words_(std::move(words)), host_(std::move(host)) {}

    void publish(std::string_view subject, std::string_view reply, std::span<const std::byte> payload) override {
        if (payload.size() > max_payload())
            throw std::system_error(std::make_error_code(std::errc::message_size), "weft: the simulated transport");
        std::unique_lock guard(words_->lock);
        words_->changed.wait(guard, [this] { return !words_->frozen.contains(host_); });
        if (words_->dead.contains(host_)) {
            ++words_->lost;
            return;
        }
        const carried what{
            .subject = std::string(subject), .reply = std::string(reply), .payload = {payload.begin(), payload.end()}};
        if (!words_->send(host_, what) && !reply.empty())
            words_->send(host_, {.subject = what.reply, .reply = {}, .payload = {}, .no_responders = true});
        words_->changed.notify_all();
    }
    std::unique_ptr<inbox> subscribe(std::string_view subject, std::string_view queue) override {
        auto made = std::make_shared<simulated_subscription>();
        made->host = host_;
        made->pattern = subject;
        made->queue = queue;
        const std::lock_guard guard(words_->lock);
        made->is_closed = words_->dead.contains(host_);
        if (!made->is_closed) words_->subscriptions.push_back(made);
        return std::make_unique<simulated_inbox>(words_, std::move(made));
    }
    std::size_t max_payload() const noexcept override { return std::size_t{1} << 20; }

private:
    std::shared_ptr<simulated_words> words_;
    const std::string host_;
};

}  // namespace
}  // namespace detail

simulated_transport::simulated_transport(const transport_faults& faults) : state_(std::make_shared<detail::simulated_words>()) {
    state_->faults = faults;
}

simulated_transport::~simulated_transport() = default;

std::shared_ptr<transport> simulated_transport::at(std::string_view host) {
    return std::make_shared<detail::simulated_host>(state_, std::string(host));
}

void simulated_transport::set_faults(const transport_faults& faults) {
    const std::lock_guard guard(state_->lock);
    state_->faults = faults;
}

void simulated_transport::cut(std::string_view a, std::string_view b) {
    const std::lock_guard guard(state_->lock);
    state_->cuts.insert(std::minmax(std::string(a), std::string(b)));
}

void simulated_transport::heal(std::string_view a, std::string_view b) {
    const std::lock_guard guard(state_->lock);
    state_->cuts.erase(std::minmax(std::string(a), std::string(b)));
}

void simulated_transport::freeze(std::string_view host) {
    const std::lock_guard guard(state_->lock);
    state_->frozen.emplace(host);
}

void simulated_transport::thaw(std::string_view host) {
    const std::lock_guard guard(state_->lock);
    if (const auto found = state_->frozen.find(host); found != state_->frozen.end()) state_->frozen.erase(found);
    state_->changed.notify_all();
}

void simulated_transport::kill(std::string_view host) {
    const std::lock_guard guard(state_->lock);
    state_->dead.emplace(host);
    std::erase_if(state_->subscriptions, [&](const auto& s) {
        if (s->host != host) return false;
        s->is_closed = true;
        return true;
    });
    state_->changed.notify_all();
}

std::uint64_t simulated_transport::lost() const {
    const std::lock_guard guard(state_->lock);
    return state_->lost;
}

}  // namespace weft::cluster
