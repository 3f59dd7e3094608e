// memory.cpp - atomic operations by the rules MEMORY-1 to MEMORY-4.
#include "model/memory.hpp"

namespace model {
namespace {

constexpr bool acquires(std::memory_order o) noexcept {
    return o == std::memory_order_acquire || o == std::memory_order_acq_rel || o == std::memory_order_seq_cst;
}
constexpr bool releases(std::memory_order o) noexcept {
    return o == std::memory_order_release || o == std::memory_order_acq_rel || o == std::memory_order_seq_cst;
}
constexpr bool is_sc(std::memory_order o) noexcept { return o == std::memory_order_seq_cst; }

}  // namespace

void memory::restart() {
    threads_.fill({});
    used_ = 0;
    plains_.clear();
    all_fenced_ = {};
    sc_now_ = 0;
    spurious_left_ = limits_.spurious;
    reorderings_left_ = limits_.reorderings;
    fault_ = nullptr;
}

void memory::fork(thread_id parent, thread_id child) {
    tick(parent);
    threads_[child] = {};
    threads_[child].now = threads_[parent].now;
}

void memory::join(thread_id parent, thread_id child) { threads_[parent].now.join(threads_[child].now); }

history& memory::restart_location(const store_record& initial) {
    if (used_ == locations_.size()) locations_.emplace_back();
    history& h = locations_[used_];
    h.restart(used_++, initial);
    return h;
}

history& memory::create(thread_id t, std::uint64_t initial) {
    return restart_location({.value = initial, .published = {}, .author = t, .when = tick(t)});
}

history& memory::create_before_all(std::uint64_t initial) { return restart_location({.value = initial, .published = {}}); }

moment memory::sc_moment(std::memory_order order) noexcept { return is_sc(order) ? ++sc_now_ : 0; }

void memory::require_initialised(thread_id t, const history& h) noexcept {
    if (h.initial().when > threads_[t].now.before[h.initial().author])
        fault_ = "data race: an atomic is used by a thread to which its construction is not ordered";
}

unsigned memory::floor(thread_id t, const history& h, std::memory_order order) const noexcept {
    return h.floor(threads_[t].now, is_sc(order), all_fenced_);
}

outcome memory::finish_load(thread_id t, history& h, unsigned place, std::memory_order order) {
    const moment when = tick(t);
    const store_record& s = h.at(place);
    h.sighted(t, when, place, sc_moment(order));
    if (acquires(order)) threads_[t].now.join(s.published);
    else threads_[t].acquirable.join(s.published);
    return {.read = s.value, .place = place, .size = h.size()};
}

outcome memory::load(thread_id t, history& h, std::memory_order order) {
    require_initialised(t, h);
    const unsigned lowest = h.floor_of_spinner(t, floor(t, h, order));
    return finish_load(t, h, choose_place_to_load(h, lowest), order);
}

outcome memory::kernel_load(thread_id t, history& h, const view& also) {
    require_initialised(t, h);
    view v = threads_[t].now;
    v.join(also);
    const unsigned lowest = h.floor(v, false, all_fenced_);
    return finish_load(t, h, choose_place_to_load(h, lowest), std::memory_order_relaxed);
}

// Picks one of the candidates, each place * scale + something, and charges for other places than the newest. Candidates are
// in falling order and the first one's place is the newest.
unsigned memory::choose_candidate(unsigned newest, unsigned scale) {
    if (reorderings_left_ == 0 && candidates_.back() / scale != newest) {
        bound_hid_runs_ = true;
        std::erase_if(candidates_, [=](unsigned c) { return c / scale != newest; });
    }
    const unsigned taken = candidates_[choices_.choose(static_cast<unsigned>(candidates_.size()))];
    if (taken / scale != newest) --reorderings_left_;
    return taken;
}

unsigned memory::choose_place_to_load(const history& h, unsigned floor) {
    const unsigned newest = h.size() - 1;
    if (floor == newest) return newest;
    candidates_.clear();
    for (unsigned p = newest + 1; p-- > floor;) candidates_.push_back(p);  // MEMORY-1
    return choose_candidate(newest, 1);
}

unsigned memory::choose_place_for_store(const history& h, unsigned floor) {
    const unsigned newest = h.size() - 1;
    if (floor == newest) return newest;
    candidates_.clear();
    for (unsigned p = newest + 1; p-- > floor;)
        if (h.takes_store_behind(p)) candidates_.push_back(p);  // MEMORY-2; the newest always does
    return choose_candidate(newest, 1);
}

outcome memory::store(thread_id t, history& h, std::uint64_t value, std::memory_order order) {
    require_initialised(t, h);
    const unsigned behind = choose_place_for_store(h, floor(t, h, order));
    const std::uint64_t old = h.at(behind).value;
    const moment when = tick(t);
    const view& published = releases(order) ? threads_[t].now : threads_[t].released;  // MEMORY-3
    const unsigned place =
        h.insert_behind(behind, {.value = value, .published = published, .author = t, .when = when});
    h.sighted(t, when, place, sc_moment(order));
    return {.read = old, .written = value, .place = place, .size = h.size(), .stored = true};
}

outcome memory::finish_modify(thread_id t, history& h, unsigned place, std::uint64_t value, std::memory_order order) {
    thread& self = threads_[t];
    const moment when = tick(t);
    const std::uint64_t old = h.at(place).value;
    const view inherited = h.at(place).published;
    if (acquires(order)) self.now.join(inherited);
    else self.acquirable.join(inherited);
    view published = releases(order) ? self.now : self.released;
    published.join(inherited);  // the release sequence goes on (MEMORY-3)
    const unsigned at = h.insert_behind(
        place, {.value = value, .published = published, .author = t, .when = when, .chained = true});
    h.sighted(t, when, at, sc_moment(order));
    return {.read = old, .written = value, .place = at, .size = h.size(), .stored = true};
}

outcome memory::read_modify_write(thread_id t, history& h, modify f, std::uint64_t operand, std::memory_order order) {
    require_initialised(t, h);
    const unsigned lowest = h.floor_of_spinner(t, floor(t, h, order));
    const unsigned place = choose_place_for_store(h, lowest);
    return finish_modify(t, h, place, f(h.at(place).value, operand), order);
}

outcome memory::compare_exchange(thread_id t, history& h, const exchange& x) {
    require_initialised(t, h);
    const unsigned news = h.floor_of_spinner(t, 0);
    const unsigned lowest_stored = std::max(news, floor(t, h, x.success));
    const unsigned lowest_loaded = std::max(news, floor(t, h, x.failure));
    const unsigned newest = h.size() - 1;

    candidates_.clear();  // place * 2 + (1: the exchange happens)
    for (unsigned p = newest + 1; p-- > std::min(lowest_stored, lowest_loaded);) {
        const bool equal = h.at(p).value == x.expected;
        if (equal && h.takes_store_behind(p) && p >= lowest_stored) candidates_.push_back(p * 2 + 1);
        const bool spurious = equal && x.weak && spurious_left_ > 0;
        if ((!equal || spurious) && p >= lowest_loaded) candidates_.push_back(p * 2);
    }
    const unsigned taken = choose_candidate(newest, 2);
    const unsigned place = taken / 2;
    if (taken % 2 == 1) return finish_modify(t, h, place, x.desired, x.success);
    if (h.at(place).value == x.expected) --spurious_left_;
    return finish_load(t, h, place, x.failure);
}

void memory::fence(thread_id t, std::memory_order order) {
    thread& self = threads_[t];
    if (acquires(order)) self.now.join(self.acquirable);
    if (is_sc(order)) {
        tick(t);
        all_fenced_.join(self.now.before);
        self.now.fenced.join(all_fenced_);
        self.now.sc = ++sc_now_;
    }
    if (releases(order)) self.released = self.now;
}

unsigned memory::create_plain(thread_id t) {
    plains_.push_back({.writer = t, .written = tick(t), .read = {}});
    return static_cast<unsigned>(plains_.size() - 1);
}

unsigned memory::create_plain_before_all() {
    plains_.push_back({});
    return static_cast<unsigned>(plains_.size() - 1);
}

void memory::plain_read(thread_id t, unsigned number) {
    plain_record& p = plains_[number];
    if (p.written > threads_[t].now.before[p.writer]) fault_ = "data race: a read not ordered with a write";
    p.read[t] = tick(t);
}

void memory::plain_write(thread_id t, unsigned number) {
    plain_record& p = plains_[number];
    const clock& now = threads_[t].now.before;
    if (p.written > now[p.writer]) fault_ = "data race: two writes not ordered with each other";
    for (thread_id u = 0; u < max_threads; ++u)
        if (p.read[u] > now[u]) fault_ = "data race: a write not ordered with a read";
    p.writer = t;
    p.written = tick(t);
}

void memory::destroy(thread_id t, const history& h) {
    if (!h.all_accesses_before(threads_[t].now.before))
        fault_ = "an atomic is destroyed while another thread may still use it";
}

void memory::destroy_plain(thread_id t, unsigned number) { plain_write(t, number); }

}  // namespace model
