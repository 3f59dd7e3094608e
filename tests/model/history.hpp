// history.hpp - one atomic location: its modification order, and who has seen how much of it.
//
// Invariants
//   HISTORY-1  order_ is the modification order. A store may be put anywhere above the floor of its
//              thread, so stores need not take effect in the order in which the schedule runs them.
//   HISTORY-2  Nothing comes between a store and the read-modify-write that read it (its `chained`
//              successor).
//   HISTORY-3  The sightings of one thread, and those of seq_cst operations, never go back in
//              order_ (coherence). A floor is therefore the last sighting that the reader must
//              respect, and needs no search of older ones.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/clocks.hpp"

namespace model {

using store_id = unsigned;

struct store_record {
    std::uint64_t value = 0;
    view published;        ///< what an acquire that reads this store learns; carried on by chained ones
    thread_id author = 0;
    moment when = 0;
    /// a read-modify-write: belongs directly behind the store it read (HISTORY-2)
    bool chained = false;
    unsigned place = 0;    ///< index in the modification order
};

class history {
public:
    void restart(unsigned number, const store_record& initial);

    [[nodiscard]] unsigned number() const noexcept { return number_; }
    [[nodiscard]] unsigned size() const noexcept { return static_cast<unsigned>(order_.size()); }
    [[nodiscard]] const store_record& at(unsigned place) const noexcept { return stores_[order_[place]]; }
    [[nodiscard]] const store_record& initial() const noexcept { return stores_[0]; }

    /// The lowest place that an operation with this view may read, or be put behind.
    [[nodiscard]] unsigned floor(const view& v, bool sc, const clock& all_fenced) const noexcept;

    [[nodiscard]] bool takes_store_behind(unsigned place) const noexcept;  // HISTORY-2
    unsigned insert_behind(unsigned place, const store_record& s);

    /// Records that `t` at `when` read or wrote the store at `place`; `sc`: its moment in S, 0 for none.
    void sighted(thread_id t, moment when, unsigned place, moment sc);

    [[nodiscard]] bool all_accesses_before(const clock& c) const noexcept;

    // A spinning thread waits for something newer than what it saw, and then reads it: stores become visible in
    // finite time.
    [[nodiscard]] bool has_news_for(thread_id t) const noexcept;
    void expect_news(thread_id t) noexcept { impatient_[t] = true; }
    [[nodiscard]] unsigned floor_of_spinner(thread_id t, unsigned floor) noexcept;

private:
    struct sighting {
        moment when;
        store_id store;
    };
    using sightings = std::vector<sighting>;

    [[nodiscard]] unsigned last_place(const sightings& s, moment limit) const noexcept;

    unsigned number_ = 0;
    std::vector<store_record> stores_;  // as executed; 0 is the initial one
    std::vector<store_id> order_;
    std::array<sightings, max_threads> seen_;
    sightings seen_sc_;  // moments of S
    std::array<bool, max_threads> impatient_{};
};

}  // namespace model
