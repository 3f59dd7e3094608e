// node_core.hpp - a node: its contacts with other nodes, its exposed actors, and its own fibers.
//
// One lock guards contacts, asks, and exposed actors. It is never held while code of users runs, while a
// message is made or destroyed (its answer_path comes back into the node), or while the transport is used.
//
// Fibers: a reader for each of three subscriptions, a ticker, two for links that end, one per exposed actor
// that waits for its end, one per actor and group it has joined, and one per actor and sending node while
// that actor's mailbox is full. They are children of one scope, which close() ends.
//
// Invariants
//   NODE_CORE-1  What a contact sends is published in the order of its numbers: one fiber at a time publishes
//                for it (`is_flushing`).
//   NODE_CORE-2  An ask is in `asks` from before its frame is queued until it was answered, has failed, or
//                was given up; the code that removes it decides how it ends.
//   NODE_CORE-3  When an epoch ends, each ask and each monitor of that epoch is told once, and what was
//                queued is dropped.
//   NODE_CORE-4  Messages of one contact to one actor are posted in the order received: directly only while
//                none is held back.
//   NODE_CORE-5  At most twice `credit` messages of one contact to one actor are held back, since those of an
//                epoch that has ended may be there still; more break the rules and end the epoch.
//   NODE_CORE-6  What a frame changes, it changes only while its own epoch is open.
#pragma once

#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include <weft/cluster/node.hpp>
#include <weft/condition_variable.hpp>
#include <weft/event.hpp>
#include <weft/fiber.hpp>
#include <weft/mutex.hpp>
#include <weft/scope.hpp>

#include "cluster/batch.hpp"
#include "cluster/epoch.hpp"
#include "cluster/far_end.hpp"
#include "cluster/membership.hpp"

namespace weft::cluster::detail {

using weft::detail::time_point;
using wire_message = std::unique_ptr<weft::detail::message>;

/// Planted bugs, for tests that must find them.
struct node_faults {
    bool accepts_gaps = false;  // a lost frame does not end the epoch
    bool compares_nothing = false;  // no beats
    bool counts_lease_from_answer = false;
    bool stores_without_token = false;  // a placed actor's state is stored also after the name has passed to another node
};

constexpr std::uint8_t no_status = 255;  // of an answer without a byte

/// An ask that waits for its answer, in the frame of the asker.
struct pending_ask {
    bool done = false;
    std::optional<errc> failed;
    bool maybe_handled = true;
    std::optional<exit_kind> ended;  // the actor has
    std::uint8_t status = 0;  // what the answer to a request begins with: an errc of the other node
    remote_answer answer;
    std::string text;
    weft::condition_variable changed;
};

/// The room for messages to one actor of another node.
struct target {
    std::uint32_t credit;
    std::size_t waiting = 0;  // fibers
    weft::condition_variable room;
};

/// One actor's messages from one other node.
struct held_message {
    wire_message message;
    epoch_halves of;  // the epoch in which it came: no other one gets its credit
};
struct inbound {
    std::deque<held_message> held_back;
    bool is_admitting = false;  // a fiber posts what is held back
    std::uint32_t owed = 0;  // credit that was not given back yet
};

/// A link with an actor of another node. Of a link that the other node has made only `far` is known.
struct link_of {
    std::weak_ptr<far_end> far;
    std::uint64_t serial = 0;  // of the other actor
    const weft::detail::linkable* here = nullptr;
};

/// What this node knows of one life of another node. Guarded by the node's lock.
struct contact {
    contact(std::string n, std::uint64_t i) : name(std::move(n)), incarnation(i) {}

    const std::string name;
    const std::uint64_t incarnation;
    epoch numbers;
    std::uint32_t their_credit = 0;
    std::map<std::uint64_t, wire_versions> reads;  // by message
    bool has_left = false;  // said goodbye

    std::deque<byte_vector> ready;  // batches to publish, oldest first
    std::size_t frames_at = 0;  // if the last of them takes further frames: how many it has
    bool is_flushing = false;

    std::map<std::uint64_t, std::shared_ptr<target>> targets;  // by serial; those whose room is not all there
    std::map<std::uint64_t, pending_ask*> asks;  // by id
    std::map<std::uint64_t, time_point> disowned;  // tokens of names whose actors have refused, and until when we believe it
    std::multimap<std::uint64_t, sender<exit_reason>> monitors;  // of their actors, by serial
    std::set<std::uint64_t> monitored;  // our actors
    std::map<std::uint64_t, std::shared_ptr<inbound>> inbound_of;  // by serial
    std::map<link_key, link_of> links;
    std::size_t their_links = 0;  // of `links`
    std::map<std::pair<std::uint64_t, const weft::detail::linkable*>, std::uint64_t> linked;  // ids of `links` that we made
    std::size_t answers_owed = 0, waiting = 0;  // asks of theirs; fibers of ours that wait for contact or credit

    bool wants_beat = false;  // they asked for one
    std::uint64_t reported = 0;  // the last number that we told them we have seen
    std::uint64_t marked = 0;  // a number whose confirmation is awaited
    std::uint64_t echo = 0;  // what their last beat has named as sent
    bool is_probing = false;  // nothing was heard for long: one beat asks for another
    time_point marked_at{}, last_heard{}, expecting_since{}, began{};
    bool is_suspected = false;
    weft::condition_variable changed;  // opened, or ended

    bool is_open() const noexcept { return numbers.now() == epoch::phase::open; }
    /// Whether something is expected of the other node.
    bool is_expecting() const noexcept {
        return is_probing || !asks.empty() || !monitors.empty() || !monitored.empty() || !links.empty() || answers_owed > 0 ||
               waiting > 0 || numbers.sent() > numbers.confirmed();
    }
};

struct exposed {
    exposed(std::uint64_t s, weft::detail::actor_core_ref a, std::span<const wire_entry> e,
            std::function<void(const exit_reason&)> told)
        : serial(s),
          actor(std::move(a)),
          entries(e),
          on_end(std::move(told)),
          is_placed(on_end != nullptr),
          end(weft::detail::actor_monitor(actor.core())) {}

    const std::uint64_t serial;
    const weft::detail::actor_core_ref actor;
    const std::span<const wire_entry> entries;
    std::function<void(const exit_reason&)> on_end;  // called once; null unless it is a placed actor
    const bool is_placed;
    receiver<exit_reason> end;
    bool is_leaving = false;  // it takes no messages any more; guarded by the node's lock
    std::map<std::string, std::shared_ptr<inbox>> groups;  // that it has joined; guarded by the node's lock
};

struct ended_actor {
    exit_kind how;
    std::string text;
};

/// What is left until a point in time, as it travels; and back.
std::int64_t ns_until(time_point) noexcept;
time_point deadline_after_ns(std::int64_t left) noexcept;
/// What travels beside the kind of an end.
std::string text_of(const exit_reason&);
/// Whether the actor may have handled an ask that has failed so.
bool may_be_handled(errc) noexcept;

class placed_core;

class node_core : public std::enable_shared_from_this<node_core> {
public:
    explicit node_core(node_options, const node_faults& = {});
    ~node_core();

    /// Starts its fibers.
    void open();
    void close() noexcept;

    // For references.
    void send(const remote_address&, const outgoing&, time_point until);
    remote_answer ask(const remote_address&, const outgoing&, time_point until);
    receiver<exit_reason> monitor(const remote_address&);
    void link(weft::detail::linkable& here, const remote_address&);
    void unlink(weft::detail::linkable& here, const remote_address&) noexcept;
    remote_address expose(weft::detail::actor_core_ref, std::span<const wire_entry>);
    void expose_as(std::uint64_t serial, weft::detail::actor_core_ref, std::span<const wire_entry>,
                   std::function<void(const exit_reason&)> on_end);
    void unexpose(std::uint64_t serial) noexcept;
    remote_address find(std::string_view node, std::string_view actor, std::span<const wire_entry>, time_point until);

    // For groups and topics.
    void join(std::string_view group, const remote_address&);
    void leave(std::string_view group, const remote_address&) noexcept;
    void send_to_group(std::string_view group, const outgoing&);
    remote_answer ask_group(std::string_view group, const outgoing&, time_point until);
    void publish(std::string_view topic, const outgoing&);
    std::shared_ptr<inbox> subscribe(std::string_view topic);

    // For placed actors.
    std::shared_ptr<placed_core> place(std::shared_ptr<placed_core>);
    void end_placement(const std::shared_ptr<placed_core>&) noexcept;
    std::uint64_t reserve_serial();
    void set_doors(std::uint64_t serial, bool open);
    bool is_delivering_to(std::uint64_t serial);
    std::optional<std::uint64_t> put_as_owner(const std::string& key, const std::string& value, std::uint64_t before,
                                              const std::string& name, std::uint64_t token);

    void end_link(const std::shared_ptr<contact>&, epoch_halves, link_key, const exit_reason&) noexcept;

    // For answers to asks of other nodes.
    void answered(const std::shared_ptr<contact>&, epoch_halves, std::uint64_t id, std::span<const std::byte> bytes,
                  std::uint32_t version) noexcept;
    void failed(const std::shared_ptr<contact>&, epoch_halves, std::uint64_t id, std::uint8_t code, exit_kind,
                std::string_view text) noexcept;

    const std::string& name() const noexcept { return options_.name; }
    std::chrono::nanoseconds lease() const noexcept { return options_.lease; }
    std::uint64_t incarnation();
    bool exposes(const remote_address&);
    /// \throws error (closed)
    void require_not_closed();
    const std::shared_ptr<membership>& names() const;
    node_stats stats();

private:
    using lock = std::unique_lock<weft::mutex>;

    // sending.cpp
    std::shared_ptr<contact> contact_with(const std::string& name, std::uint64_t incarnation);
    std::shared_ptr<contact> open_contact(lock&, const remote_address&, time_point until);
    void take_credit(lock&, const std::shared_ptr<contact>&, std::uint64_t serial, time_point until);
    std::uint32_t version_for(const contact&, const outgoing&) const;
    void write(byte_vector& into, const remote_address&, const outgoing&, std::uint32_t version) const;
    void write_payload(byte_vector& into, const outgoing&, std::uint32_t version) const;
    void queue_batch(contact&, byte_vector);
    void queue_frame(contact&, frame_kind, std::span<const std::byte> body);
    void queue_hello(contact&);
    void queue_reset(contact&, epoch_halves their);
    void queue_beat(contact&);
    void flush(lock&, const std::shared_ptr<contact>&) noexcept;
    void end_epoch(contact&, errc why, std::string_view text, bool tell);
    void told_ended(contact&, errc why, std::string_view text);
    void tell_down(lock&, std::uint64_t serial, exit_kind, std::string_view text);
    static bool is_current(const contact&, epoch_halves their) noexcept;
    void require_open() const;
    [[noreturn]] void throw_closed() const;

    // receiving.cpp
    std::shared_ptr<contact> contact_from(const std::string& name, std::uint64_t incarnation);
    void on_batch(const carried&);
    bool apply(lock&, const std::shared_ptr<contact>&, epoch::step, epoch_halves their);
    void on_hello(lock&, const std::shared_ptr<contact>&, epoch_halves their, byte_reader&);
    void on_frames(const std::shared_ptr<contact>&, epoch_halves their, byte_reader&);
    bool on_frame(const std::shared_ptr<contact>&, epoch_halves their, frame_kind, std::span<const std::byte> body);
    static wire_message make_message(const exposed&, std::uint64_t number, std::uint32_t version, std::span<const std::byte>,
                                     std::unique_ptr<answer_path>&);
    struct in_hand_until_return;
    bool on_message(const std::shared_ptr<contact>&, epoch_halves their, byte_reader&, bool asked);
    void on_beat(lock&, const std::shared_ptr<contact>&, epoch_halves their, byte_reader&);
    bool on_disowned(contact&, epoch_halves their, byte_reader&);
    bool on_down(contact&, epoch_halves their, byte_reader&);
    bool deliver(const std::shared_ptr<contact>&, epoch_halves of, const std::shared_ptr<exposed>&, wire_message);
    void admit(const std::shared_ptr<contact>&, const std::shared_ptr<exposed>&, const std::shared_ptr<inbound>&);
    void refuse_for_name(const std::shared_ptr<contact>&, epoch_halves their, std::uint64_t token, answer_path*);
    void forget_inbound(contact&, std::uint64_t serial);
    void queue_credit(contact&, std::uint64_t serial, std::uint32_t messages);
    void leave_room(contact&, epoch_halves of, std::uint64_t serial);
    void give_credit(contact&, epoch_halves of, std::uint64_t serial, inbound&);
    static const std::shared_ptr<inbound>& inbound_from(contact&, std::uint64_t serial);
    void end_of_ask(pending_ask&);

    // links.cpp
    static std::shared_ptr<far_end> linked_with(const contact&, const weft::detail::linkable& here, std::uint64_t serial);
    static bool take_link(contact&, link_key) noexcept;
    void queue_link(contact&, link_key, std::uint64_t serial, std::string_view name);
    void queue_link_end(contact&, link_key, errc, const exit_reason&);
    std::shared_ptr<far_end> make_link(lock&, const std::shared_ptr<contact>&, const weft::detail::linkable& here,
                                       const remote_address&);
    bool on_link(const std::shared_ptr<contact>&, epoch_halves their, byte_reader&);
    void refuse_link(contact&, link_key, std::uint64_t serial);
    bool on_link_end(contact&, epoch_halves their, byte_reader&);
    void lose_links(contact&, const exit_reason&);
    void end_lost_links(lock&) noexcept;
    void watch_links();
    void send_link_ends();

    // life.cpp
    void run(weft::scope&);
    void start_later_ones(const std::function<void(std::function<void()>)>& start);
    void start_soon(std::function<void()> body);
    void tick();
    void tick(lock&, const std::shared_ptr<contact>&, time_point now);
    void watch(const std::shared_ptr<exposed>&);
    void begin_life(std::uint64_t incarnation);
    void end_life();
    void on_death(const std::string& node, std::uint64_t incarnation);
    template <class F>
    void read_each(std::shared_ptr<inbox> node_core::*which, F&& f);

    // placing.cpp
    void end_placements() noexcept;
    void each_placement(void (placed_core::*f)() noexcept) noexcept;
    void watch_names();

    // groups.cpp
    void serve_group(const std::shared_ptr<exposed>&, inbox&);
    void on_group_message(const std::shared_ptr<exposed>&, const carried&);
    void write_unasked(byte_vector& into, const outgoing&) const;
    void count_sent();
    static void leave_groups(exposed&, std::vector<std::shared_ptr<inbox>>& to_close);

    // finding.cpp
    void request(const std::string& subject, std::span<const std::byte>, time_point until, pending_ask&);
    void on_find(const carried&);
    void on_reply(const carried&);
    void refused_by_transport(std::string_view to);

    const node_options options_;
    const node_faults faults_;
    weft::mutex lock_;  // guards what follows
    bool is_closed_ = false, is_closing_ = false;
    std::uint64_t incarnation_ = 0;  // 0: none now, since the store of names did not give one
    std::shared_ptr<inbox> batches_, replies_;  // of this incarnation
    std::shared_ptr<inbox> finds_;
    std::vector<std::pair<std::shared_ptr<far_end>, exit_reason>> lost_links_;
    std::vector<std::shared_ptr<contact>> with_link_ends_;  // to be flushed
    weft::condition_variable changed_;  // the life, whether it is closed, to_start_, lost_links_, with_link_ends_
    std::uint64_t last_half_ = 0, last_serial_ = 0, last_id_ = 0;
    std::map<std::pair<std::string, std::uint64_t>, std::shared_ptr<contact>> contacts_;
    std::map<std::uint64_t, std::shared_ptr<exposed>> exposed_;
    std::map<std::uint64_t, ended_actor> ended_;
    std::map<std::uint64_t, pending_ask*> requests_;
    std::map<std::string, std::shared_ptr<placed_core>, std::less<>> placed_;
    bool watches_names_ = false, ends_placements_ = false;
    std::uint64_t delivering_to_ = 0;  // the actor whose message the reader of batches has in hand
    std::vector<std::weak_ptr<inbox>> topics_;  // subscriptions, to be closed with the node
    node_stats stats_;

    std::deque<std::function<void()>> to_start_;  // bodies of fibers
    bool may_end_ = false;  // `root_` ends

    weft::event started_;
    std::shared_ptr<membership> membership_;  // null without a store of names
    weft::fiber<void> root_;  // the last: its fibers use all that stands above
};

}  // namespace weft::cluster::detail
