// life.cpp - a node from its start to its end, its fibers, and the actors it exposes.
#include <weft/simulation.hpp>
#include <weft/stop.hpp>

#include <stdexcept>

#include "cluster/node_core.hpp"
#include "cluster/placed.hpp"
#include "cluster/subject.hpp"

namespace weft::cluster {
namespace detail {
namespace {

constexpr std::size_t most_ended = 1024;  // chosen: how many actors that have ended a node remembers, to say why

std::uint64_t drawn_incarnation() noexcept {
    const auto half = [] { return std::uint64_t{weft::draw(std::numeric_limits<std::uint32_t>::max())}; };
    return half() << 32 | half();
}

void require(bool fact, const char* what) {
    if (!fact) throw std::invalid_argument(what);
}

const node_options& checked(const node_options& o) {
    require_name("node", o.name);
    require_name("cluster", o.cluster);
    require(o.words != nullptr, "weft: node_options::words is required");
    require(o.beat > o.beat.zero(), "weft: node_options::beat must be longer than zero");
    require(o.give_up >= o.beat, "weft: node_options::give_up is at least one beat");
    require(o.lease >= std::chrono::seconds(2), "weft: node_options::lease is at least two seconds");
    require(o.credit >= 2 && o.credit <= 65536, "weft: node_options::credit is from 2 to 65536");
    constexpr std::size_t around = 4096;   // heads, and what a transport puts around a message
    require(o.max_message_bytes > 0 && o.max_message_bytes + around <= o.words->max_payload(),
            "weft: node_options::max_message_bytes is at most what the transport carries, less 4 KiB");
    return o;
}

/// At max_fibers such a fiber waits for a place. Its starter must not run it inline, since it runs as long as
/// the node.
weft::attributes own_fiber() {
    return weft::detail::never_inline(weft::detail::runtime_here("weft::cluster::node"), {.name = "cluster node"});
}

}  // namespace

node_core::node_core(node_options options, const node_faults& faults) : options_(checked(options)), faults_(faults) {}

node_core::~node_core() = default;

void node_core::open() {
    finds_ = options_.words->subscribe(find_subject(options_.cluster, options_.name), {});
    if (options_.names) {
        membership_ = std::make_shared<membership>(
            membership_options{.store = options_.names,
                               .cluster = options_.cluster,
                               .node = options_.name,
                               .lease = options_.lease,
                               .counts_from_answer = faults_.counts_lease_from_answer},
            membership_events{
                .joined = [this](std::uint64_t incarnation) { begin_life(incarnation); },
                .fenced = [this] { end_life(); },
                .died = [this](const std::string& node, std::uint64_t incarnation) { on_death(node, incarnation); }});
    } else {
        begin_life(drawn_incarnation());
    }
    root_ = weft::spawn(own_fiber(),
                        [this] { weft::with_scope({.on_failure = on_failure::report}, [this](weft::scope& s) { run(s); }); });
    started_.wait();
    lock guard(lock_);
    if (is_closed_) {
        guard.unlock();
        return root_.join();  // throws why
    }
    if (!membership_) return;
    changed_.wait_for(guard, options_.give_up, [&] { return incarnation_ != 0; });
}

void node_core::run(weft::scope& s) {
    // A runtime that ends stops this fiber, too: then the node is closed before its scope is gone.
    struct leaving {
        ~leaving() {
            const lock guard(core.lock_);
            core.is_closed_ = true;
            core.started_.set();  // if a fiber could not be started
        }
        node_core& core;
    } const at_the_end{*this};
    const auto start = [&](std::function<void()> body) { s.spawn(own_fiber(), std::move(body)); };
    start([this] { read_each(&node_core::batches_, [this](const carried& m) { on_batch(m); }); });
    start([this] { read_each(&node_core::replies_, [this](const carried& m) { on_reply(m); }); });
    start([this] { read_each(&node_core::finds_, [this](const carried& m) { on_find(m); }); });
    start([this] { tick(); });
    start([this] { watch_links(); });
    start([this] { send_link_ends(); });
    if (membership_) membership_->run(start);
    started_.set();
    start_later_ones(start);
    s.request_stop();
}

/// Starts the fibers that were asked for, until the node ends. It holds no lock meanwhile: at max_fibers a
/// fiber waits for a place.
void node_core::start_later_ones(const std::function<void(std::function<void()>)>& start) {
    for (;;) {
        std::function<void()> next;
        {
            lock guard(lock_);
            changed_.wait(guard, [&] { return may_end_ || !to_start_.empty(); });
            if (may_end_) return;
            next = std::move(to_start_.front());
            to_start_.pop_front();
        }
        try {
            start(next);
        } catch (const std::exception&) {  // with at_limit::fail: when there is a place
            constexpr auto a_while = std::chrono::milliseconds(50);
            weft::this_fiber::sleep_for(a_while);
            const lock guard(lock_);
            to_start_.push_front(std::move(next));
        }
    }
}

void node_core::start_soon(std::function<void()> body) {
    to_start_.push_back(std::move(body));
    changed_.notify_all();
}

/// Reads a subscription, and the one of the next life after it.
template <class F>
void node_core::read_each(std::shared_ptr<inbox> node_core::*which, F&& f) {
    for (std::shared_ptr<inbox> before;;) {
        std::shared_ptr<inbox> now;
        {
            lock guard(lock_);
            changed_.wait(guard, [&] { return is_closed_ || (this->*which && this->*which != before); });
            if (is_closed_) return;
            now = this->*which;
        }
        carried m;
        while (now->receive(m)) {
            try {
                f(m);
            } catch (const std::exception&) {   // of this message only, such as for want of memory
                const lock guard(lock_);
                ++stats_.refused;
            }
        }
        before = std::move(now);
    }
}

void node_core::begin_life(std::uint64_t incarnation) {
    std::shared_ptr<inbox> batches =
        options_.words->subscribe(batch_subject(options_.cluster, options_.name, incarnation, "*"), {});
    std::shared_ptr<inbox> replies =
        options_.words->subscribe(reply_subject(options_.cluster, options_.name, incarnation) + ".*", {});
    const lock guard(lock_);
    if (is_closed_) return;
    incarnation_ = incarnation;
    batches_ = std::move(batches);
    replies_ = std::move(replies);
    changed_.notify_all();
}

/// This node has lost its lease: the others take it for dead, or soon will, so it ends all contact and is a
/// stranger from now on.
void node_core::end_life() {
    std::shared_ptr<inbox> batches, replies;
    {
        const lock guard(lock_);
        incarnation_ = 0;
        batches = std::move(batches_);
        replies = std::move(replies_);
        for (const auto& [_, c] : contacts_) end_epoch(*c, errc::no_lease, "this node has lost its lease", false);
        for (auto& [_, a] : std::exchange(requests_, {})) {
            a->done = true;
            a->failed = errc::no_lease;
            a->text = "node '" + options_.name + "' has lost its lease";
            a->changed.notify_all();
        }
    }
    each_placement(&placed_core::fence);
    for (const auto& in : {batches, replies})
        if (in) in->close();
}

/// The lease of another node has ended.
void node_core::on_death(const std::string& node, std::uint64_t incarnation) {
    if (node == options_.name) return;
    const lock guard(lock_);
    const auto c = contact_with(node, incarnation);
    c->has_left = true;
    c->last_heard = weft::now();
    end_epoch(*c, errc::node_gone, "its lease has ended", false);
    c->changed.notify_all();
}

void node_core::close() noexcept {
    const shield until_closed;   // the fiber that closes it may have been asked to stop
    end_placements();
    std::map<std::uint64_t, std::shared_ptr<exposed>> released;
    std::vector<std::shared_ptr<inbox>> subscribed;
    {
        lock guard(lock_);
        if (std::exchange(is_closing_, true)) return;
        is_closed_ = true;
        released.swap(exposed_);
        for (const auto& [_, e] : released) leave_groups(*e, subscribed);
        for (const auto& t : std::exchange(topics_, {})) subscribed.push_back(t.lock());
        for (auto& [_, a] : std::exchange(requests_, {})) {
            a->done = true;
            a->failed = errc::closed;
            a->text = "node '" + options_.name + "' was closed";
            a->changed.notify_all();
        }
        const auto contacts = contacts_;
        for (const auto& [_, c] : contacts) {
            const bool was_open = c->is_open();
            end_epoch(*c, errc::closed, "node '" + options_.name + "' was closed", false);
            if (!was_open) continue;
            queue_batch(*c, begin_batch({.kind = batch_kind::goodbye,
                                         .incarnation = incarnation_,
                                         .halves = {.mine = ++last_half_, .yours = 0}}));
        }
        end_lost_links(guard);
        for (const auto& [_, c] : contacts) flush(guard, c);
        changed_.notify_all();
    }
    if (membership_) membership_->leave();
    {
        const lock guard(lock_);
        may_end_ = true;
        changed_.notify_all();
    }
    try {
        if (root_.joinable()) {
            root_.request_stop();  // it may wait for a place of a fiber
            root_.join();
        }
    } catch (...) {   // it was stopped
    }
    // Messages that are held back have a way to their asker, which holds the contact and this node.
    std::map<std::pair<std::string, std::uint64_t>, std::shared_ptr<contact>> left;
    std::vector<std::map<std::uint64_t, std::shared_ptr<inbound>>> held_back;
    std::deque<std::function<void()>> never_started;
    std::vector<std::shared_ptr<contact>> never_flushed;
    {
        const lock guard(lock_);
        left.swap(contacts_);
        for (const auto& [_, c] : left) held_back.push_back(std::exchange(c->inbound_of, {}));
        never_started.swap(to_start_);
        never_flushed.swap(with_link_ends_);
    }
    for (const auto& in : {batches_, replies_, finds_}) subscribed.push_back(in);
    for (const auto& in : subscribed)
        if (in) in->close();
}

void node_core::tick() {
    for (;;) {
        weft::this_fiber::sleep_for(options_.beat);
        if (faults_.compares_nothing) continue;
        lock guard(lock_);
        const auto contacts = contacts_;
        for (const auto& [key, c] : contacts) {
            tick(guard, c, weft::now());
            const bool is_unused = c->numbers.now() == epoch::phase::idle && !c->is_flushing && c->ready.empty() &&
                                   c->waiting == 0 && c->inbound_of.empty();
            if (is_unused && weft::now() - c->last_heard > options_.give_up) contacts_.erase(key);
        }
    }
}

void node_core::tick(lock& guard, const std::shared_ptr<contact>& c, time_point now) {
    if (c->numbers.now() == epoch::phase::idle) return;
    if (c->numbers.now() == epoch::phase::opening) {
        if (now - c->began > options_.give_up)
            end_epoch(*c, errc::unreachable, "it does not answer", false);
        else
            queue_hello(*c);
        return flush(guard, c);
    }
    if (!c->is_expecting()) {
        c->expecting_since = now;
        // Of a node that has died nothing will be heard: this finds it, and keeps no contact with it.
        if (now - c->last_heard > options_.give_up) c->is_probing = true;
    } else {
        const auto silent = now - std::max(c->expecting_since, c->last_heard);
        c->is_suspected = silent > 3 * options_.beat;
        if (silent > options_.give_up) {
            end_epoch(*c, errc::unreachable, "nothing was heard of it", true);
            return flush(guard, c);
        }
    }
    if (c->marked == 0 && c->numbers.sent() > c->numbers.confirmed()) {
        c->marked = c->numbers.sent();
        c->marked_at = now;
    }
    if (c->is_expecting() || c->wants_beat || c->numbers.seen() > c->reported) queue_beat(*c);
    flush(guard, c);
}

remote_address node_core::expose(weft::detail::actor_core_ref actor, std::span<const wire_entry> entries) {
    const auto serial = reserve_serial();
    expose_as(serial, std::move(actor), entries, {});
    return {.node = options_.name, .incarnation = incarnation(), .serial = serial};
}

void node_core::expose_as(std::uint64_t serial, weft::detail::actor_core_ref actor, std::span<const wire_entry> entries,
                          std::function<void(const exit_reason&)> on_end) {
    const lock guard(lock_);
    require_open();
    const auto made = std::make_shared<exposed>(serial, std::move(actor), entries, std::move(on_end));
    exposed_.emplace(serial, made);
    start_soon([this, made] { watch(made); });
}

void node_core::unexpose(std::uint64_t serial) noexcept {
    std::shared_ptr<exposed> released;
    std::vector<std::shared_ptr<inbox>> subscribed;
    lock guard(lock_);
    const auto found = exposed_.find(serial);
    if (found == exposed_.end()) return;
    released = found->second;
    exposed_.erase(found);
    released->end.close();
    leave_groups(*released, subscribed);
    tell_down(guard, serial, exit_kind::normal, "the node exposes it no longer");
    guard.unlock();
    for (const auto& in : subscribed) in->close();
}

/// Waits for the actor's end, and tells the nodes that monitor it.
void node_core::watch(const std::shared_ptr<exposed>& e) {
    const auto got = e->end.receive();
    const auto why = got.value_or(exit_reason{});
    if (got && e->on_end) std::exchange(e->on_end, {})(why);  // else it is exposed no longer
    lock guard(lock_);
    if (exposed_.erase(e->serial) == 0) return;  // it is not exposed any more
    if (ended_.size() == most_ended) ended_.erase(ended_.begin());
    ended_.emplace(e->serial, ended_actor{.how = why.kind, .text = text_of(why)});
    std::vector<std::shared_ptr<inbox>> subscribed;
    leave_groups(*e, subscribed);
    tell_down(guard, e->serial, why.kind, text_of(why));
    guard.unlock();
    for (const auto& in : subscribed) in->close();
}

/// Tells the nodes that monitor the actor, and forgets what was kept of it.
void node_core::tell_down(lock& guard, std::uint64_t serial, exit_kind how, std::string_view text) {
    byte_vector down;
    put(down, serial);
    put(down, static_cast<std::uint8_t>(how));
    put(down, text.substr(0, longest_text));
    const auto contacts = contacts_;
    for (const auto& [_, c] : contacts) {
        forget_inbound(*c, serial);
        if (c->monitored.erase(serial) > 0) queue_frame(*c, frame_kind::down, down);
        flush(guard, c);
    }
}

bool node_core::exposes(const remote_address& a) {
    const lock guard(lock_);
    return a.node == options_.name && a.incarnation == incarnation_ && exposed_.contains(a.serial);
}

std::uint64_t node_core::incarnation() {
    const lock guard(lock_);
    return incarnation_;
}

const std::shared_ptr<membership>& node_core::names() const {
    if (membership_) return membership_;
    throw error(errc::no_names, "weft: node '" + options_.name + "' has no store of names: give it node_options::names", false);
}

node_stats node_core::stats() {
    const lock guard(lock_);
    auto s = stats_;
    s.exposed = exposed_.size();
    for (const auto& [_, c] : contacts_) {
        s.nodes += c->is_open() ? 1 : 0;
        s.suspected += c->is_suspected ? 1 : 0;
        s.links += c->links.size();
    }
    return s;
}

void remote_send(node_core& n, const remote_address& to, const outgoing& m, time_point until) { n.send(to, m, until); }
remote_answer remote_ask(node_core& n, const remote_address& to, const outgoing& m, time_point until) {
    return n.ask(to, m, until);
}
receiver<exit_reason> remote_monitor(node_core& n, const remote_address& to) { return n.monitor(to); }
remote_address expose(node_core& n, weft::detail::actor_core_ref a, std::span<const wire_entry> e) {
    return n.expose(std::move(a), e);
}
void unexpose(node_core& n, const remote_address& a) noexcept {
    if (a.node == n.name()) n.unexpose(a.serial);   // also if its address is of an earlier life
}
remote_address find(node_core& n, std::string_view node, std::string_view actor, std::span<const wire_entry> e,
                    time_point until) {
    return n.find(node, actor, e, until);
}

std::optional<name_lease> claim_name(node_core& n, std::string_view name, const remote_address& to) {
    require_long_name(name);
    const auto& by = n.names();
    if (!n.exposes(to))
        throw error(errc::not_exposed, "weft: only an actor that this node exposes can have the name '" + std::string(name) + "'",
                    false);
    auto got = by->claim(name, to.serial);
    if (!got) return std::nullopt;
    return name_lease(by, std::move(got));
}

remote_address find_name(node_core& n, std::string_view name) {
    require_long_name(name);
    const auto found = n.names()->find(name);
    if (!found) throw error(errc::unknown_name, "weft: nobody has the name '" + std::string(name) + "' now", false);
    return {.node = found->node, .incarnation = found->incarnation, .serial = found->serial, .token = found->token};
}

const std::shared_ptr<node_core>& core_of(const node& n) {
    if (!n.core_) throw error(errc::closed, "weft: this node was moved from", false);
    return n.core_;
}

}  // namespace detail

node::node(node_options options) : core_(std::make_shared<detail::node_core>(std::move(options))) {
    try {
        core_->open();
    } catch (...) {   // stopped while it waited for its lease, perhaps
        core_->close();
        throw;
    }
}
node::node(node&&) noexcept = default;
node& node::operator=(node&& other) noexcept {
    if (this == &other) return *this;
    close();
    core_ = std::move(other.core_);
    return *this;
}
node::~node() { close(); }

void node::close() noexcept {
    if (core_) core_->close();
}
const std::string& node::name() const noexcept { return core_->name(); }
std::uint64_t node::incarnation() const { return core()->incarnation(); }
node_stats node::stats() const { return core()->stats(); }

}  // namespace weft::cluster
