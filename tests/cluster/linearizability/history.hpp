// history.hpp - what clients of names have asked and were told, and when, as the checker reads it.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <ostream>
#include <string>
#include <system_error>
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

/// The operations of one simulated run, or of one process. A process writes its operations to a file as they begin
/// and end, so that it leaves what it has asked for when it is killed.
class history {
public:
    history() = default;
    /// \param file  a descriptor, which stays the caller's
    explicit history(int file) : file_(file) {}

    /// \returns the time in nanoseconds, virtual in a simulated run, or a little more: no two calls return the same
    std::int64_t stamp() {
        const std::scoped_lock guard(lock_);
        const std::chrono::nanoseconds now = weft::now().time_since_epoch();
        return last_ = std::max<std::int64_t>(last_ + 1, now.count());
    }
    /// \returns the number of this operation, for end() or drop()
    std::uint64_t begin(const operation& o) {
        const std::scoped_lock guard(lock_);
        if (file_ >= 0) put(begun_, o);
        return begun_++;
    }
    void end(std::uint64_t number, operation o) {
        const std::scoped_lock guard(lock_);
        if (file_ >= 0) return put(number, o);
        all_.push_back(std::move(o));
    }
    void drop(std::uint64_t number) {
        const std::scoped_lock guard(lock_);
        if (file_ >= 0) put(number, nullptr);
    }
    /// One line for each operation of a simulated run.
    void write(std::ostream& out, std::uint64_t seed) const {
        for (const auto& o : all_) {
            nlohmann::json line = o;
            line["seed"] = seed;
            out << line << '\n';
        }
    }

private:
    /// A later line of the same number stands for the one before.
    void put(std::uint64_t number, const nlohmann::json& o) const {
        const auto line = nlohmann::json::array({number, o}).dump() + '\n';
        if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
            throw std::system_error(errno, std::generic_category(), "a history cannot be written");
    }

    std::mutex lock_;  // the fibers of a process are on several threads
    const int file_ = -1;
    std::int64_t last_ = 0;
    std::uint64_t begun_ = 0;
    std::vector<operation> all_;
};

/// Records an operation from here to its end, however that comes. An outcome that nobody has set is unknown.
class recording {
public:
    recording(history& into, operation what) : into_(into), what_(std::move(what)) {
        what_.call = into_.stamp();
        number_ = into_.begin(what_);
    }
    ~recording() {
        what_.returned = into_.stamp();
        if (is_kept_)
            into_.end(number_, std::move(what_));
        else
            into_.drop(number_);
    }
    recording(const recording&) = delete;
    recording& operator=(const recording&) = delete;

    operation* operator->() noexcept { return &what_; }
    /// It tells nothing.
    void drop() noexcept { is_kept_ = false; }

private:
    history& into_;
    operation what_;
    std::uint64_t number_ = 0;
    bool is_kept_ = true;
};

}  // namespace linearizability
