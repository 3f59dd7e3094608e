// simulated_names.hpp - a name_store in the memory of one process, with faults, for tests.
#pragma once

#include <memory>
#include <string_view>

#include <weft/cluster/name_store.hpp>
#include <weft/cluster/store_faults.hpp>
#include <weft/detail/export.hpp>

namespace weft::cluster {

namespace detail {
struct simulated_entries;
}

/// One store for the nodes of a test. Must outlive what it has given.
class WEFT_EXPORT simulated_names {
public:
    explicit simulated_names(const store_faults& = {});
    ~simulated_names();
    simulated_names(const simulated_names&) = delete;
    simulated_names& operator=(const simulated_names&) = delete;

    /// \returns the store as one host sees it.
    [[nodiscard]] std::shared_ptr<name_store> at(std::string_view host);
    /// Changes what happens to calls from now on: to those of all hosts, or of one.
    void set_faults(const store_faults&);
    void set_faults(std::string_view host, const store_faults&);
    /// From now on the host's calls wait for five seconds and fail, until heal().
    void cut(std::string_view host);
    void heal(std::string_view host);
    /// Stops a host: its calls and their answers wait until thaw().
    void freeze(std::string_view host);
    void thaw(std::string_view host);
    /// The store loses its leader: all calls fail, and leases do not end; with recover() they begin anew.
    void lose_leader();
    void recover();

private:
    std::shared_ptr<detail::simulated_entries> state_;
};

}  // namespace weft::cluster
