// dump_text.cpp - writes a snapshot as text; fibers that are alike are shown once.
#include <algorithm>
#include <map>
#include <ostream>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/in_quotes.hpp"
#include "runtime/dump/dump_forms.hpp"

namespace weft::detail {
namespace {

// chosen: the most members of a group, objects, or owners to list
constexpr std::size_t most_shown = 20;

using fibers_of_group = std::vector<const fiber_snapshot*>;

struct group {
    fibers_of_group members;
};

// Which frames of a stack are shown, and which are compared. In the stack of a waiting fiber the
// innermost frames belong to the runtime. They vary although the fibers wait in the same way: the
// way from a wait to the switch depends on which fiber comes next, and the way from a call to the
// wait depends on who else uses the object at that moment.
class stack_views {
public:
    explicit stack_views(code_names& names) noexcept : names_(names) {}

    std::vector<void*> shown(const fiber_snapshot& f) { return without(frame::of_switch, f); }
    std::vector<void*> compared(const fiber_snapshot& f) { return without(frame::of_runtime, f); }

private:
    enum class frame { of_switch, of_runtime, of_program };

    std::vector<void*> without(frame most, const fiber_snapshot& f) {
        if (f.thread != 0) return f.stack;
        const auto first = std::find_if(f.stack.begin(), f.stack.end(), [&](void* code) { return kind_of(code) > most; });
        return std::vector<void*>(first, f.stack.end());
    }

    frame kind_of(void* code) {
        const auto [known, is_new] = known_.try_emplace(code, frame::of_program);
        if (!is_new) return known->second;
        const auto name = names_.of_caller(code);
        if (name.starts_with("weft::detail::carrier::") || name.starts_with("weft::detail::switch_"))
            known->second = frame::of_switch;
        // The body may be inlined into call_task.
        else if (name.starts_with("weft::detail::") && !name.starts_with("weft::detail::call_task"))
            known->second = frame::of_runtime;
        return known->second;
    }

    code_names& names_;
    std::unordered_map<void*, frame> known_;
};

// Two fibers are alike if all of this is equal. Not compared are their identity, their exact place
// in the runtime, how long they wait, and which object they wait at if no fiber owns it; such
// objects are listed below the group.
auto kind_of(const fiber_snapshot& f, stack_views& stacks) {
    return std::tuple(std::string_view(f.site.file_name()), f.site.line(), f.state, f.waits_for,
                      f.call ? f.call->caller : nullptr, f.owners.empty() ? nullptr : f.object,
                      std::vector<std::uint64_t>(f.thread != 0 ? 1 : 0, f.id.value), stacks.compared(f));
}

// The largest group comes last, so that rare cases are seen first; otherwise in the order found.
std::vector<group> groups_of(const std::vector<fiber_snapshot>& fibers, stack_views& stacks) {
    std::map<decltype(kind_of(fibers.front(), stacks)), std::size_t> known;
    std::vector<group> groups;
    for (const auto& f : fibers) {
        const auto [at, is_new] = known.emplace(kind_of(f, stacks), groups.size());
        if (is_new) groups.emplace_back();
        groups[at->second].members.push_back(&f);
    }
    std::stable_sort(groups.begin(), groups.end(),
                     [](const group& a, const group& b) { return a.members.size() < b.members.size(); });
    return groups;
}

std::string seconds(std::chrono::milliseconds d) {
    const auto ms = d.count();
    const auto tenths = std::to_string(ms / 1000) + '.' + std::to_string(ms % 1000 / 100);
    return ms < 1000 ? std::to_string(ms) + " ms" : tenths + " s";
}

class text_writer {
public:
    text_writer(std::ostream& to, const process_snapshot& all, code_names& names)
        : to_(to), all_(all), names_(names), stacks_(names) {
        for (const auto& r : all.runtimes)
            for (const auto& f : r.fibers) by_id_[f.id.value] = &f;
    }

    void write() {
        if (all_.runtimes.empty()) to_ << "weft: no runtime\n";
        for (const auto& r : all_.runtimes) {
            write_heading(r);
            for (const auto& s : r.asleep) write(s);
            for (const auto& g : groups_of(r.fibers, stacks_)) write(g);
        }
        for (const auto& c : all_.cycles) {
            to_ << "weft: these wait for one another, for ever unless one is stopped or has a deadline:\n";
            write_cycle(c);
        }
    }
    void write_fibers() {
        for (const auto& r : all_.runtimes)
            for (const auto& g : groups_of(r.fibers, stacks_)) write(g);
        for (const auto& c : all_.cycles) write_cycle(c);
    }

private:
    void write_heading(const runtime_snapshot& r) {
        to_ << "weft: runtime " << in_quotes(r.name) << ", workers: " << r.workers << ", fibers: " << r.fibers.size();
        if (r.refused != 0) to_ << ", refused spawns: " << r.refused;
        to_ << '\n';
    }

    void write(const streams_asleep_snapshot& s) {
        if (s.count == 0) return;
        to_ << "connections without a fiber: " << s.count << " of " << s.owner;
        if (!s.address.empty()) to_ << " at " << printable(s.address);
        if (s.longest) to_ << ", the longest for " << seconds(*s.longest);
        to_ << '\n';
    }

    void write(const group& g) {
        const auto& first = *g.members.front();
        if (g.members.size() == 1)
            write_fiber(first);
        else
            to_ << g.members.size() << " fibers";
        if (first.site.line() != 0) to_ << " (" << first.site.file_name() << ':' << first.site.line() << ')';
        to_ << ": ";
        const auto by_object = parts_by_object(g);
        write_state(first, by_object.size() == 1 ? first.object : nullptr);
        write_times(g);
        to_ << '\n';
        if (g.members.size() > 1) write_parts(by_object);
        const auto stack = stacks_.shown(first);
        for (std::size_t i = 0; i < stack.size(); ++i) {
            // The first address of a running fiber is where the signal arrived.
            const bool is_exact = i == 0 && first.thread != 0;
            to_ << "    " << (is_exact ? names_.of(stack[i]) : names_.of_caller(stack[i])) << '\n';
        }
    }

    void write_fiber(const fiber_snapshot& f) {
        to_ << "fiber " << f.id.value;
        if (!f.name.empty()) to_ << ' ' << in_quotes(f.name);
    }

    void write_fiber(fiber_id id) {
        if (const auto f = by_id_.find(id.value); f != by_id_.end()) return write_fiber(*f->second);
        to_ << "fiber " << id.value;
    }

    // Parts of a group with one object each, in the order found.
    static std::vector<fibers_of_group> parts_by_object(const group& g) {
        std::unordered_map<const void*, std::size_t> known;
        std::vector<fibers_of_group> parts;
        for (const auto* f : g.members) {
            const auto [at, is_new] = known.emplace(f->object, parts.size());
            if (is_new) parts.emplace_back();
            parts[at->second].push_back(f);
        }
        return parts;
    }

    void write_state(const fiber_snapshot& f, const void* object) {
        to_ << f.state;
        if (f.worker)
            to_ << " on worker " << *f.worker;
        else if (f.thread != 0)
            to_ << " without a worker";
        if (f.thread != 0) to_ << ", thread " << f.thread;
        if (f.waits_for == "nothing") return;
        to_ << " for " << f.waits_for;
        if (object) to_ << " at " << object;
        if (f.call) write(*f.call);
        if (f.owners.empty()) return;
        to_ << " of ";
        for (std::size_t i = 0; i < f.owners.size() && i < most_shown; ++i) {
            if (i != 0) to_ << ", ";
            write_fiber(f.owners[i]);
        }
        if (f.owners.size() > most_shown) to_ << " and " << f.owners.size() - most_shown << " more";
    }

    void write(const hooked_call_snapshot& c) {
        to_ << ": " << c.name << '(';
        if (c.descriptor >= 0) to_ << c.descriptor;
        if (c.object) to_ << c.object;
        to_ << ')';
        if (c.caller) to_ << " in " << names_.of_caller(c.caller);
    }

    void write_times(const group& g) {
        const auto sooner = [](const fiber_snapshot* a, const fiber_snapshot* b) { return a->waited < b->waited; };
        const auto [least, most] = std::minmax_element(g.members.begin(), g.members.end(), sooner);
        if (!(*least)->waited) return;
        to_ << ", for " << seconds(*(*least)->waited);
        if ((*least)->waited != (*most)->waited) to_ << " to " << seconds(*(*most)->waited);
    }

    void write_parts(const std::vector<fibers_of_group>& by_object) {
        for (std::size_t i = 0; i < by_object.size() && i < most_shown; ++i) {
            to_ << "  these";
            if (by_object.size() > 1) to_ << " at " << by_object[i].front()->object;
            write_members(by_object[i]);
        }
        if (by_object.size() > most_shown) to_ << "  and others at " << by_object.size() - most_shown << " more\n";
    }

    void write_members(const fibers_of_group& members) {
        to_ << ':';
        for (std::size_t i = 0; i < members.size() && i < most_shown; ++i) {
            to_ << (i == 0 ? " " : ", ") << members[i]->id.value;
            if (!members[i]->name.empty()) to_ << ' ' << in_quotes(members[i]->name);
        }
        if (members.size() > most_shown) to_ << " and " << members.size() - most_shown << " more";
        to_ << '\n';
    }

    void write_cycle(const std::vector<fiber_id>& cycle) {
        for (std::size_t i = 0; i < cycle.size(); ++i) {
            to_ << "  ";
            write_fiber(cycle[i]);
            to_ << " waits for ";
            if (const auto f = by_id_.find(cycle[i].value); f != by_id_.end()) to_ << f->second->waits_for << " of ";
            write_fiber(cycle[(i + 1) % cycle.size()]);
            to_ << '\n';
        }
    }

    std::ostream& to_;
    const process_snapshot& all_;
    code_names& names_;
    stack_views stacks_;
    std::unordered_map<std::uint64_t, const fiber_snapshot*> by_id_;
};

}  // namespace

void write_text(std::ostream& to, const process_snapshot& all, code_names& names) { text_writer(to, all, names).write(); }
void write_fibers(std::ostream& to, const process_snapshot& some, code_names& names) {
    text_writer(to, some, names).write_fibers();
}

}  // namespace weft::detail
