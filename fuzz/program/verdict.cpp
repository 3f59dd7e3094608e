// verdict.cpp - the judgement of a history. Long, because each thing of the vocabulary has its promises; they do not know each other.
//
// `x before y` means: x was over when y began. Where two operations overlap their order is not known, and whatever follows from one order
// or the other is allowed. So no complaint is ever wrong, and some faults go unseen in one history that show in another.
//
// Channels: a history of a queue is right if and only if no value comes from nowhere, none comes twice, no two come out of order, and
// none is overlooked [HSV13]. At rest there are no overlaps, so that what is
// known then is exact.
#include "program/verdict.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

namespace weft::fuzz {
namespace {

struct entry {
    const operation* op;
    unsigned fiber;
};

/// A value on its way.
struct passage {
    std::uint64_t value;
    stamp begun, over;
    bool done;
    entry from;
};

/// Somebody was told that nothing could be sent or received.
struct refusal {
    unsigned channel;
    bool of_receive;
    ending how;  // not_now, timeout or closed
    entry from;
};

bool before(const operation& a, const operation& b) noexcept { return a.over != 0 && a.over < b.begun; }

class judgement {
public:
    judgement(const program_text& text, const history& h, standing s) : text_(text), history_(h), standing_(s) {
        for (const auto& b : h.books())
            for (const auto& op : b.operations) by_deed_[op.what].push_back({&op, b.number});
        for (const auto& e : all(deed::send))
            sends_[e.op->object].push_back({e.op->value, e.op->begun, e.op->over, e.op->ended == ending::done, e});
        for (const auto& e : all(deed::receive))
            if (e.op->ended == ending::done) receives_[e.op->object].push_back({e.op->value, e.op->begun, e.op->over, true, e});
        for (const auto& e : all(deed::send)) note_refusal(e, false);
        for (const auto& e : all(deed::receive)) note_refusal(e, true);
        for (const auto& e : all(deed::select)) take_apart(e);
    }

    std::vector<std::string> at_rest() {
        for (const auto& b : history_.books())
            if (b.ended == 0) look_at_sleeper(b);
        return std::move(complaints_);
    }

    std::vector<std::string> at_the_end() {
        for (const auto& b : history_.books())
            if (b.ended == 0) complaints_.push_back("fiber " + std::to_string(b.number) + " was stopped and has not ended");
        if (!complaints_.empty()) return std::move(complaints_);  // its last operation lacks its end
        for (unsigned c = 0; c < channel_count; ++c) look_at_channel(c);
        for (unsigned m = 0; m < mutex_count; ++m) look_at_mutex(m);
        look_at_tokens();
        look_at_permits();
        look_at_manual_event();
        look_at_automatic_event();
        look_at_groups();
        look_at_ends();
        for (const auto& b : history_.books())
            for (const auto& op : b.operations) look_at_time_and_stop(b, op);
        return std::move(complaints_);
    }

private:
    const std::vector<entry>& all(deed d) { return by_deed_[d]; }
    void complain(const std::string& what, const entry& e) { complaints_.push_back(what + ": " + in_words(*e.op, e.fiber)); }
    void complain(const std::string& what, const entry& e, const entry& other) {
        complaints_.push_back(what + ": " + in_words(*e.op, e.fiber) + "; " + in_words(*other.op, other.fiber));
    }
    template <class Holds>
    std::ptrdiff_t count(deed d, Holds holds) {
        return std::ranges::count_if(all(d), [&](const entry& e) { return holds(*e.op); });
    }
    template <class Holds>
    bool any(deed d, Holds holds) {
        return count(d, holds) != 0;
    }
    const book& book_of(std::uint64_t fiber) const { return history_.books()[static_cast<std::size_t>(fiber - 1)]; }

    // ---- channels

    void note_refusal(const entry& e, bool of_receive) {
        const auto how = e.op->ended;
        if (how == ending::not_now || how == ending::timeout || how == ending::closed)
            refusals_.push_back({e.op->object, of_receive, how, e});
    }

    void take_apart(const entry& e) {
        const bool nothing_else = std::ranges::any_of(e.op->cases, [](const case_log& c) {
            return c.chosen && (c.what == arm::kind::timeout || c.what == arm::kind::otherwise);
        });
        for (const auto& c : e.op->cases) {
            if (c.what == arm::kind::send) sends_[c.object].push_back({c.value, e.op->begun, e.op->over, c.chosen, e});
            if (c.what != arm::kind::receive && c.what != arm::kind::send) continue;
            const bool of_receive = c.what == arm::kind::receive;
            if (of_receive && c.chosen && !c.closed)
                receives_[c.object].push_back({c.received, e.op->begun, e.op->over, true, e});
            if (of_receive && c.chosen && c.closed) refusals_.push_back({c.object, true, ending::closed, e});
            if (!c.chosen && nothing_else) refusals_.push_back({c.object, of_receive, ending::not_now, e});
        }
    }

    bool closed_before(unsigned channel, const operation& op) {
        return any(deed::close, [&](const operation& c) { return c.object == channel && before(c, op); });
    }

    void look_at_channel(unsigned c) {
        const auto& sent = sends_[c];
        const auto& received = receives_[c];
        std::map<std::uint64_t, const passage*> sent_as, received_as;
        for (const auto& s : sent) sent_as[s.value] = &s;
        for (const auto& r : received) {
            const auto s = sent_as.find(r.value);
            if (s == sent_as.end() || s->second->begun > r.over)
                complain("a value comes from nowhere", r.from);
            else if (!s->second->done)
                complain("a value comes whose send has failed", r.from, s->second->from);
            if (const auto [first, fresh] = received_as.emplace(r.value, &r); !fresh)
                complain("a value comes twice", first->second->from, r.from);
        }
        for (const auto& s : sent)
            if (s.done && !received_as.contains(s.value)) complain("a value is lost", s.from);
        look_at_order(sent, received_as);
        look_at_room(c);
        for (const auto& s : sent)
            if (s.done && closed_before(c, *s.from.op)) complain("a send to a closed channel has not failed", s.from);
        for (const auto& r : refusals_)
            if (r.channel == c) look_at_refusal(r, received_as);
    }

    void look_at_order(const std::vector<passage>& sent, std::map<std::uint64_t, const passage*>& received_as) {
        for (const auto& a : sent)
            for (const auto& b : sent) {
                if (!a.done || !b.done || a.over >= b.begun) continue;
                const auto ra = received_as.find(a.value), rb = received_as.find(b.value);
                if (ra == received_as.end() || rb == received_as.end()) continue;
                if (rb->second->over < ra->second->begun)
                    complain("values come out of order", ra->second->from, rb->second->from);
            }
    }

    void look_at_room(unsigned c) {
        const auto capacity = text_.channels[c].capacity;
        for (const auto& s : sends_[c]) {
            if (!s.done) continue;
            const auto in = std::ranges::count_if(sends_[c], [&](const passage& p) { return p.done && p.over <= s.over; });
            const auto out = std::ranges::count_if(receives_[c], [&](const passage& p) { return p.begun < s.over; });
            if (in > out && static_cast<std::size_t>(in - out) > capacity)
                complain("a channel holds more than it has room for", s.from);
        }
    }

    void look_at_refusal(const refusal& r, std::map<std::uint64_t, const passage*>& received_as) {
        const auto& op = *r.from.op;
        const bool may_be_closed =
            any(deed::close, [&](const operation& c) { return c.object == r.channel && c.begun < op.over; });
        if (r.how == ending::closed && !may_be_closed) complain("closed, by nobody", r.from);
        if (r.how != ending::closed && closed_before(r.channel, op))
            complain("a closed channel is not said to be closed", r.from);
        if (!r.of_receive) return look_at_refused_send(r);
        for (const auto& s : sends_[r.channel]) {
            if (!s.done || s.over >= op.begun) continue;
            const auto out = received_as.find(s.value);
            if (out == received_as.end() || out->second->begun > op.over) complain("a value was overlooked", r.from, s.from);
        }
    }

    void look_at_refused_send(const refusal& r) {
        const auto& op = *r.from.op;
        const auto capacity = text_.channels[r.channel].capacity;
        if (r.how == ending::closed || capacity == 0) return;
        const auto in = std::ranges::count_if(sends_[r.channel], [&](const passage& p) { return p.done && p.begun < op.over; });
        const auto out = std::ranges::count_if(receives_[r.channel], [&](const passage& p) { return p.over < op.begun; });
        if (in <= out || static_cast<std::size_t>(in - out) < capacity)
            complain("a channel with room has refused a value", r.from);
    }

    // ---- locks

    struct holding {
        const operation* lock;
        const operation* unlock;
        unsigned fiber;
    };

    std::vector<holding> holdings(unsigned mutex) {
        std::vector<holding> found;
        for (const auto& b : history_.books()) {
            const operation* open = nullptr;
            for (const auto& op : b.operations) {
                if (op.object != mutex) continue;
                if (op.what == deed::lock && op.ended == ending::done) open = &op;
                if (op.what == deed::unlock) found.push_back({std::exchange(open, nullptr), &op, b.number});
            }
            if (open) found.push_back({open, nullptr, b.number});
        }
        return found;
    }

    void look_at_mutex(unsigned mutex) {
        const auto held = holdings(mutex);
        for (const auto& a : held)
            for (const auto& b : held)
                if (&a != &b && a.lock->over < b.lock->over && a.unlock->begun > b.lock->over)
                    complain("two have the mutex", {a.lock, a.fiber}, {b.lock, b.fiber});
        for (const auto& e : all(deed::lock)) {
            if (e.op->object != mutex || e.op->ended == ending::done) continue;
            const bool somebody = std::ranges::any_of(
                held, [&](const holding& h) { return h.lock->begun < e.op->over && h.unlock->over > e.op->begun; });
            if (!somebody) complain("a free mutex was not to be had", e);
        }
    }

    // ---- what is counted

    /// Each that was taken was given before; and who was refused has found nothing.
    void look_at_count(deed give, deed take, std::ptrdiff_t at_first) {
        const auto taken = [](const operation& op) { return op.ended == ending::done; };
        for (const auto& e : all(take)) {
            const auto& op = *e.op;
            if (taken(op)) {
                const auto out = count(take, [&](const operation& t) { return taken(t) && t.over <= op.over; });
                const auto in = count(give, [&](const operation& g) { return g.begun < op.over; });
                if (out > at_first + in) complain("more was taken than given", e);
            } else if (op.ended != ending::cancelled) {
                const auto in = count(give, [&](const operation& g) { return before(g, op); });
                const auto out = count(take, [&](const operation& t) { return taken(t) && t.begun < op.over; });
                if (at_first + in > out) complain("what was there was not to be had", e);
            }
        }
    }

    void look_at_permits() { look_at_count(deed::release, deed::acquire, text_.permits); }

    void look_at_tokens() {
        look_at_count(deed::put, deed::take, 0);
        const auto put = count(deed::put, [](const operation&) { return true; });
        const auto taken = count(deed::take, [](const operation& t) { return t.ended == ending::done; });
        if (put - taken != standing_.tokens)
            complaints_.push_back(std::to_string(put) + " tokens were put and " + std::to_string(taken) + " taken, but " +
                                  std::to_string(standing_.tokens) + " are left");
    }

    void look_at_groups() {
        for (const auto& e : all(deed::group_wait)) {
            const auto& op = *e.op;
            const auto members = static_cast<std::ptrdiff_t>(op.value);
            const auto of_it = [&](const operation& d) { return d.object == op.object; };
            if (op.ended == ending::done &&
                count(deed::group_done, [&](const operation& d) { return of_it(d) && d.begun < op.over; }) < members)
                complain("a wait for a group was over too early", e);
            if (op.ended == ending::timeout &&
                count(deed::group_done, [&](const operation& d) { return of_it(d) && before(d, op); }) == members)
                complain("a group that was done was waited for", e);
        }
    }

    // ---- events

    /// A set after which nothing may have taken it back before `op` was over.
    template <class TakesBack>
    bool surely_set(unsigned event, const operation& op, TakesBack takes_back) {
        return any(deed::set, [&](const operation& s) {
            if (s.object != event || !before(s, op)) return false;
            const auto since = [&](const operation& r) { return r.object == event && r.over > s.begun && r.begun < op.over; };
            return !any(deed::reset, since) && !takes_back(since);
        });
    }

    void look_at_manual_event() {
        for (const auto& e : all(deed::wait)) {
            const auto& op = *e.op;
            if (op.object != 0) continue;
            const bool may_be_set = any(deed::set, [&](const operation& s) {
                return s.object == 0 && s.begun < op.over &&
                       !any(deed::reset, [&](const operation& r) { return r.object == 0 && before(s, r) && before(r, op); });
            });
            if (op.ended == ending::done && !may_be_set) complain("a wait for an event that nobody has set is over", e);
            const bool refused = op.ended == ending::not_now || op.ended == ending::timeout || op.ended == ending::alarmed;
            if (refused && surely_set(0, op, [](auto&) { return false; })) complain("an event that was set was waited for", e);
        }
    }

    void look_at_automatic_event() {
        const auto used = [](const operation& w) { return w.object == 1 && w.ended == ending::done; };
        for (const auto& e : all(deed::wait)) {
            const auto& op = *e.op;
            if (op.object != 1) continue;
            const auto sets = count(deed::set, [&](const operation& s) { return s.object == 1 && s.begun < op.over; });
            if (used(op) && count(deed::wait, [&](const operation& w) { return used(w) && w.over <= op.over; }) > sets)
                complain("more waits are over than the event was set", e);
            const bool refused = op.ended == ending::not_now || op.ended == ending::timeout || op.ended == ending::alarmed;
            if (refused && surely_set(1, op, [&](auto& since) {
                    return any(deed::wait, [&](const operation& w) { return used(w) && since(w); });
                }))
                complain("an event that was set was waited for", e);
        }
    }

    // ---- ends of fibers

    void look_at_ends() {
        for (const deed d : {deed::join, deed::drop})
            for (const auto& e : all(d)) {
                if (e.op->ended != ending::done && e.op->ended != ending::failed) continue;
                if (book_of(e.op->value).ended > e.op->over) complain("a fiber was joined before its end", e);
            }
        for (const auto& e : all(deed::scope_end))
            for (const auto& b : history_.books())
                if (b.scope == static_cast<int>(e.op->object) && b.ended > e.op->over)
                    complain("a scope has ended before fiber " + std::to_string(b.number), e);
        for (const auto& e : all(deed::select))
            for (const auto& c : e.op->cases)
                if (c.chosen && c.what == arm::kind::join && book_of(c.value).ended > e.op->over)
                    complain("a fiber is said to have ended, and lives", e);
    }

    // ---- time and stop

    static bool encloses(const enclosure& e, const operation& op) noexcept {
        return e.begun < op.begun && (e.over == 0 || e.over > op.begun);
    }

    static bool is_shielded(const book& b, const operation& op) {
        return std::ranges::any_of(b.shields, [&](const enclosure& s) { return encloses(s, op); });
    }

    void look_at_time_and_stop(const book& b, const operation& op) {
        const entry e{&op, b.number};
        if (op.ended == ending::timeout && op.until < op.limit) complain("a limit was over before its time", e);
        for (const auto& c : op.cases)
            if (c.chosen && c.what == arm::kind::timeout && op.until < op.limit)
                complain("a timeout was chosen before its time", e);
        const auto alarm_may_be_on = [&] { return any(deed::alarm, [&](const operation& a) { return a.begun < op.over; }); };
        if (op.ended == ending::alarmed && !alarm_may_be_on()) complain("an alarm, by nobody", e);
        if (op.ended == ending::cancelled)
            look_at_cancelled(b, e);
        else if (is_interrupted_always(op) && !is_shielded(b, op) && op.over != 0 && must_be_interrupted(b, op))
            complain("a fiber that was stopped, or whose time was over, went on", e);
    }

    /// What looks for a stop even if it need not wait.
    static bool is_interrupted_always(const operation& op) noexcept {
        switch (op.what) {
            case deed::send:
            case deed::receive:
            case deed::acquire:
            case deed::wait: return op.how != form::tries;
            case deed::yield:
            case deed::sleep: return true;
            default: return false;
        }
    }

    bool must_be_interrupted(const book& b, const operation& op) {
        for (const deed d : {deed::stop, deed::drop})
            if (any(d, [&](const operation& s) { return s.value == b.number && before(s, op); })) return true;
        return std::ranges::any_of(b.deadlines, [&](const enclosure& d) { return encloses(d, op) && d.latest < op.from; });
    }

    void look_at_cancelled(const book& b, const entry& e) {
        for (const auto& s : b.shields)
            if (encloses(s, *e.op) && e.op->until < s.earliest) return complain("a shield does not hold", e);
        std::set<unsigned> asked;
        const bool by_deadline =
            std::ranges::any_of(b.deadlines, [&](const enclosure& d) { return encloses(d, *e.op) && d.earliest <= e.op->until; });
        if (!by_deadline && !may_be_stopped(b.number, e.op->over, e.op->until, asked)) complain("cancelled, by nobody", e);
    }

    /// Whether anything may have stopped the fiber by then: somebody's request, its scope's end, the stop of who runs it in place.
    bool may_be_stopped(unsigned fiber, stamp by, nanoseconds at, std::set<unsigned>& asked) {
        if (!asked.insert(fiber).second) return false;
        if (history_.all_stopped != 0 && history_.all_stopped < by) return true;
        for (const deed d : {deed::stop, deed::drop})
            if (any(d, [&](const operation& s) { return s.value == fiber && s.begun < by; })) return true;
        for (std::size_t i = 0; i < history_.scopes().size(); ++i) {
            const auto& s = history_.scopes()[i];
            const bool is_child = book_of(fiber).scope == static_cast<int>(i);
            if ((is_child || s.owner == fiber) && s.begun < by && scope_may_be_stopped(i, by)) return true;
            if (is_child && (may_be_interrupted(s.owner, by, at) || may_be_stopped(s.owner, by, at, asked))) return true;
        }
        for (const auto& e : all(deed::join))
            if (e.op->value == fiber && e.op->begun < by &&
                (may_be_interrupted(e.fiber, by, at) || may_be_stopped(e.fiber, by, at, asked)))
                return true;
        return false;
    }

    bool may_be_interrupted(unsigned fiber, stamp by, nanoseconds at) const {
        return std::ranges::any_of(book_of(fiber).deadlines,
                                   [&](const enclosure& d) { return d.begun < by && d.earliest <= at; });
    }

    bool scope_may_be_stopped(std::size_t scope, stamp by) {
        if (any(deed::stop_scope, [&](const operation& s) { return s.object == scope && s.begun < by; })) return true;
        if (const auto failed = history_.scopes()[scope].body_failed; failed != 0 && failed < by) return true;
        return std::ranges::any_of(history_.books(), [&](const book& b) {
            return b.scope == static_cast<int>(scope) && b.failed != 0 && b.failed < by;
        });
    }

    // ---- at rest

    void look_at_sleeper(const book& b) {
        const auto last = std::ranges::find(b.operations.rbegin(), b.operations.rend(), ending::pending, &operation::ended);
        if (last == b.operations.rend()) {
            complaints_.push_back("fiber " + std::to_string(b.number) + " has not ended and waits for nothing");
            return;
        }
        const entry e{&*last, b.number};
        if (const auto why = what_it_misses(b, *last); !why.empty()) complain("asleep, although " + why, e);
    }

    /// Why a pending operation could be over. Empty: there is no reason.
    std::string what_it_misses(const book& b, const operation& op) {
        if (op.limit != no_limit) return "its time is over, or no timer is set";
        if (is_stoppable(op)) {
            if (std::ranges::any_of(b.deadlines, [&](const enclosure& d) { return encloses(d, op); }))
                return "its deadline is over, or no timer is set";
            if (is_surely_stopped(b)) return "it was stopped";
        }
        if (op.how == form::alarmed && standing_.alarm_is_on) return "the alarm is on";
        switch (op.what) {
            case deed::send: return sendable(op.object, b.number) ? "it could send" : "";
            case deed::receive: return receivable(op.object, b.number) ? "it could receive" : "";
            case deed::select: return missed_case(b, op);
            case deed::lock:
                return std::ranges::none_of(holdings(op.object),
                                            [](const holding& h) { return !h.unlock || h.unlock->over == 0; })
                           ? "the mutex is free"
                           : "";
            case deed::take: return standing_.tokens > 0 ? "there is a token" : "";
            case deed::acquire:
                return text_.permits + count(deed::release, [](const operation& r) { return r.over != 0; }) >
                               count(deed::acquire, [](const operation& a) { return a.ended == ending::done; })
                           ? "there is a permit"
                           : "";
            case deed::wait: return is_set_at_rest(op) ? "the event is set" : "";
            case deed::group_wait:
                return count(deed::group_done, [&](const operation& d) { return d.object == op.object && d.over != 0; }) ==
                               static_cast<std::ptrdiff_t>(op.value)
                           ? "the group is done"
                           : "";
            case deed::join:
            case deed::drop: return book_of(op.value).ended != 0 ? "the fiber has ended" : "";
            case deed::scope_end:
                return std::ranges::none_of(history_.books(),
                                            [&](const book& c) { return c.scope == static_cast<int>(op.object) && c.ended == 0; })
                           ? "all its children have ended"
                           : "";
            default: return "it never waits";
        }
    }

    static bool is_stoppable(const operation& op) noexcept {
        return op.what != deed::lock && op.what != deed::drop && op.what != deed::scope_end;
    }

    bool is_surely_stopped(const book& b) {
        for (const deed d : {deed::stop, deed::drop})
            if (any(d, [&](const operation& s) { return s.value == b.number; })) return true;
        return b.scope >= 0 && any(deed::stop_scope,
                                   [&](const operation& s) { return s.object == static_cast<unsigned>(b.scope) && s.over != 0; });
    }

    std::ptrdiff_t stored(unsigned channel) {
        return std::ranges::count_if(sends_[channel], &passage::done) - static_cast<std::ptrdiff_t>(receives_[channel].size());
    }
    bool is_closed(unsigned channel) {
        return any(deed::close, [&](const operation& c) { return c.object == channel && c.over != 0; });
    }
    /// Whether another fiber waits to do so.
    bool somebody_waits(deed d, arm::kind kind, unsigned channel, unsigned but) {
        const auto pending = [](const entry& e) { return e.op->ended == ending::pending; };
        const auto offers = [&](const case_log& c) { return c.what == kind && c.object == channel; };
        return std::ranges::any_of(all(d),
                                   [&](const entry& e) { return pending(e) && e.fiber != but && e.op->object == channel; }) ||
               std::ranges::any_of(all(deed::select), [&](const entry& e) {
                   return pending(e) && e.fiber != but && std::ranges::any_of(e.op->cases, offers);
               });
    }
    bool receivable(unsigned channel, unsigned fiber) {
        return stored(channel) > 0 || is_closed(channel) || somebody_waits(deed::send, arm::kind::send, channel, fiber);
    }
    bool sendable(unsigned channel, unsigned fiber) {
        const bool has_room = stored(channel) < 0 || static_cast<std::size_t>(stored(channel)) < text_.channels[channel].capacity;
        return has_room || is_closed(channel) || somebody_waits(deed::receive, arm::kind::receive, channel, fiber);
    }

    std::string missed_case(const book& b, const operation& op) {
        for (const auto& c : op.cases) switch (c.what) {
                case arm::kind::receive:
                    if (receivable(c.object, b.number)) return "it could receive";
                    break;
                case arm::kind::send:
                    if (sendable(c.object, b.number)) return "it could send";
                    break;
                case arm::kind::join:
                    if (book_of(c.value).ended != 0) return "a fiber of its has ended";
                    break;
                case arm::kind::alarm:
                    if (standing_.alarm_is_on) return "the alarm is on";
                    break;
                case arm::kind::timeout:
                case arm::kind::otherwise: return "it need not wait";
            }
        return {};
    }

    bool is_set_at_rest(const operation& op) {
        return any(deed::set, [&](const operation& s) {
            const auto undone = [&](const operation& r) { return r.object == op.object && r.over > s.begun; };
            const auto used = [&](const operation& w) { return undone(w) && w.ended == ending::done && op.object == 1; };
            return s.object == op.object && s.over != 0 && !any(deed::reset, undone) && !any(deed::wait, used);
        });
    }

    const program_text& text_;
    const history& history_;
    const standing standing_;
    std::map<deed, std::vector<entry>> by_deed_;
    std::map<unsigned, std::vector<passage>> sends_, receives_;
    std::vector<refusal> refusals_;
    std::vector<std::string> complaints_;
};

}  // namespace

std::vector<std::string> judge_at_rest(const program_text& text, const history& h, standing s) {
    return judgement(text, h, s).at_rest();
}

std::vector<std::string> judge(const program_text& text, const history& h, standing s) {
    return judgement(text, h, s).at_the_end();
}

}  // namespace weft::fuzz
