// simulated_transport.hpp - a transport in the memory of one process, with faults, for tests.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <weft/cluster/transport.hpp>
#include <weft/detail/export.hpp>

namespace weft::cluster {

namespace detail {
struct simulated_words;
}

/// What happens to messages. Random numbers come from weft::draw() and times from the runtime's clock, so in
/// a simulated runtime the seed decides and waiting takes no real time. See net::simulated_network, which is
/// the same for streams.
struct transport_faults {
    std::chrono::nanoseconds least_delay = {};  ///< the delay of a message is drawn from least_delay to most_delay
    std::chrono::nanoseconds most_delay = {};
    std::uint32_t lose_one_in = 0;  ///< one message in so many is lost; 0: none
};

/// Connects the nodes of a test. Must outlive what it has given.
///
///     weft::cluster::simulated_transport words({.most_delay = 20ms, .lose_one_in = 50});
///     weft::cluster::node a({.name = "a", .cluster = "bank", .words = words.at("a")});
class WEFT_EXPORT simulated_transport {
public:
    explicit simulated_transport(const transport_faults& = {});
    ~simulated_transport();
    simulated_transport(const simulated_transport&) = delete;
    simulated_transport& operator=(const simulated_transport&) = delete;

    /// \returns the transport of one host.
    [[nodiscard]] std::shared_ptr<transport> at(std::string_view host);
    /// Changes what happens to messages sent from now on.
    void set_faults(const transport_faults&);
    /// From now on messages between the two hosts are lost, also those that are under way.
    void cut(std::string_view a, std::string_view b);
    void heal(std::string_view a, std::string_view b);
    /// Stops a host: what it sends and receives waits until thaw(), as for a process that is stopped.
    void freeze(std::string_view host);
    void thaw(std::string_view host);
    /// Ends a host: its subscriptions are gone, and what it sends is lost.
    void kill(std::string_view host);
    /// \returns how many messages were lost.
    [[nodiscard]] std::uint64_t lost() const;

private:
    std::shared_ptr<detail::simulated_words> state_;
};

}  // namespace weft::cluster
