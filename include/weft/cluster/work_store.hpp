// work_store.hpp - what keeps messages until they were handled: the queues of a store.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/no_limit.hpp>

namespace weft::cluster {

/// A message of a queue: what it is called (WEFT_WIRE), in which version it was written, and its bytes.
struct work_item {
    std::string name;
    std::uint32_t version = 0;
    std::vector<std::byte> bytes;
};

/// A queue as its store keeps it. The last that opens a queue decides these, except that nobody makes ack_wait
/// shorter.
struct stored_queue_options {
    std::uint64_t max_messages = no_limit;  ///< those that are under way count, too
    std::uint64_t max_bytes = no_limit;
    /// A message that was delivered, and of which nothing is heard for so long, is delivered again.
    std::chrono::nanoseconds ack_wait = std::chrono::seconds(30);
    /// A second message with the id of one that was stored within this time is not stored.
    std::chrono::nanoseconds duplicate_window = std::chrono::minutes(2);
};

/// A message as a store has delivered it. Several fibers may call its functions at once. Destroying it says
/// nothing to the store. Functions that do not wait for the store's word may be without effect.
/// All of them throw std::system_error, perhaps after they were done, and weft::cancelled.
class WEFT_EXPORT stored_work {
public:
    struct content {
        work_item item;
        std::string id;               ///< as append() was given it
        std::uint64_t sequence = 0;   ///< of the queue; it stays the same when the message is delivered again
        std::uint64_t delivered = 0;  ///< how many times, this one counts
    };
    explicit stored_work(content what) noexcept : what_(std::move(what)) {}
    virtual ~stored_work() = default;
    stored_work(const stored_work&) = delete;
    stored_work& operator=(const stored_work&) = delete;

    [[nodiscard]] const content& what() const noexcept { return what_; }
    /// It was handled: the store forgets it.
    virtual void ack() = 0;
    /// As ack(). \parks until the store knows it
    virtual void ack_sure() = 0;
    /// It is to be delivered again, after the delay.
    virtual void give_back(std::chrono::nanoseconds delay) = 0;
    /// The wait for a word (stored_queue_options::ack_wait) begins anew.
    virtual void extend() = 0;
    /// It will not be handled: the store forgets it.
    virtual void terminate() = 0;

private:
    content what_;
};

/// What append() has done.
enum class append_result {
    stored,
    duplicate,  ///< a message with this id was stored before
    full,       ///< not stored
};

/// For stores: who has the queue open extends by the ack_wait that it has given, and would be too late for a
/// shorter one.
/// \throws std::invalid_argument if the queue has a longer ack_wait than is wanted
WEFT_EXPORT void require_ack_wait(std::string_view queue, std::chrono::nanoseconds wanted, std::chrono::nanoseconds there);

/// A queue of a store. All fibers may use it at once.
class WEFT_EXPORT stored_queue {
public:
    virtual ~stored_queue() = default;
    /// \returns how large a message may be that append() takes: its name, its id and its bytes together. The
    ///          store may change it.
    [[nodiscard]] virtual std::uint64_t largest_message() const { return no_limit; }
    /// Stores a message.
    /// \parks   until the store has it.
    /// \throws  cluster::error if the message can never be stored, too_large for one; std::system_error if it
    ///          may be stored, or not: append it again, with the same id; weft::cancelled, likewise.
    virtual append_result append(const work_item&, std::string_view id) = 0;
    /// Takes messages that are not under way.
    /// \returns at most so many; as soon as there is one, or none after `limit`; with 0 s what there is now.
    /// \parks   until then, and for the store's answer.
    /// \throws  std::system_error, weft::cancelled: messages may be under way then, which come again after
    ///          ack_wait.
    virtual std::vector<std::shared_ptr<stored_work>> pull(std::size_t most, std::chrono::nanoseconds limit) = 0;
};

/// Keeps queues: NATS JetStream (over_jetstream.hpp), or a simulated one (simulated_work.hpp). A message is
/// delivered at least once, and not to two receivers at once while its receiver extends it, as long as the
/// store itself has no trouble. All fibers may use it at once.
class WEFT_EXPORT work_store {
public:
    virtual ~work_store() = default;
    /// Makes the queue if there is none, and changes its options if there is one.
    /// \param name  letters, digits, '-' and '_', at most 64, and perhaps ".dead"
    /// \parks   until the store answers.
    /// \throws  std::invalid_argument by require_ack_wait(); std::system_error; weft::cancelled.
    [[nodiscard]] virtual std::shared_ptr<stored_queue> open(std::string_view name, const stored_queue_options&) = 0;
};

}  // namespace weft::cluster
