// report.cpp - reports a fiber that parks with a lock of its thread held, on stderr.
//
// The fiber that parks must not wait, since it may hold a lock of weft. So it passes addresses on,
// and a thread of this library turns them into lines.
#include <cxxabi.h>
#include <dlfcn.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/in_quotes.hpp"
#include "base/park_watch.hpp"
#include "lockcheck/held_locks.hpp"

namespace weft::lockcheck {
namespace {

struct report {
    std::string fiber;
    std::uint64_t id;
    std::string reason;
    std::vector<held_lock> locks;
    trace parks_at;
};

// ---- addresses to lines

/// The output of addr2line (binutils): function and file:line for each frame inlined there. Empty
/// if it is not installed.
std::string ask_addr2line(const char* file, std::uintptr_t offset) {
    char address[24];
    std::snprintf(address, sizeof address, "0x%zx", static_cast<std::size_t>(offset));
    int ends[2];
    if (::pipe(ends) != 0) return {};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    std::vector<char*> environment;
    for (char** e = environ; *e; ++e)
        if (std::strncmp(*e, "LD_PRELOAD=", 11) != 0) environment.push_back(*e);
    environment.push_back(nullptr);
    const std::array<const char*, 6> words{"addr2line", "-Cfipe", file, address, nullptr, nullptr};
    pid_t child = -1;
    const int failed =
        ::posix_spawnp(&child, words[0], &actions, nullptr, const_cast<char* const*>(words.data()), environment.data());
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    std::string said;
    char part[512];
    for (ssize_t n; failed == 0 && (n = ::read(ends[0], part, sizeof part)) > 0;) said.append(part, static_cast<std::size_t>(n));
    ::close(ends[0]);
    if (failed == 0) ::waitpid(child, nullptr, 0);
    while (!said.empty() && said.back() == '\n') said.pop_back();
    return said.find("??") == 0 ? std::string() : said;
}

std::string demangled(const char* name) {
    int status = 0;
    char* const text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
    std::string result = text ? text : name;
    std::free(text);
    return result;
}

std::string described(void* return_address) {
    Dl_info where{};
    // an address inside the call
    const auto at = reinterpret_cast<std::uintptr_t>(return_address) - 1;
    if (::dladdr(reinterpret_cast<void*>(at), &where) == 0 || !where.dli_fname) return "?";
    const auto offset = at - reinterpret_cast<std::uintptr_t>(where.dli_fbase);
    const auto said =
        ask_addr2line(where.dli_fname[0] && std::strchr(where.dli_fname, '/') ? where.dli_fname : "/proc/self/exe", offset);
    if (!said.empty() && said.find("??") == std::string::npos) return said;
    char place[512];
    std::snprintf(place, sizeof place, "%s(+0x%zx)", where.dli_fname, static_cast<std::size_t>(offset));
    return (where.dli_sname ? demangled(where.dli_sname) + " at " : std::string()) + place;
}

// ---- printing

std::string called(const auto& fiber, std::string_view its_name) {
    auto text = its_name.empty() ? std::string("fiber ") : "fiber " + detail::in_quotes(its_name) + ", ";
    text += std::to_string(fiber.id);
    if (fiber.line != 0) text += " (" + std::string(fiber.file) + ":" + std::to_string(fiber.line) + ")";
    return text;
}
std::string called(const detail::running_fiber& f) { return called(f, f.name.data()); }
std::string called(const detail::parking_fiber& f) { return called(f, f.name); }

const char* name(kind k) noexcept {
    switch (k) {
        case kind::mutex: return "mutex";
        case kind::shared: return "rwlock, shared";
        case kind::exclusive: return "rwlock, exclusive";
        case kind::spin: return "spinlock";
    }
    return "lock";
}

/// A frame inside the standard library or weft, which does not help a user to find the lock.
bool is_inside(const std::string& line) noexcept {
    constexpr std::array<std::string_view, 5> insides{"/c++/", "weft/detail/", "weft::detail::", "weft_context_base",
                                                      "weft_about_to_park"};
    return std::any_of(insides.begin(), insides.end(), [&](auto s) { return line.find(s) != std::string::npos; });
}

enum class frames { of_users, all };

std::string lines(const trace& from, frames which) {
    std::string shown;
    for (void* const address : from) {
        if (!address) break;
        std::istringstream each(described(address));
        for (std::string line; std::getline(each, line);) {
            if (which == frames::of_users && is_inside(line)) continue;
            constexpr std::string_view inlined = " (inlined by) ";
            shown += "        " + (line.starts_with(inlined) ? line.substr(inlined.size()) : line) + '\n';
        }
    }
    return shown.empty() && which == frames::of_users ? lines(from, frames::all) : shown;
}

void print(const report& r) {
    const auto is_anothers = [&](const held_lock& l) { return l.taker.id != 0 && l.taker.id != r.id; };
    const std::string held = r.locks.size() == 1 ? "a lock" : "locks";
    std::string text = "weft: lockcheck: " + r.fiber + " parks (" + r.reason + ") " +
                       (std::ranges::any_of(r.locks, is_anothers) ? "on a thread with " + held + " held:\n"
                                                                  : "and holds " + held + " of its thread:\n");
    for (const auto& l : r.locks) {
        char address[64];
        std::snprintf(address, sizeof address, "    pthread %s %p, taken ", name(l.what), l.lock);
        text += address + (is_anothers(l) ? "by " + called(l.taker) + " at\n" : "at\n") + lines(l.taken_at, frames::of_users);
    }
    text += "    parks at\n" + lines(r.parks_at, frames::of_users);
    std::fputs(text.c_str(), stderr);
}

// ---- the thread

class reporter {
public:
    /// Never destroyed, since fibers may park until the process ends.
    static reporter& get() {
        static auto* const only = new reporter;
        return *only;
    }

    void hand_over(report r) {
        const std::lock_guard guard(lock_);
        // Each pair of a stack that took a lock and a stack that parks is reported once.
        if (!told_.insert({r.locks.front().taken_at, r.parks_at}).second) return;
        waiting_.push_back(std::move(r));
        if (!started_) {
            started_ = true;
            std::thread([this] { run(); }).detach();
        }
        changed_.notify_all();
    }

    void flush() {
        std::unique_lock guard(lock_);
        changed_.wait(guard, [this] { return waiting_.empty() && !printing_; });
    }

private:
    reporter() {
        std::atexit([] {
            const busy of_this_library;
            get().flush();
        });
    }

    void run() {
        const busy for_good;
        std::unique_lock guard(lock_);
        for (;;) {
            changed_.wait(guard, [this] { return !waiting_.empty(); });
            const auto next = std::move(waiting_.front());
            waiting_.pop_front();
            printing_ = true;
            guard.unlock();
            print(next);
            guard.lock();
            printing_ = false;
            changed_.notify_all();
        }
    }

    std::mutex lock_;
    std::condition_variable changed_;
    std::deque<report> waiting_;
    std::set<std::pair<trace, trace>> told_;
    bool started_ = false, printing_ = false;
};

enum class mode { report, stop, off };

mode chosen_mode() noexcept {
    const char* const text = std::getenv("WEFT_LOCKCHECK");
    if (!text || !*text || std::strcmp(text, "report") == 0) return mode::report;
    if (std::strcmp(text, "stop") == 0) return mode::stop;
    if (std::strcmp(text, "off") != 0)
        std::fprintf(stderr, "weft: lockcheck: WEFT_LOCKCHECK must be report, stop or off, not \"%s\": taken for report\n", text);
    return std::strcmp(text, "off") == 0 ? mode::off : mode::report;
}

}  // namespace

void about_to_park(const detail::parking_fiber& f) noexcept {
    if (held_here().empty() || f.is_thread) [[likely]]
        return;
    static const mode how = chosen_mode();
    if (how == mode::off) return;
    const busy of_this_library;
    const auto held = held_here();
    reporter::get().hand_over({called(f), f.id, std::string(f.reason), {held.begin(), held.end()}, here()});
    // Otherwise the next fiber on this thread would be blamed (HELD_LOCKS-1).
    forget_all();
    if (how != mode::stop) return;
    reporter::get().flush();
    std::abort();
}

}  // namespace weft::lockcheck

extern "C" __attribute__((visibility("default"))) void weft_about_to_park(const weft::detail::parking_fiber& f) noexcept {
    weft::lockcheck::about_to_park(f);
}
