// work_queue.hpp - work that must not be lost: messages that a store keeps until they were acknowledged.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <weft/cluster/dead_work.hpp>
#include <weft/cluster/detail/work_core.hpp>
#include <weft/cluster/error.hpp>
#include <weft/cluster/wire.hpp>
#include <weft/cluster/work_options.hpp>
#include <weft/cluster/work_store.hpp>
#include <weft/detail/requirements.hpp>
#include <weft/detail/timeouts.hpp>

namespace weft::cluster {

/// A message that this receiver has now. Move-only. While it lives, the queue tells the store so, and no
/// other receiver gets the message; destroyed without ack(), it is given back. So handle it as long as it
/// takes, and acknowledge it when what it asks for is done. One fiber may use it at a time.
///
/// The fiber that tells the store ends when the runtime is stopped. A handler that goes on under a shield then
/// has ack_wait at most, and the message is delivered again after that.
///
/// Its functions throw std::logic_error once the message was acknowledged, given back or rejected;
/// std::system_error if the store is out of reach, and then may be called again; weft::cancelled.
template <class T>
class delivery {
public:
    [[nodiscard]] const T& operator*() const noexcept { return value_; }
    [[nodiscard]] T& operator*() noexcept { return value_; }
    [[nodiscard]] const T* operator->() const noexcept { return &value_; }

    /// The id that it was sent with.
    [[nodiscard]] const std::string& id() const noexcept { return under_way_.what().id; }
    /// Its place in the queue, the same each time that it is delivered.
    [[nodiscard]] std::uint64_t sequence() const noexcept { return under_way_.what().sequence; }
    /// How many times it was delivered; this one counts.
    [[nodiscard]] std::uint64_t delivered() const noexcept { return under_way_.what().delivered; }

    /// It was handled. The word may be lost on its way; then the message is delivered again.
    void ack() { under_way_.ack(); }
    /// It was handled. \parks until the store knows it
    void ack_sure() { under_way_.ack_sure(); }
    /// It is to be delivered again, after work_options::backoff.
    void give_back() { under_way_.give_back({}); }
    void give_back(std::chrono::nanoseconds delay) { under_way_.give_back(delay); }
    /// Nobody can handle it: it becomes a dead letter, with 1 KiB of the reason at most.
    /// \parks until that is stored
    void reject(std::string_view reason) { under_way_.bury(reason); }

    /// Internal: for weft's own parts.
    delivery(detail::work_under_way of, T value) : under_way_(std::move(of)), value_(std::move(value)) {}
    detail::work_under_way& under_way() noexcept { return under_way_; }

private:
    detail::work_under_way under_way_;
    T value_;
};

/// Takes messages from a queue. Move-only. One fiber may use it at a time; its deliveries may go to others.
///
///     for (auto d : jobs.receive(8)) s.spawn([d = std::move(d)]() mutable { handle(*d); d.ack(); });
template <class T>
class work_receiver {
public:
    /// Waits for the next message.
    /// \returns empty once the queue was closed, within a second.
    /// \parks   until there is a message, and while as many are under way as receive() was given; also
    ///          while the store is away.
    /// \throws  weft::cancelled; a message that had just come is delivered again after ack_wait then.
    ///          std::bad_alloc; a message that was being read is given back then.
    [[nodiscard]] std::optional<delivery<T>> next() { return next_until(weft::detail::never); }
    /// \returns empty at the end of the time, too. The store is asked once at least, also with 0 s. Its
    ///          answer may take longer than the limit: as long again over JetStream, or 250 ms if that is
    ///          more, and twice that while there is no connection. Messages that cannot be handed out may
    ///          become dead letters meanwhile, each of which takes a call of the store more.
    [[nodiscard]] std::optional<delivery<T>> next_for(std::chrono::nanoseconds limit) {
        return next_until(weft::detail::deadline_in(limit));
    }

    class iterator {
    public:
        using value_type = delivery<T>;
        using difference_type = std::ptrdiff_t;
        using iterator_concept = std::input_iterator_tag;

        explicit iterator(work_receiver& from) : from_(&from) { ++*this; }
        /// To be taken: `for (auto d : jobs.receive(8))`. Left alone, it is given back at the next step.
        delivery<T>&& operator*() const noexcept { return std::move(*from_->current_); }
        iterator& operator++() {
            from_->current_.reset();
            from_->current_ = from_->next();
            return *this;
        }
        void operator++(int) { ++*this; }
        friend bool operator==(const iterator& at, std::default_sentinel_t) noexcept { return at.has_ended(); }

    private:
        bool has_ended() const noexcept { return !from_->current_; }

        work_receiver* from_;
    };
    [[nodiscard]] iterator begin() { return iterator(*this); }
    [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

    /// Internal: for weft's own parts.
    explicit work_receiver(std::shared_ptr<detail::work_receiving> core) noexcept : core_(std::move(core)) {}
    work_receiver(work_receiver&&) noexcept = default;
    work_receiver& operator=(work_receiver&&) = delete;
    /// Gives back what it has not handed out; its deliveries stay.
    ~work_receiver() {
        if (core_) detail::end_receiving(*core_);
    }

private:
    std::optional<delivery<T>> next_until(weft::detail::time_point until) {
        while (auto taken = detail::take_work(core_, until)) {
            try {
                const auto& item = taken->what().item;
                T value = wire_format<T>::read(item.bytes, item.version);
                return delivery<T>(std::move(*taken), std::move(value));
            } catch (const std::bad_alloc&) {
                throw;  // the message may be good: it is given back, and becomes a dead letter at max_deliver
            } catch (const std::exception& e) {
                taken->bury_or_give_back(std::string("it cannot be read: ") + e.what());
            }
        }
        return std::nullopt;
    }

    std::shared_ptr<detail::work_receiving> core_;
    std::optional<delivery<T>> current_;
};

/// The dead letters of a work queue: what was delivered too often, was rejected, or cannot be read.
class dead_letters {
public:
    /// As work_queue::receive(). An acknowledged dead letter is gone for good.
    [[nodiscard]] work_receiver<dead_work> receive(std::size_t most = 1) & {
        return work_receiver<dead_work>(detail::receive_work(core_, most));
    }
    /// The range would end at once, since a queue closes where it is destroyed: give it a name first.
    work_receiver<dead_work> receive(std::size_t most = 1) && = delete;
    /// Puts the message back into the queue that it is from, as a new one, and acknowledges the dead letter.
    /// \returns dropped, with the dead letter unchanged, if the queue is full and drops.
    /// \throws  as send(), and as delivery::ack_sure(): then it may be in both queues. std::logic_error if a
    ///          part of the message is missing (dead_work::missing), or the letter was settled before;
    ///          std::invalid_argument if it is of a queue of another name.
    sent retry(delivery<dead_work>& d) { return detail::retry_work(*from_, d.under_way(), *d); }
    void close() noexcept { detail::close_work(*core_); }

    /// Internal: for weft's own parts.
    explicit dead_letters(std::shared_ptr<detail::work_core> from) : from_(std::move(from)), core_(detail::open_dead(*from_)) {}
    dead_letters(dead_letters&&) noexcept = default;
    dead_letters& operator=(dead_letters&&) = delete;
    ~dead_letters() {
        if (core_) close();
    }

private:
    std::shared_ptr<detail::work_core> from_, core_;
};

/// Messages of type T that a store keeps until they were acknowledged:
///
///     weft::cluster::work_queue<job> jobs(store, "jobs");
///     jobs.send({...}, {.id = "order-17"});                             // returns when the store has it
///     for (auto d : jobs.receive(1)) { handle(*d); d.ack(); }           // on any node
///
/// **At least once**: a message that was sent is handled once, or more than once: when a receiver ends
/// before it has acknowledged, when an acknowledgement is lost, or when the store has trouble. So handling
/// a message twice must do what handling it once does; delivery::id() and sequence() tell what is the same.
/// There is no order between messages. What cannot be handled goes to the queue NAME.dead, see dead().
///
/// T has a name by WEFT_WIRE and a wire_format (weft/cluster/json.hpp). All fibers may use it at once, and
/// it is made and destroyed inside a runtime. Deliveries and receivers may outlive it.
///
/// Not there: order by key, a case of weft::select.
template <class T>
class work_queue {
public:
    /// Opens the queue NAME and the queue NAME.dead.
    /// \param name  1 to 64 letters, digits, '-' and '_'
    /// \parks   until the store answers, and at runtime_options::max_fibers until there is a place for one
    ///          fiber.
    /// \throws  std::invalid_argument naming an option; error (bad_name);
    ///          std::system_error of the store; weft::cancelled.
    work_queue(const std::shared_ptr<work_store>& store, std::string_view name, const work_options& options = {})
        : work_queue(detail::open_work(store, name, options, {wire_name<T>::name, wire_name<T>::versions})) {}
    /// As close().
    ~work_queue() {
        if (core_) close();
    }
    work_queue(work_queue&&) noexcept = default;
    work_queue& operator=(work_queue&&) = delete;

    /// Stores a message. What the store does not answer is repeated with the same id.
    /// \parks   until the store has it; while it is full, with overflow::park: it asks again after 10 ms to
    ///          one second.
    /// \throws  error: queue_full, with fail and back_off, and with drop_newest if an attempt before that had no
    ///          answer; too_large: it or its dead letter, which has up to 1.5 KiB more, is larger than the store
    ///          takes, or it is larger than max_bytes; closed; unreachable after give_up. Its maybe_handled()
    ///          says whether the message may be stored all the same. What the format throws. weft::cancelled:
    ///          it may be stored, too.
    sent send(const T& job, work_send_options how = {}) {
        work_item item{.name = std::string(wire_name<T>::name), .version = detail::version_to_write(*core_), .bytes = {}};
        wire_format<T>::write(job, item.version, item.bytes);
        return detail::send_work(*core_, item, std::move(how.id));
    }
    /// \param most  how many messages may be under way: handed out, or pulled from the store to be handed
    ///              out next. Those that wait here for their turn go to no other receiver, and if the
    ///              receiver ends they have been delivered once more. So it pulls ahead only what it hands
    ///              out within about 100 ms; with 1 it pulls none ahead.
    [[nodiscard]] work_receiver<T> receive(std::size_t most = 1) & { return work_receiver<T>(detail::receive_work(core_, most)); }
    /// The range would end at once, since a queue closes where it is destroyed: give it a name first.
    work_receiver<T> receive(std::size_t most = 1) && = delete;
    /// The store is not asked.
    /// \parks  at runtime_options::max_fibers until there is a place for one fiber. \throws what
    ///         weft::spawn() throws there
    [[nodiscard]] dead_letters dead() { return dead_letters(core_); }
    /// Ends the receivers, and refuses to send. What they have pulled and not handed out goes to no other
    /// receiver until they are destroyed.
    void close() noexcept { detail::close_work(*core_); }

    /// Internal: for weft's own parts.
    explicit work_queue(std::shared_ptr<detail::work_core> core) noexcept : core_(std::move(core)) {}

private:
    std::shared_ptr<detail::work_core> core_;
};

}  // namespace weft::cluster
