// held.cpp - one fiber that does what its argument says with locks of the system's threads library, for check_lockcheck.py.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include <weft/channel.hpp>
#include <weft/mutex.hpp>
#include <weft/runtime.hpp>

using namespace std::chrono_literals;

namespace {

std::mutex plain;
std::recursive_mutex again;
std::timed_mutex timed;
std::shared_mutex shared;
weft::mutex ours;

void park() { weft::this_fiber::sleep_for(1ms); }

// ---- to be reported

[[gnu::noinline]] void mutex_across_a_park() {
    const std::lock_guard hold(plain);
    park();
}
void recursive_across_a_park() {
    const std::lock_guard hold(again);
    { const std::lock_guard inner(again); }
    park();
}
void timed_across_a_park() {
    if (timed.try_lock_for(1s)) park();
    timed.unlock();
}
void tried_across_a_park() {
    if (plain.try_lock()) park();
    plain.unlock();
}
void shared_across_a_park() {
    const std::shared_lock hold(shared);
    park();
}
void exclusive_across_a_park() {
    const std::unique_lock hold(shared);
    park();
}
void across_a_channel() {
    weft::channel<int> c;
    auto other = weft::spawn([&] {
        for (bool waits = false; !waits; weft::this_fiber::yield())
            weft::runtime::current()->for_each_fiber(
                [&](const weft::fiber_info& f) { waits = waits || f.waits_for == "channel receive"; });
        c.send(1);
    });
    {
        const std::lock_guard hold(plain);
        c.receive();
    }
    other.join();
}
void across_a_yield() {  // seen under WEFT_MIGRATION=torture
    const std::lock_guard hold(plain);
    weft::this_fiber::yield();
}
void two_across_a_park() {
    const std::scoped_lock hold(plain, timed);
    park();
}
// Its child, run inside it by the join, is the one that parks. A few times: others may have their turn at a join, which then waits.
void across_a_join() {
    for (int i = 0; i < 5; ++i) {
        const std::lock_guard hold(plain);
        auto child = weft::spawn({.name = "innocent"}, park);
        child.join();
    }
}

// ---- to be left alone

void released_before() {
    for (int i = 0; i < 100; ++i) {
        {
            const std::scoped_lock hold(plain, again, timed);
            const std::shared_lock reading(shared);
        }
        park();
    }
}
void of_weft() {
    const std::lock_guard hold(ours);
    park();
}
void not_got() {
    std::thread([] { plain.lock(); }).join();
    if (!plain.try_lock() && !timed.try_lock_for(0s)) std::abort();
    timed.unlock();
    park();
}
void in_a_condition_variable() {
    std::condition_variable told;
    bool ready = false;
    std::thread teller([&] {
        const std::lock_guard hold(plain);
        ready = true;
        told.notify_one();
    });
    {
        std::unique_lock hold(plain);
        told.wait(hold, [&] { return ready; });
    }
    park();
    teller.join();
}
// It loses its worker with the lock held, which is no park.
void beside_a_hand_off() {
    const auto taken = [] { return weft::runtime::current()->stats().hand_offs; };
    const auto before = taken();
    auto others = weft::spawn([] {
        for (int i = 0; i < 100; ++i) park();
    });
    {
        const std::lock_guard hold(plain);
        while (taken() == before) {}
    }
    others.join();
}
void by_other_threads() {
    std::atomic<bool> over{false};
    std::thread holder([&] {
        const std::lock_guard hold(plain);
        while (!over) std::this_thread::yield();
    });
    park();
    over = true;
    holder.join();
}

void of_a_fiber_that_is_a_thread() { weft::this_fiber::as_thread(mutex_across_a_park); }

const std::map<std::string, std::function<void()>> deeds{
    {"mutex_across_a_park", mutex_across_a_park},
    {"recursive_across_a_park", recursive_across_a_park},
    {"timed_across_a_park", timed_across_a_park},
    {"tried_across_a_park", tried_across_a_park},
    {"shared_across_a_park", shared_across_a_park},
    {"exclusive_across_a_park", exclusive_across_a_park},
    {"across_a_channel", across_a_channel},
    {"across_a_join", across_a_join},
    {"across_a_yield", across_a_yield},
    {"two_across_a_park", two_across_a_park},
    {"released_before", released_before},
    {"of_weft", of_weft},
    {"not_got", not_got},
    {"in_a_condition_variable", in_a_condition_variable},
    {"beside_a_hand_off", beside_a_hand_off},
    {"by_other_threads", by_other_threads},
    {"of_a_fiber_that_is_a_thread", of_a_fiber_that_is_a_thread},
};

// Before a runtime of this program's starts, which would be asked first.
int lock_after_a_closed_library(const char* path) {
    void* const library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return std::fprintf(stderr, "%s\n", ::dlerror()), 3;
    const auto work = reinterpret_cast<int (*)()>(::dlsym(library, "weft_plugin_work"));
    if (!work || work() != 5050 || ::dlclose(library) != 0) return 4;
    if (::dlopen(path, RTLD_NOW | RTLD_NOLOAD)) return 5;  // it would still be there to be asked
    const std::lock_guard hold(plain);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 2 && std::string(argv[1]) == "after_a_closed_library") return lock_after_a_closed_library(argv[2]);
    const auto found = deeds.find(argc > 1 ? argv[1] : "");
    if (found == deeds.end()) return 2;
    const unsigned workers = found->first == "across_a_join" ? 1 : 2;  // nobody else starts the child
    weft::runtime rt({.workers = workers, .time_slice = 1ms});
    rt.spawn({.name = "culprit"}, [&] {
          weft::spawn({.name = "bystander"}, [] { park(); }).join();  // who has nothing to do with it
          found->second();
          for (int i = 0; i < 20; ++i) park();  // without a lock again
      }).join();
    return 0;
}
