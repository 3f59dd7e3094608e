// work_queue.hpp - a work queue without its type: the messages under way, and the fiber that extends them.
//
//  a message is   known to                        leaves by
//  stored         the store                       pull -> under way
//  under way      the store and `under_way`       ack, terminate -> gone
//                                                 give back, or nothing heard for ack_wait -> stored
//
// Invariants
//   WORK_QUEUE-1  A message is acknowledged by the ack() of its delivery only, and terminated only after its
//                 dead letter was stored.
//   WORK_QUEUE-2  What is in `under_way` is extended every third of ack_wait. A message is there from its
//                 pull until its delivery is settled.
//   WORK_QUEUE-3  A receiver never has more than `most` messages in `under_way`.
//   WORK_QUEUE-4  A delivery is settled once, after its word to the store, and says no second word after it.
//                 No extension follows what gives a message back: it would take the place of the delay.
//   WORK_QUEUE-5  A message that is appended again has the id that it had before.
//   WORK_QUEUE-6  No call of the store runs under the lock of the queue.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <weft/cluster/detail/work_core.hpp>
#include <weft/condition_variable.hpp>
#include <weft/fiber.hpp>
#include <weft/mutex.hpp>

namespace weft::cluster::detail {

/// Bugs for the tests, which must find them.
struct work_faults {
    bool acks_before_handling = false;  // WORK_QUEUE-1
    bool ends_before_burying = false;   // WORK_QUEUE-1
    bool never_extends = false;         // WORK_QUEUE-2
    bool renames_repeats = false;       // WORK_QUEUE-5
    bool extends_what_was_given_back = false;  // WORK_QUEUE-4
};

struct work_parts {
    std::string name;
    work_options options;
    work_type type;
    std::shared_ptr<work_store> store;
    std::shared_ptr<stored_queue> queue;
    std::shared_ptr<stored_queue> dead;  // null: this is a queue of dead letters itself
    work_faults planted;
};

/// A message under way.
struct held_work {
    explicit held_work(std::shared_ptr<stored_work> w) noexcept : work(std::move(w)) {}

    const std::shared_ptr<stored_work> work;
    weft::mutex word;  // held while it is extended or given back, and guards what follows
    bool was_given_back = false;
};

class work_core {
public:
    explicit work_core(work_parts);

    void close() noexcept;
    sent send(const work_item&, const std::string& id);
    std::chrono::nanoseconds backoff(std::uint64_t delivered) const noexcept;

    const work_parts has;

    weft::mutex lock;  // guards what follows
    weft::condition_variable changed;
    std::map<const held_work*, std::shared_ptr<held_work>> under_way;
    bool is_closed = false;

private:
    void require_open(bool maybe_stored);
    void require_room_for_letter(const work_item&, const std::string& id) const;
    void wait_for_room(std::chrono::nanoseconds limit);
    void keep_extending();
    std::shared_ptr<held_work> under_way_after(const held_work*);

    weft::fiber<> extending_;  // the last member: it ends first
};

std::shared_ptr<work_core> open_work(const std::shared_ptr<work_store>&, std::string_view name, const work_options&,
                                     const work_type&, const work_faults& planted);

/// One receiver. What changes is guarded by the lock of its queue.
struct work_receiving {
    const std::shared_ptr<work_core> of;
    const std::size_t most;
    std::size_t under_way = 0;                            // also those in `pulled`
    std::deque<std::shared_ptr<held_work>> pulled = {};  // not handed out yet
    // The next pull may bring so many: twice as many if the last ones were handed out at once, else half.
    std::size_t ahead = 1;
    std::chrono::steady_clock::time_point pulled_at = {};
};

}  // namespace weft::cluster::detail
