// history.cpp - the modification order of one location and the floors that coherence and S put under a reader.
#include "model/history.hpp"

#include <limits>

namespace model {

void history::restart(unsigned number, const store_record& initial) {
    number_ = number;
    stores_.assign(1, initial);
    order_.assign(1, 0);
    for (auto& s : seen_) s.clear();
    seen_sc_.clear();
    impatient_.fill(false);
    seen_[initial.author].push_back({initial.when, 0});
}

unsigned history::last_place(const sightings& s, moment limit) const noexcept {
    for (auto i = s.rbegin(); i != s.rend(); ++i)
        if (i->when <= limit) return stores_[i->store].place;
    return 0;
}

unsigned history::floor(const view& v, bool sc, const clock& all_fenced) const noexcept {
    unsigned place = last_place(seen_sc_, sc ? std::numeric_limits<moment>::max() : v.sc);
    for (thread_id t = 0; t < max_threads; ++t) {
        moment limit = std::max(v.before[t], v.fenced[t]);
        if (sc) limit = std::max(limit, all_fenced[t]);
        place = std::max(place, last_place(seen_[t], limit));
    }
    return place;
}

bool history::takes_store_behind(unsigned place) const noexcept {
    return place + 1 == size() || !at(place + 1).chained;
}

unsigned history::insert_behind(unsigned place, const store_record& s) {
    const auto id = static_cast<store_id>(stores_.size());
    stores_.push_back(s);
    order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(place) + 1, id);
    for (unsigned p = place + 1; p < size(); ++p) stores_[order_[p]].place = p;
    return place + 1;
}

void history::sighted(thread_id t, moment when, unsigned place, moment sc) {
    seen_[t].push_back({when, order_[place]});
    if (sc != 0) seen_sc_.push_back({sc, order_[place]});
}

bool history::all_accesses_before(const clock& c) const noexcept {
    for (thread_id t = 0; t < max_threads; ++t)
        if (!seen_[t].empty() && seen_[t].back().when > c[t]) return false;
    return true;
}

bool history::has_news_for(thread_id t) const noexcept {
    return !seen_[t].empty() && stores_[seen_[t].back().store].place + 1 < size();
}

unsigned history::floor_of_spinner(thread_id t, unsigned floor) noexcept {
    if (!impatient_[t]) return floor;
    impatient_[t] = false;
    return has_news_for(t) ? std::max(floor, stores_[seen_[t].back().store].place + 1) : floor;
}

}  // namespace model
