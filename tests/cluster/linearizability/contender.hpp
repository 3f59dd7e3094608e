// contender.hpp - what one client of names does, in a simulated run and over a real store.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "cluster/linearizability/history.hpp"
#include "cluster/linearizability/watched_store.hpp"
#include "cluster/node_core.hpp"

namespace linearizability {

/// Claims names, holds them and gives them up, and asks for their owners.
class contender {
public:
    struct surroundings {
        history& into;
        weft::cluster::detail::node_core& node;
        const watched_store& store;  ///< that the node uses
        std::function<bool()> goes_on;
        std::function<std::string()> choose;  ///< a name
    };
    /// \param client  the number under which its operations are recorded
    contender(surroundings in, int client) : in_(std::move(in)), client_(client) {}
    /// \parks until it does not go on
    void run();

private:
    void claim(const std::string& name);
    std::optional<weft::cluster::name_lease> ask_for(operation what);
    void own(const operation& like, weft::cluster::name_lease&);
    void find(const std::string& name);

    const surroundings in_;
    const int client_;
};

}  // namespace linearizability
