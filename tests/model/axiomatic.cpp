// axiomatic.cpp - enumerates modification orders, reads-from and S, and keeps the candidates that break no axiom.
#include "model/axiomatic.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace axiomatic {
namespace {

constexpr unsigned locations = 2;
constexpr unsigned most_events = 16;
using set = std::uint32_t;  // of events

constexpr set only(unsigned e) { return set{1} << e; }

/// A relation on events: for each the set of its successors.
struct relation {
    std::array<set, most_events> to{};

    void add(unsigned a, unsigned b) { to[a] |= only(b); }
    bool has(unsigned a, unsigned b) const { return (to[a] & only(b)) != 0; }
    relation& operator|=(const relation& r) {
        for (unsigned a = 0; a < most_events; ++a) to[a] |= r.to[a];
        return *this;
    }
    void close() {
        for (unsigned via = 0; via < most_events; ++via)
            for (unsigned a = 0; a < most_events; ++a)
                if (has(a, via)) to[a] |= to[via];
    }
    bool cyclic() const {
        relation r = *this;
        r.close();
        for (unsigned a = 0; a < most_events; ++a)
            if (r.has(a, a)) return true;
        return false;
    }
};

struct event {
    instruction does;
    unsigned thread;
    bool reads() const { return does.what == kind::load || does.what == kind::exchange; }
    bool writes() const { return does.what == kind::store || does.what == kind::exchange; }
    bool sc() const { return does.order == std::memory_order_seq_cst; }
    bool fence() const { return does.what == kind::fence; }
    bool acquires() const {
        return sc() || does.order == std::memory_order_acquire || does.order == std::memory_order_acq_rel;
    }
    bool releases() const {
        return sc() || does.order == std::memory_order_release || does.order == std::memory_order_acq_rel;
    }
};

/// One way the program could have gone.
class candidate {
public:
    explicit candidate(const program& p) {
        for (unsigned l = 0; l < locations; ++l)
            events_.push_back({{kind::store, l, 0, std::memory_order_relaxed}, 0});
        for (unsigned t = 0; t < p.size(); ++t)
            for (const instruction& i : p[t]) events_.push_back({i, t + 1});
        count_ = static_cast<unsigned>(events_.size());
        for (unsigned a = 0; a < count_; ++a)
            for (unsigned b = a + 1; b < count_; ++b)
                if (events_[a].thread == events_[b].thread ? a >= locations : a < locations) before_.add(a, b);
    }

    void all(std::set<outcome>& out) { order_stores(0, out); }

private:
    bool on(unsigned e, unsigned location) const {
        return !events_[e].fence() && events_[e].does.location == location;
    }

    void order_stores(unsigned location, std::set<outcome>& out) {
        if (location == locations) return read_from(0, out);
        auto& order = modification_[location];
        order.clear();
        for (unsigned e = locations; e < count_; ++e)
            if (on(e, location) && events_[e].writes()) order.push_back(e);
        do {
            order_stores(location + 1, out);
        } while (std::next_permutation(order.begin(), order.end()));
    }

    void read_from(unsigned e, std::set<outcome>& out) {
        if (e == count_) return judge(out);
        if (!events_[e].reads()) return read_from(e + 1, out);
        const unsigned location = events_[e].does.location;
        const auto& order = modification_[location];
        if (events_[e].writes()) {  // an exchange reads what directly precedes it
            const auto self = std::find(order.begin(), order.end(), e);
            source_[e] = self == order.begin() ? location : *(self - 1);
            return read_from(e + 1, out);
        }
        source_[e] = location;  // event number `location` is its initial store
        read_from(e + 1, out);
        for (const unsigned store : order) {
            source_[e] = store;
            read_from(e + 1, out);
        }
    }

    /// The store of a read, and every store whose release sequence includes it: back over exchanges.
    set heads_of(unsigned read) const {
        set heads = 0;
        for (unsigned s = source_[read];; s = source_[s]) {
            heads |= only(s);
            if (!events_[s].reads()) return heads;
        }
    }

    relation happens_before() const {
        relation hb = before_;
        for (unsigned read = locations; read < count_; ++read) {
            if (!events_[read].reads()) continue;
            const set heads = heads_of(read);
            for (unsigned from = 0; from < count_; ++from) {
                if (!events_[from].releases() || !synchronises_through(from, heads)) continue;
                if (events_[read].acquires()) hb.add(from, read);
                for (unsigned to = read + 1; to < count_; ++to)
                    if (events_[to].fence() && events_[to].acquires() && before_.has(read, to)) hb.add(from, to);
            }
        }
        hb.close();
        return hb;
    }
    bool synchronises_through(unsigned from, set heads) const {
        if (!events_[from].fence()) return (heads & only(from)) != 0;
        return (heads & before_.to[from]) != 0;  // a fence before one of the stores
    }

    relation coherence_order() const {
        relation co;
        for (unsigned l = 0; l < locations; ++l) {
            unsigned last = l;
            for (const unsigned s : modification_[l]) {
                co.add(last, s);
                last = s;
            }
        }
        relation mo = co;
        mo.close();
        for (unsigned r = locations; r < count_; ++r) {
            if (!events_[r].reads()) continue;
            co.add(source_[r], r);
            for (unsigned s = 0; s < count_; ++s)
                if (s != r && mo.has(source_[r], s)) co.add(r, s);
        }
        co.close();
        return co;
    }

    void judge(std::set<outcome>& out) {
        const relation hb = happens_before();
        const relation co = coherence_order();
        for (unsigned a = 0; a < count_; ++a) {
            if (hb.has(a, a) || co.has(a, a)) return;
            for (unsigned b = 0; b < count_; ++b)
                if (co.has(a, b) && hb.has(b, a)) return;  // coherence
        }
        relation runs = before_;  // with S: the order in which it could be run
        for (unsigned r = locations; r < count_; ++r)
            if (events_[r].reads()) runs.add(source_[r], r);
        if (exists_s(hb, co, runs)) out.insert(result());
    }

    /// S must hold the edges that the four conditions of [atomics.order]/4 demand and agree with `runs`. A total order with
    /// these edges exists if and only if there is no cycle.
    bool exists_s(const relation& hb, const relation& co, relation runs) const {
        for (unsigned a = 0; a < count_; ++a)
            for (unsigned b = 0; b < count_; ++b) {
                if (!co.has(a, b)) continue;
                for (unsigned x = 0; x < count_; ++x) {
                    if (!(x == a ? events_[a].sc() : is_sc_fence(x) && hb.has(x, a))) continue;
                    for (unsigned y = 0; y < count_; ++y)
                        if (y == b ? events_[b].sc() : is_sc_fence(y) && hb.has(b, y)) runs.add(x, y);
                }
            }
        return !runs.cyclic();
    }
    bool is_sc_fence(unsigned e) const { return events_[e].fence() && events_[e].sc(); }

    outcome result() const {
        outcome o;
        for (unsigned e = locations; e < count_; ++e)
            if (events_[e].reads()) o.push_back(events_[source_[e]].does.value);
        for (unsigned l = 0; l < locations; ++l)
            o.push_back(modification_[l].empty() ? 0 : events_[modification_[l].back()].does.value);
        return o;
    }

    std::vector<event> events_;  // first the initial stores
    unsigned count_ = 0;
    relation before_;            // sequenced before; initial stores come before all
    std::array<std::vector<unsigned>, locations> modification_;
    std::array<unsigned, most_events> source_{};
};

}  // namespace

std::set<outcome> outcomes_of(const program& p) {
    std::set<outcome> out;
    candidate(p).all(out);
    return out;
}

std::string text(const program& p) {
    constexpr const char* kinds[] = {"load", "store", "exchange", "fence"};
    constexpr const char* orders[] = {"relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"};
    std::string out;
    for (const auto& thread : p) {
        out += "{ ";
        for (const instruction& i : thread) {
            out += kinds[static_cast<int>(i.what)];
            if (i.what != kind::fence) out += i.location == 0 ? " x" : " y";
            if (i.what == kind::store || i.what == kind::exchange) out += " = " + std::to_string(i.value);
            out += std::string(" ") + orders[static_cast<int>(i.order)] + "; ";
        }
        out += "} ";
    }
    return out;
}

}  // namespace axiomatic
