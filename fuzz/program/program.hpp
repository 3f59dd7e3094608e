// program.hpp - a random program: what its fibers do, as a tree, made from any bytes.
//
// Any bytes are a program, and a finite one. Two things are not in any: an order of locks that can deadlock (a fiber takes mutexes by their
// numbers), and a wait for another fiber with a mutex held. What then can stop for good is a wait for a value, a permit, an event or a
// fiber, which a stop ends; so all of a program ends when it is stopped.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "targets.hpp"

namespace weft::fuzz {

constexpr unsigned channel_count = 3, mutex_count = 3, event_count = 2;

enum class verb : std::uint8_t {
    send,
    try_send,
    send_for,
    receive,
    try_receive,
    receive_for,
    close,
    select,
    select_all,
    lock,
    try_lock,
    lock_for,
    put,
    put_quietly,
    take,
    take_for,
    acquire,
    acquire_or_alarm,
    try_acquire,
    acquire_for,
    release,
    set,
    reset,
    wait,
    try_wait,
    wait_for,
    wait_or_alarm,
    spawn,
    join,
    join_for,
    drop,
    detach,
    stop,
    scope,
    stop_scope,
    group,
    group_for,
    yield,
    sleep,
    timeout,
    shield,
    repeat,
    fail,
    alarm,
    last = alarm
};

std::string_view name(verb) noexcept;

/// One case of a select.
struct arm {
    enum class kind : std::uint8_t { receive, send, timeout, otherwise, join, alarm };
    kind what = kind::receive;
    std::uint8_t object = 0;  // a channel, or the number of a handle
    std::uint16_t us = 0;
};

struct statement;
using block = std::vector<statement>;

struct statement {
    verb what = verb::yield;
    std::uint8_t object = 0;  // which channel, mutex, event or handle
    std::uint16_t us = 0;  // of what has a limit
    bool flag = false;  // scope: failures are only reported; spawn: by a low fiber
    std::vector<arm> arms = {};  // select
    std::vector<block> bodies =
        {};  // spawn, lock, timeout, shield, repeat: one; scope: its body and its children; group: its members
};

/// What there is of each channel: its capacity, and whether values are copied bit by bit or own memory.
struct channel_kind {
    std::size_t capacity = 0;
    bool owns = false;
};

struct program_text {
    std::uint64_t seed = 0;
    std::uint32_t switch_one_in = 0;
    channel_kind channels[channel_count];
    unsigned permits = 0;
    std::vector<block> fibers;
};

program_text program_of(bytes);
/// For tests: the bytes that a number stands for.
std::vector<std::uint8_t> bytes_of(std::uint64_t seed);
/// For people.
std::string written(const program_text&);

}  // namespace weft::fuzz
