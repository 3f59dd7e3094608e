// placed_life.hpp - one life of a placed actor on this node, as its placement sees it.
#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include <weft/channel.hpp>
#include <weft/cluster/error.hpp>
#include <weft/simulation.hpp>

#include "cluster/placed.hpp"

namespace weft::cluster::detail {

// Chosen: between two tries; and for an actor that was killed.
constexpr std::chrono::nanoseconds first_rest = std::chrono::milliseconds(100), to_die = std::chrono::seconds(1);

/// One life of the actor on this node. Guarded by the placement's lock, except what is set before the actor is
/// made.
class placed_core::life final : public placed_life {
public:
    life(std::shared_ptr<placed_core> of, std::uint64_t t) : token(t), of_(std::move(of)) {}

    bool handled() override {
        const lock held(of_->lock_);
        is_changed = true;
        if (of_->options_.when == checkpoint::before_answer) return true;
        if (given) return false;  // the store is slower than that
        const bool is_due = weft::now() - given_at >= of_->options_.every;
        if (!is_due) of_->touch();
        return is_due;
    }
    bool wants_state() override {
        const lock held(of_->lock_);
        is_asked = false;
        return is_changed;
    }
    void give(byte_vector state) override {
        lock held(of_->lock_);
        take(held, std::move(state));
        if (of_->options_.when != checkpoint::before_answer) return;
        const auto mine = times_given;
        of_->changed_.wait(held, [&] { return times_stored >= mine; });  // or the kill comes (PLACED-5)
    }
    bool leaves() override {
        const lock held(of_->lock_);
        // Only the request that was posted last is behind all that was accepted (PLACED-3).
        is_last = --requests == 0 && is_asked_for_last;
        return is_last;
    }
    void give_last(byte_vector state) override {
        lock held(of_->lock_);
        take(held, std::move(state));
        has_given_last = true;
    }

    const std::uint64_t token;
    placed_record before;  // the last one that was stored
    std::uint64_t before_token = 0;  // of its entry
    weft::detail::actor_core_ref actor;
    std::optional<receiver<exit_reason>> told;  // of its end
    std::optional<byte_vector> given;  // to be stored
    std::uint64_t times_given = 0, times_stored = 0;
    time_point given_at{};
    bool is_changed = false;  // a message was handled since the state was given
    bool is_asked = false;  // for its state, by a message in its mailbox
    std::optional<exit_reason> end;  // of the actor, or why it cannot go on
    bool is_over = false;  // nothing of it is stored any more
    bool has_closed_doors = false;
    bool is_asked_for_last = false;  // the doors are closed, and a request for the last state is in the mailbox
    int requests = 0;  // all that are there
    bool is_last = false;  // the actor handles nothing more, and makes its last state
    bool has_given_last = false;

private:
    void take(lock& held, byte_vector state) {
        if (is_over) of_->changed_.wait(held, [] { return false; });  // until the kill
        if (state.size() > of_->options_.max_state_bytes)
            throw error(errc::too_large,
                        "weft: the state of '" + of_->name_ + "' has " + std::to_string(state.size()) + " bytes, and at most " +
                            std::to_string(of_->options_.max_state_bytes) + " are stored (place_options::max_state_bytes)",
                        false);
        given = std::move(state);
        given_at = weft::now();
        is_changed = false;
        ++times_given;
        of_->touch();
    }

    const std::shared_ptr<placed_core> of_;
};

}  // namespace weft::cluster::detail
