// plants.cpp - the faults.
#include "soak/server/plants.hpp"

#include <fcntl.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <weft/stop.hpp>

namespace soak {

namespace {

using namespace std::chrono_literals;

constexpr std::array<std::pair<std::string_view, fault>, 8> faults{{{"none", fault::none},
                                                                    {"fiber", fault::fiber},
                                                                    {"descriptor", fault::descriptor},
                                                                    {"memory", fault::memory},
                                                                    {"thread", fault::thread},
                                                                    {"answer", fault::answer},
                                                                    {"line", fault::line},
                                                                    {"straggler", fault::straggler}}};

constexpr std::size_t leaked_bytes = 1 << 20;

/// Does not hear that it is asked to stop.
void park(std::chrono::seconds deaf) {
    const weft::shield no_stop;
    weft::this_fiber::sleep_for(deaf);
}

fault fault_from(std::string_view name) {
    for (const auto& [known, f] : faults)
        if (known == name) return f;
    throw std::invalid_argument("no such fault: " + std::string(name));
}

}  // namespace

std::vector<fault> faults_from(std::string_view names) {
    std::vector<fault> found;
    for (;;) {
        const auto comma = names.find(',');
        found.push_back(fault_from(names.substr(0, comma)));
        if (comma == names.npos) return found;
        names.remove_prefix(comma + 1);
    }
}

bool faulty_store::commit() {
    if (operations_.fetch_add(1) % every_ != every_ - 1) return false;
    bool wrong = false;
    for (const auto f : faults_) wrong |= commit(f);
    return wrong;
}

bool faulty_store::commit(fault f) {
    switch (f) {
        case fault::none: break;
        case fault::fiber: weft::spawn_detached({.name = "planted"}, [] { weft::this_fiber::sleep_for(24h); }); break;
        case fault::descriptor: (void)!::open("/dev/null", O_RDONLY | O_CLOEXEC); break;
        case fault::memory: {
            static std::vector<std::unique_ptr<std::string>> leaked;  // reachable: it is growth that is to be found
            static std::mutex lock;
            const std::lock_guard guard(lock);
            leaked.push_back(std::make_unique<std::string>(leaked_bytes, 'x'));
            break;
        }
        case fault::thread: std::thread([] { std::this_thread::sleep_for(24h); }).detach(); break;
        case fault::answer: return true;
        case fault::line: std::fputs("weft: a planted line\n", stderr); break;
        case fault::straggler: weft::spawn_detached({.name = "planted"}, [] { park(120s); }); break;
    }
    return false;
}

std::optional<users::user> faulty_store::get(std::string_view id) {
    auto found = real_->get(id);
    if (commit() && found) found->name += '!';
    return found;
}

void faulty_store::put(const users::user& u) {
    commit();
    real_->put(u);
}

bool faulty_store::remove(std::string_view id) { return real_->remove(id); }

}  // namespace soak
