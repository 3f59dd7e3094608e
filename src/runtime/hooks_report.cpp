// hooks_report.cpp - weft::hooks, and its report as text and as JSON.
#include <dlfcn.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include <weft/hooks.hpp>

#include "base/blocked_places.hpp"
#include "base/hook_table.hpp"
#include "runtime/dump/code_names.hpp"
#include "runtime/dump/json_text.hpp"
#include "runtime/hooks.hpp"

namespace weft {
namespace hooks {
namespace {

using namespace detail;

// What is known of a place before it has a name.
struct place {
    const void* caller;
    site what;
};

site named(place&& p, code_names& names) {
    Dl_info where{};
    if (p.caller && ::dladdr(p.caller, &where) != 0 && where.dli_fname) {
        const std::string_view path = where.dli_fname;
        p.what.object_file = path.substr(path.rfind('/') + 1);
    }
    if (p.caller) p.what.function = names.of_caller(p.caller);
    return std::move(p.what);
}

// Calls f(what, places) for each `what` of a list that is told to a plain function. \throws std::bad_alloc
template <class What, class List, class F>
void collect(List list, std::vector<place>& into, F f) {
    struct {
        std::vector<place>& into;
        F& f;
        std::exception_ptr failure;
    } seen{into, f, nullptr};
    list(
        [](const What& what, void* where) {
            auto& s = *static_cast<decltype(seen)*>(where);
            try {
                s.f(what, s.into);
            } catch (...) {
                s.failure = std::current_exception();
            }
        },
        &seen);
    if (seen.failure) std::rethrow_exception(seen.failure);
}

void add_hooked(const hook_count& c, std::vector<place>& all) {
    all.push_back(
        {c.caller, {.call = c.name, .object_file = {}, .function = {}, .calls = c.calls, .parks = c.parks, .blocks = c.blocks}});
}

// To the hooked call of the same place, which may have made several system calls; else as a place of its own.
void add_blocked(const blocked_place& b, std::vector<place>& all) {
    auto at = std::ranges::find_if(all, [&](const place& p) { return p.caller == b.caller && p.what.calls != 0; });
    if (!b.caller || at == all.end()) {
        std::string call = b.name ? b.name : b.number >= 0 ? "system call " + std::to_string(b.number) : "others";
        at = all.insert(all.end(), {b.caller, {.call = std::move(call), .object_file = {}, .function = {}}});
    }
    at->what.hand_offs += b.times;
    at->what.blocked += b.in_all;
    at->what.longest_block = std::max<std::chrono::nanoseconds>(at->what.longest_block, b.longest);
}

void do_in_library(int (*const hook_library::*what)(const char*), std::string_view file, const char* name) {
    const auto* const found = library_of_hooks();
    const int error = found ? (found->*what)(std::string(file).c_str()) : EPERM;
    if (error != 0)
        throw std::system_error(error, std::generic_category(),
                                "weft::hooks::" + std::string(name) + "(\"" + std::string(file) + "\")");
}

}  // namespace

bool active() noexcept { return library_of_hooks() != nullptr; }

std::vector<site> report() {
    const auto* const found = library_of_hooks();
    if (!found) return {};
    std::vector<place> places;
    collect<hook_count>(found->for_each_count, places, add_hooked);
    collect<blocked_place>(for_each_blocked_place, places, add_blocked);
    code_names names;
    std::vector<site> sites;
    sites.reserve(places.size());
    for (auto& p : places) sites.push_back(named(std::move(p), names));
    std::ranges::sort(sites, std::greater(), [](const site& s) { return std::pair(s.calls, s.blocked); });
    return sites;
}

void leave_alone(std::string_view file) { do_in_library(&hook_library::leave_alone, file, "leave_alone"); }

void adopt(std::string_view file) { do_in_library(&hook_library::adopt, file, "adopt"); }

}  // namespace hooks

namespace detail {
namespace {

std::string padded(std::string_view s, std::size_t width) {
    std::string r(s);
    if (r.size() < width) r.resize(width, ' ');
    return r;
}

std::string at_right(std::uint64_t n, std::size_t width) {
    const auto digits = std::to_string(n);
    return std::string(width - std::min(width, digits.size()), ' ') + digits;
}

std::uint64_t in_ms(std::chrono::nanoseconds t) {
    return static_cast<std::uint64_t>(std::chrono::round<std::chrono::milliseconds>(t).count());
}

}  // namespace

std::string hooks_in_words() {
    if (!library_of_hooks()) return "hooks: not active (runtime_options::hooks, libweft_hooks.so)\n";
    const auto sites = hooks::report();
    if (sites.empty()) return "hooks: no call by a fiber that is a thread\n";
    std::size_t files = 0, functions = 0, calls = 0;
    for (const auto& s : sites) {
        files = std::max(files, s.object_file.size());
        functions = std::max(functions, s.function.size());
        calls = std::max(calls, s.call.size());
    }
    const auto place = [&](const hooks::site& s) {
        return "hooks: " + padded(s.object_file, files) + "  " + padded(s.function, functions) + "  " + padded(s.call, calls);
    };
    std::string r, still_blocked;
    for (const auto& s : sites) {
        if (s.calls != 0)
            r += place(s) + at_right(s.calls, 12) + " calls" + at_right(s.parks, 12) + " parks" + at_right(s.blocks, 10) +
                 " may have blocked\n";
        if (s.hand_offs != 0)
            still_blocked += place(s) + at_right(s.hand_offs, 12) + " times" + at_right(in_ms(s.blocked), 12) + " ms in all" +
                             at_right(in_ms(s.longest_block), 10) + " ms at most\n";
    }
    if (!still_blocked.empty()) r += "hooks: still blocked, and the worker was handed over:\n" + still_blocked;
    return r;
}

std::string hooks_as_json() {
    std::ostringstream to;
    to << "{\"active\":" << (library_of_hooks() ? "true" : "false") << ",\"sites\":[";
    const char* between = "";
    for (const auto& s : hooks::report()) {
        to << std::exchange(between, ",") << "{\"object_file\":";
        write_json_text(to, s.object_file);
        to << ",\"function\":";
        write_json_text(to, s.function);
        to << ",\"call\":";
        write_json_text(to, s.call);
        to << ",\"calls\":" << s.calls << ",\"parks\":" << s.parks << ",\"blocks\":" << s.blocks
           << ",\"hand_offs\":" << s.hand_offs << ",\"blocked_ns\":" << s.blocked.count()
           << ",\"longest_block_ns\":" << s.longest_block.count() << '}';
    }
    to << "]}\n";
    return std::move(to).str();
}

}  // namespace detail
}  // namespace weft
