// world.hpp - what the fibers of the chaos share, and what must add up when all of them have ended.
//
//   WORLD-1  Every number and object that was sent is received, by somebody or when the channels
//            are emptied in the end.
//   WORLD-2  No object outlives its channel.
//   WORLD-3  Counters under a lock, plain ones, are what an atomic beside them says.
//   WORLD-4  Never more than `permits` are inside; in the end all permits are there.
#pragma once

#include <weft/net/tcp.hpp>
#include <weft/weft.hpp>

#include <atomic>
#include <random>
#include <string>

#include "random.hpp"

namespace weft::attack {

/// Of the whole run; printed once, as WEFT_TEST_SEED says.
const test::seed& seed_of_run();

/// Random choices of one fiber or thread.
class dice {
public:
    explicit dice(std::uint64_t number) : from_(seed_of_run().of(number)) {}
    unsigned below(unsigned n) { return test::below(from_, n); }
    bool one_in(unsigned n) { return below(n) == 0; }
    std::chrono::microseconds up_to(unsigned microseconds) { return std::chrono::microseconds(below(microseconds)); }

private:
    std::minstd_rand from_;
};

inline std::atomic<long> objects_alive{0};

/// Owns memory, and is counted.
class object {
public:
    object() { ++objects_alive; }
    object(const object& other) : text_(other.text_) { ++objects_alive; }
    object(object&& other) noexcept : text_(std::move(other.text_)) { ++objects_alive; }
    object& operator=(const object&) = default;
    object& operator=(object&&) noexcept = default;
    ~object() { --objects_alive; }

private:
    std::string text_ = "a text that is too long for the string itself";
};

struct flow {
    std::atomic<long> sent{0};
    std::atomic<long> received{0};
};

struct world {
    static constexpr int permits = 5;

    channel<int> numbers{8};
    flow of_numbers;
    channel<object> objects{4};
    flow of_objects;
    channel<int> meeting;                  // unbuffered
    flow of_meeting;

    mutex lock;
    long under_lock = 0;
    std::atomic<long> under_lock_expected{0};
    shared_mutex shared_lock;
    long under_shared = 0;
    std::atomic<long> under_shared_expected{0};
    condition_variable changed;
    event bell{event::automatic};

    counting_semaphore<> room{permits};
    std::atomic<int> inside{0};
    std::atomic<int> too_many{0};          // times that WORLD-4 did not hold

    tcp::listener listener{{.host = "127.0.0.1", .port = 0}};

    std::atomic<std::uint64_t> parties{0}; // numbers for dice
    std::atomic<long> operations{0};
    std::atomic<long> stopped{0};

    /// Empties the channels, when nobody else is left. \returns lines that say what does not add up.
    std::vector<std::string> faults();
};

/// Some random operations; ends by `cancelled` if it is stopped.
void act(world& w, dice& d, unsigned depth);

/// What plain threads may do as well, each within a fraction of a millisecond.
void act_as_thread(world& w, dice& d);

/// Answers those who connect: an echo, silence, or a reset.
void serve(world& w);

}  // namespace weft::attack
