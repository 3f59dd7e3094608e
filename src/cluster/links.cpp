// links.cpp - links between actors of this node and actors of others (far_end.hpp).
#include "actor/actor_core.hpp"
#include "cluster/far_end.hpp"
#include "cluster/node_core.hpp"

namespace weft::cluster::detail {
namespace {

constexpr std::size_t most_links = 16384;  // chosen: that one other node can make
constexpr std::size_t longest_actor_name = 256;  // chosen: in bytes, in a link

exit_reason failed_with(errc why, std::string_view text) {
    return {.kind = exit_kind::failed, .failure = std::make_exception_ptr(error(why, std::string(text), true))};
}

std::string name_of(const remote_address& a) { return "actor " + std::to_string(a.serial) + " of node '" + a.node + "'"; }

}  // namespace

far_end::far_end(std::shared_ptr<node_core> by, std::shared_ptr<contact> to, epoch_halves of, link_key key,
                 std::string name) noexcept
    : by_(std::move(by)), to_(std::move(to)), of_(of), key_(key), name_(std::move(name)) {}

far_end::~far_end() { by_->end_link(to_, of_, key_, {}); }

void far_end::end(const exit_reason& why) noexcept {
    why_ = why;
    state_.store(state::ended_there, weft::detail::release);  // pairs with has_ended()
    weft::detail::break_links(*this, why);
}

std::uint64_t far_end::life() noexcept {
    auto expected = state::linked;
    static_cast<void>(state_.compare_exchange_strong(expected, state::broken_here, weft::detail::acq_rel,
                                                     weft::detail::acquire));  // with end()
    return 0;
}

void far_end::throw_gone() {
    if (is_broken_here()) throw actor_gone(name_, {});
    if (why_.failure) std::rethrow_exception(why_.failure);
    throw actor_gone(name_, why_);
}

void far_end::linked_end(std::uint64_t /*life*/, std::string_view /*other*/, const exit_reason& why) noexcept {
    by_->end_link(to_, of_, key_, why);
}

void node_core::link(weft::detail::linkable& here, const remote_address& to) {
    for (;;) {
        std::shared_ptr<far_end> far, ended;  // FAR_END-3
        std::shared_ptr<contact> c;
        bool is_new = false;
        {
            lock guard(lock_);
            c = open_contact(guard, to, weft::detail::never);
            far = linked_with(*c, here, to.serial);
            if (far && far->has_ended()) ended = std::move(far);
            is_new = far == nullptr;
            if (is_new) far = make_link(guard, c, here, to);
        }
        try {
            weft::detail::link_ends(here, *far);  // before the other node can say anything of it
        } catch (...) {
            if (far->is_broken_here()) continue;  // by the end of an earlier life
            throw;
        }
        lock guard(lock_);
        if (!is_new || !c->links.contains(far->key())) return;
        queue_link(*c, far->key(), to.serial, here.name());
        return flush(guard, c);
    }
}

std::shared_ptr<far_end> node_core::make_link(lock&, const std::shared_ptr<contact>& c, const weft::detail::linkable& here,
                                              const remote_address& to) {
    const link_key key{.id = ++last_id_};
    const auto far = std::make_shared<far_end>(shared_from_this(), c, c->numbers.halves(), key, name_of(to));
    c->links.emplace(key, link_of{.far = far, .serial = to.serial, .here = &here});  // FAR_END-1
    c->linked.insert_or_assign({to.serial, &here}, key.id);
    return far;
}

void node_core::queue_link(contact& c, link_key key, std::uint64_t serial, std::string_view name) {
    byte_vector body;
    put(body, key.id);
    put(body, serial);
    put(body, name.substr(0, longest_actor_name));
    queue_frame(c, frame_kind::link, body);
}

void node_core::unlink(weft::detail::linkable& here, const remote_address& to) noexcept {
    std::shared_ptr<far_end> far;
    {
        const lock guard(lock_);
        const auto c = contacts_.find({to.node, to.incarnation});
        if (c != contacts_.end()) far = linked_with(*c->second, here, to.serial);
    }
    if (far) weft::detail::unlink_ends(here, *far);
}

/// \returns  the other end of a link that this node has made; null if there is none. The caller must drop it
///           without the lock (FAR_END-3).
std::shared_ptr<far_end> node_core::linked_with(const contact& c, const weft::detail::linkable& here, std::uint64_t serial) {
    const auto id = c.linked.find({serial, &here});
    if (id == c.linked.end()) return nullptr;
    return c.links.at({.id = id->second}).far.lock();
}

/// FAR_END-1 \returns whether it was there
bool node_core::take_link(contact& c, link_key key) noexcept {
    const auto found = c.links.find(key);
    if (found == c.links.end()) return false;
    // A later link of the two may have taken the place of one that is being destroyed.
    const auto latest = c.linked.find({found->second.serial, found->second.here});
    if (latest != c.linked.end() && !key.is_theirs && latest->second == key.id) c.linked.erase(latest);
    c.links.erase(found);
    if (key.is_theirs) --c.their_links;
    return true;
}

/// Tells the other node that the local end of a link has ended; soon, since this must not wait (FAR_END-5).
void node_core::end_link(const std::shared_ptr<contact>& c, epoch_halves of, link_key key, const exit_reason& why) noexcept {
    const lock guard(lock_);
    if (!c->is_open() || c->numbers.halves() != of || !take_link(*c, key)) return;
    queue_link_end(*c, key, errc::failed_remotely, why);
    with_link_ends_.push_back(c);
    changed_.notify_all();
}

void node_core::queue_link_end(contact& c, link_key key, errc code, const exit_reason& why) {
    byte_vector body;
    put(body, key.id);
    put(body, static_cast<std::uint8_t>(key.is_theirs));
    put(body, static_cast<std::uint8_t>(why.kind));
    put(body, static_cast<std::uint8_t>(code));
    put(body, text_of(why));
    queue_frame(c, frame_kind::link_end, body);
}

/// Another node links one of its actors with one of ours.
bool node_core::on_link(const std::shared_ptr<contact>& c, epoch_halves their, byte_reader& in) {
    const link_key key{.id = in.number<std::uint64_t>(), .is_theirs = true};
    const auto serial = in.number<std::uint64_t>();
    const auto name = in.text();
    if (in.failed() || name.size() > longest_actor_name) return false;
    const epoch_halves of{.mine = their.yours, .yours = their.mine};
    std::shared_ptr<far_end> far;
    std::shared_ptr<exposed> to;
    {
        const lock guard(lock_);
        if (!is_current(*c, their)) return true;
        if (const auto found = exposed_.find(serial); found != exposed_.end()) to = found->second;
        if (!to || c->their_links == most_links) {
            refuse_link(*c, key, serial);
            return true;
        }
        const auto [at, is_new] = c->links.try_emplace(key);
        if (!is_new) return false;
        ++c->their_links;
        far = std::make_shared<far_end>(shared_from_this(), c, of, key,
                                        "actor '" + std::string(name) + "' of node '" + c->name + "'");
        at->second.far = far;
    }
    try {
        weft::detail::link_ends(weft::detail::end_of_link(to->actor.core()), *far);
    } catch (const actor_gone& e) {
        end_link(c, of, key, e.reason());
    }
    return true;
}

/// There is no such actor, or it has ended, or there are too many links.
void node_core::refuse_link(contact& c, link_key key, std::uint64_t serial) {
    exit_reason why{.kind = exit_kind::failed};
    auto code = errc::not_exposed;
    std::string text = "the node exposes no such actor";
    if (exposed_.contains(serial)) {
        code = errc::too_large;
        text = "there are " + std::to_string(most_links) + " links of this node already";
    } else if (const auto ended = ended_.find(serial); ended != ended_.end()) {
        code = errc::failed_remotely;
        why.kind = ended->second.how;
        text = ended->second.text;
    }
    if (why.kind == exit_kind::failed) why.failure = std::make_exception_ptr(std::runtime_error(text));
    queue_link_end(c, key, code, why);
}

bool node_core::on_link_end(contact& c, epoch_halves their, byte_reader& in) {
    const auto id = in.number<std::uint64_t>();
    const bool is_ours = in.number<std::uint8_t>() != 0;  // theirs, as the other node sees it
    exit_reason why{.kind = static_cast<exit_kind>(in.number<std::uint8_t>())};
    const auto code = in.number<std::uint8_t>();
    const auto text = in.text();
    if (in.failed() || why.kind > exit_kind::failed) return false;
    if (why.kind == exit_kind::failed) why = failed_with(static_cast<errc>(code), text);
    std::shared_ptr<far_end> far;
    {
        const lock guard(lock_);
        if (!is_current(c, their)) return true;
        const link_key key{.id = id, .is_theirs = !is_ours};
        if (const auto found = c.links.find(key); found != c.links.end()) far = found->second.far.lock();
        take_link(c, key);
    }
    if (far) far->end(why);
    return true;
}

/// The links of an epoch that has ended; they end once the lock is free (FAR_END-3).
void node_core::lose_links(contact& c, const exit_reason& why) {
    c.linked.clear();
    c.their_links = 0;
    for (auto& [_, l] : std::exchange(c.links, {}))
        if (auto far = l.far.lock()) lost_links_.emplace_back(std::move(far), why);
    if (!lost_links_.empty()) changed_.notify_all();
}

void node_core::end_lost_links(lock& guard) noexcept {
    while (!lost_links_.empty()) {
        auto lost = std::exchange(lost_links_, {});
        guard.unlock();
        for (const auto& [far, why] : lost) far->end(why);
        lost.clear();  // FAR_END-3
        guard.lock();
    }
}

/// Tells actors of this node that their links were lost.
void node_core::watch_links() {
    lock guard(lock_);
    for (;;) {
        changed_.wait(guard, [&] { return is_closed_ || !lost_links_.empty(); });
        if (is_closed_) return;  // close() ends the rest
        end_lost_links(guard);
    }
}

/// Tells other nodes that links have ended here. It may wait for the transport, and watch_links() does not.
void node_core::send_link_ends() {
    lock guard(lock_);
    for (;;) {
        changed_.wait(guard, [&] { return is_closed_ || !with_link_ends_.empty(); });
        if (is_closed_) return;
        for (const auto& c : std::exchange(with_link_ends_, {})) flush(guard, c);
    }
}

void remote_link(node_core& n, weft::detail::linkable& here, const remote_address& to) { n.link(here, to); }
void remote_unlink(node_core& n, weft::detail::linkable& here, const remote_address& to) noexcept { n.unlink(here, to); }

}  // namespace weft::cluster::detail
