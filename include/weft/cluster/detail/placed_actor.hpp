// placed_actor.hpp - the typed half of a placed actor: its object with the checkpoints around it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/actor.hpp>
#include <weft/cluster/detail/remote_core.hpp>
#include <weft/cluster/wire.hpp>
#include <weft/detail/export.hpp>

namespace weft::cluster {

struct place_options;

/// What a placed actor begins with.
template <class S>
struct start {
    std::optional<S> state = {};  ///< the last one that was stored; empty if none was
    std::uint64_t token = 0;  ///< of this life: larger than that of each one before, on whatever node
};

namespace detail {

class placed_core;

/// One life of a placed actor, as the actor sees it.
class WEFT_EXPORT placed_life {
public:
    virtual ~placed_life() = default;
    /// A message was handled. \returns whether the state is to be given now
    virtual bool handled() = 0;
    /// \returns whether something was handled since the state was given
    virtual bool wants_state() = 0;
    /// Takes a state.
    /// \parks  until it is stored, if the placement wants that.
    /// \throws error: too_large; weft::cancelled: the actor is killed, and perhaps it is stored
    virtual void give(std::vector<std::byte> state) = 0;
    /// \returns whether the actor is still to leave its node; nothing is handled after this message then
    virtual bool leaves() = 0;
    virtual void give_last(std::vector<std::byte> state) = 0;
};

/// A, and what makes its checkpoints between two messages.
template <class A>
class placed_actor : public A {
public:
    using weft_stands_for = A;  // for weft::self<A>()
    using state = typename A::state;
    struct save_now {};
    struct save_last {};

    placed_actor(std::shared_ptr<placed_life> life, start<state> from) : A(std::move(from)), life_(std::move(life)) {
        // A message that the actor sends itself comes as one for A, with the address of this object.
        static_assert(!std::is_polymorphic_v<placed_actor> || std::is_polymorphic_v<A>, "weft: A comes first in the object");
    }

    using A::handle;
    void handle(save_now) {
        if (life_->wants_state()) life_->give(bytes());
    }
    void handle(save_last) {
        if (!life_->leaves()) return;
        life_->give_last(bytes());
        weft::detail::actor_stop(weft::detail::self_core("weft::cluster::place"));
    }
    /// A message from a node was handled (remote_message).
    void weft_handled() {
        if (life_->handled()) life_->give(bytes());
    }

private:
    std::vector<std::byte> bytes() const {
        std::vector<std::byte> written;
        wire_format<state>::write(static_cast<const state&>(this->save()), wire_name<state>::versions.newest, written);
        return written;
    }

    std::shared_ptr<placed_life> life_;
};

/// A state as it was stored.
struct state_bytes {
    std::span<const std::byte> bytes;
    std::uint32_t version;
};

/// What a placement knows of the class of its actor.
struct placed_kind {
    std::uint64_t number;  // of the state, as of messages
    std::string_view name;
    wire_versions versions;
    std::span<const wire_entry> entries;
    /// Makes the actor of a life, which is not started yet.
    /// \throws what the format throws for bytes that are no state
    weft::detail::actor_core_ref (*make)(const actor_attributes&, std::shared_ptr<placed_life>, const std::optional<state_bytes>&,
                                         std::uint64_t token);
    std::unique_ptr<weft::detail::message> (*save_now)();
    std::unique_ptr<weft::detail::message> (*save_last)();
};

template <class A>
weft::detail::actor_core_ref make_placed(const actor_attributes& how, std::shared_ptr<placed_life> life,
                                         const std::optional<state_bytes>& stored, std::uint64_t token) {
    using state = typename A::state;
    start<state> from{.state = {}, .token = token};
    if (stored) from.state.emplace(wire_format<state>::read(stored->bytes, stored->version));
    return weft::detail::new_actor<placed_actor<A>>(how, std::move(life), std::move(from));
}

template <class A>
inline constexpr placed_kind placed_kind_of{
    .number = wire_number_of<typename A::state>,
    .name = wire_name<typename A::state>::name,
    .versions = wire_name<typename A::state>::versions,
    .entries = wire_table<placed_actor<A>, typename A::remote>::entries,
    .make = &make_placed<A>,
    .save_now = [] { return weft::detail::make_message<placed_actor<A>>(typename placed_actor<A>::save_now{}); },
    .save_last = [] { return weft::detail::make_message<placed_actor<A>>(typename placed_actor<A>::save_last{}); }};

WEFT_EXPORT std::shared_ptr<placed_core> place(node_core&, std::string_view name, const place_options&, const placed_kind&);

}  // namespace detail
}  // namespace weft::cluster
