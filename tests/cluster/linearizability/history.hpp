// history.hpp - what clients of names have asked and were told, and when, as the checker reads it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <weft/simulation.hpp>

namespace linearizability {

/// An operation of one client. What does not belong to its kind is left empty.
struct operation {
    int client = 0;
    std::string what;  // claim, release, find, held
    std::string name, node;
    std::uint64_t life = 0;        // the node's incarnation, known before the call
    std::uint64_t life_after = 0;  // of a claim: after its return
    std::uint64_t serial = 0;      // of a claim: of an actor that no other claim of this node names
    std::uint64_t token = 0;
    std::string outcome = "unknown";  // claim: ok, refused; release: ok; find: found, nobody; held: true
    std::string owner = {};                // of a find: the owner's node
    std::uint64_t owner_life = 0, owner_serial = 0;
    std::int64_t call = 0, returned = 0;

    NLOHMANN_DEFINE_TYPE_INTRUSIVE(operation, client, what, name, node, life, life_after, serial, token, outcome, owner,
                                   owner_life, owner_serial, call, returned)
};

/// The operations of one simulated run. All fibers of such a run are on one thread, so it needs no lock.
class history {
public:
    /// \returns the virtual time in nanoseconds, or a little more: no two calls return the same
    std::int64_t stamp() {
        const std::chrono::nanoseconds now = weft::now().time_since_epoch();
        return last_ = std::max<std::int64_t>(last_ + 1, now.count());
    }
    void add(operation o) { all_.push_back(std::move(o)); }
    std::size_t size() const noexcept { return all_.size(); }
    /// One line for each operation.
    void write(std::ostream& out, std::uint64_t seed) const {
        for (const auto& o : all_) {
            nlohmann::json line = o;
            line["seed"] = seed;
            out << line << '\n';
        }
    }

private:
    std::int64_t last_ = 0;
    std::vector<operation> all_;
};

/// Records an operation from here to its end, however that comes. An outcome that nobody has set is unknown.
class recording {
public:
    recording(history& into, operation what) : into_(into), what_(std::move(what)) { what_.call = into_.stamp(); }
    ~recording() {
        if (!is_kept_) return;
        what_.returned = into_.stamp();
        into_.add(std::move(what_));
    }
    recording(const recording&) = delete;
    recording& operator=(const recording&) = delete;

    operation* operator->() noexcept { return &what_; }
    /// It tells nothing.
    void drop() noexcept { is_kept_ = false; }

private:
    history& into_;
    operation what_;
    bool is_kept_ = true;
};

}  // namespace linearizability
