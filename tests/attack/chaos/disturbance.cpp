// disturbance.cpp - the storm and the observer.
#include "attack/chaos/disturbance.hpp"

#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <sstream>
#include <vector>

#include <weft/deadlock.hpp>
#include <weft/dump.hpp>

using namespace std::chrono_literals;

namespace weft::attack {
namespace {

std::atomic<long> signals_taken{0};

void take_signal(int) {
    char frame[600] = {};                  // as a handler that calls something
    asm volatile("" : : "r"(frame) : "memory");
    signals_taken.fetch_add(1, std::memory_order_relaxed);
}

std::vector<long> threads_of_this_process() {
    std::vector<long> ids;
    DIR* const folder = ::opendir("/proc/self/task");
    if (folder == nullptr) return ids;
    while (const dirent* entry = ::readdir(folder))
        if (const long id = std::atol(entry->d_name); id > 0) ids.push_back(id);
    ::closedir(folder);
    return ids;
}

void send_signals(const std::atomic<bool>& over) {
    dice d(1'000'001);
    while (!over) {
        const auto threads = threads_of_this_process();
        for (int i = 0; i < 200 && !over && !threads.empty(); ++i) {
            static_cast<void>(
                ::syscall(SYS_tgkill, ::getpid(), threads[d.below(static_cast<unsigned>(threads.size()))], SIGUSR1));
            if (i % 4 == 0) std::this_thread::sleep_for(50us);
        }
    }
}

}  // namespace

signal_storm::signal_storm() {
    struct sigaction action {};
    action.sa_handler = take_signal;       // neither SA_ONSTACK nor SA_RESTART: as careless programs do
    ::sigaction(SIGUSR1, &action, nullptr);
    sender_ = std::thread([this] { send_signals(over_); });
}

signal_storm::~signal_storm() {
    over_ = true;
    sender_.join();
}

long signal_storm::taken() const noexcept { return signals_taken; }

observer::observer(runtime& of)
    : thread_([this, &of] {
          dice d(1'000'002);
          while (!over_) {
              std::ostringstream into;
              dump(into, {.format = d.one_in(2) ? dump_format::json : dump_format::text});
              static_cast<void>(find_deadlocks());
              static_cast<void>(of.trim_stacks());
              ++dumps_;
              std::this_thread::sleep_for(d.up_to(8000));
          }
      }) {}

observer::~observer() {
    over_ = true;
    thread_.join();
}

}  // namespace weft::attack
