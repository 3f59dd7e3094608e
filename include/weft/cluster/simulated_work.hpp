// simulated_work.hpp - a work_store in the memory of one process, with faults, for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <weft/cluster/store_faults.hpp>
#include <weft/cluster/work_store.hpp>
#include <weft/detail/export.hpp>

namespace weft::cluster {

namespace detail {
struct simulated_queues;
}

/// What happens to words for which nobody waits, and to messages.
struct work_store_faults {
    std::uint32_t lose_one_in = 0;    ///< of acks, extensions and what is given back; 0: none
    std::uint32_t repeat_one_in = 0;  ///< a message is delivered again although it is under way
};

/// One store for the nodes of a test. Must outlive what it has given. Times that are given to it, such as a
/// delay of delivery::give_back(), end within the clock's range: at most 100 years from now.
class WEFT_EXPORT simulated_work {
public:
    explicit simulated_work(const store_faults& = {}, const work_store_faults& = {});
    ~simulated_work();
    simulated_work(const simulated_work&) = delete;
    simulated_work& operator=(const simulated_work&) = delete;

    /// \returns the store as one host sees it.
    [[nodiscard]] std::shared_ptr<work_store> at(std::string_view host);
    /// Changes what happens from now on: to the calls of all hosts, or of one.
    void set_faults(const store_faults&);
    void set_faults(std::string_view host, const store_faults&);
    void set_faults(const work_store_faults&);
    /// How large a message may be from now on, with its name and id; at the beginning there is no limit.
    void set_largest_message(std::uint64_t bytes);
    /// From now on the host's calls wait for five seconds and fail, whatever their limit, and its other words
    /// are lost, until heal(). A pull that waits already notices it when something changes, or at its limit.
    void cut(std::string_view host);
    void heal(std::string_view host);
    /// Stops a host: its calls and their answers wait until thaw(). A pull that waits already waits on, and
    /// its answer waits for thaw().
    void freeze(std::string_view host);
    void thaw(std::string_view host);
    /// The store loses its leader: all calls fail. After recover() it has forgotten of some messages, by
    /// chance, that they are under way.
    void lose_leader();
    void recover();
    /// The queue is deleted with all that it has, and made anew: it counts its messages from 1 again.
    void make_anew(std::string_view queue);
    /// \returns how many messages the queue has that were not acknowledged; 0 if there is no such queue.
    [[nodiscard]] std::size_t size(std::string_view queue) const;

private:
    std::shared_ptr<detail::simulated_queues> state_;
};

}  // namespace weft::cluster
