// machine.hpp - runs a random program on weft and writes down what happens.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include <weft/weft.hpp>

#include "program/channels.hpp"
#include "program/history.hpp"

namespace weft::fuzz {

/// What a program's own `fail` throws.
struct planned_failure {};

class machine {
public:
    machine(const program_text&, history&, plant wrong);

    /// On a fiber: starts the first fibers.
    void start();
    /// Whether they have ended; others may be left.
    bool first_have_ended() const noexcept;
    /// On a plain thread, after the runtime was shut down. Handles of fibers that did not end are given up.
    void let_go(bool all_have_ended);
    /// After that: what is left in the channels is received by a last fiber's book.
    void take_what_is_left();

    // For the judgement at rest, when nobody runs:
    int tokens() const noexcept { return tokens_; }
    bool alarm_is_on() const noexcept { return alarm_.stop_requested(); }

private:
    struct handle {
        weft::fiber<> fiber;
        unsigned number;
    };
    /// Where a fiber is.
    struct frame {
        book& log;
        weft::scope* scope = nullptr;
        int scope_number = -1;
        std::vector<handle> handles = {};
    };
    struct held;
    struct member;
    class enclosed;

    void body(book&, const block&, weft::scope*, int scope_number);
    void end_handles(frame&, bool join);
    void run(frame&, const block&);
    void run(frame&, const statement&);

    template <class Act>
    ending perform(frame&, operation, Act&&);

    void send(frame&, const statement&, form);
    void receive(frame&, const statement&, form);
    void select(frame&, const statement&);
    weft::select_case make(frame&, const arm&, std::size_t operation, std::size_t index);
    void lock(frame&, const statement&, form);
    void put(frame&, bool quietly);
    void take(frame&, const statement&, form);
    void acquire(frame&, const statement&, form);
    void wait(frame&, const statement&, form);
    void spawn(frame&, const statement&);
    void end_one(frame&, handle&, deed);
    void with_handle(frame&, const statement&);
    void scope(frame&, const statement&);
    void group(frame&, const statement&);
    void timeout(frame&, const statement&);
    void shield(frame&, const statement&);
    void sleep(frame&, const statement&);

    const program_text& text_;
    history& history_;
    const plant wrong_;
    std::atomic<int> left_{400};  // operations: a program that repeats what repeats is finite, but long
    std::atomic<unsigned> counted_{0};

    std::array<std::unique_ptr<any_channel>, channel_count> channels_;
    std::array<weft::mutex, mutex_count> mutexes_;
    weft::counting_semaphore<> permits_;
    weft::event manual_{weft::event::manual}, automatic_{weft::event::automatic};
    weft::mutex box_;
    weft::condition_variable token_added_;
    int tokens_ = 0;
    std::stop_source alarm_;
    std::vector<handle> first_;  // after what they use
};

}  // namespace weft::fuzz
