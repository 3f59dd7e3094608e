// simulation.cpp - a bug that a thousand ordinary runs do not show: found, seen again, mended.
#include <weft/explore.hpp>
#include <weft/weft.hpp>

#include <iostream>
#include <stdexcept>

namespace {

using namespace std::chrono_literals;

/// Somebody looks up a price, which takes a while, and stores it for the others.
template <bool mended>
void look_up_once() {
    weft::mutex lock;
    bool known = false;
    int lookups = 0;
    const auto price = [&] {
        if (!mended) {
            {
                const std::lock_guard guard(lock);
                if (known) return;
            }
            ++lookups;  // others come in here before it is known
            const std::lock_guard guard(lock);
            known = true;
        } else {
            const std::lock_guard guard(lock);
            if (std::exchange(known, true)) return;
            ++lookups;
        }
    };
    weft::with_scope([&](weft::scope& s) {
        for (int i = 0; i < 2; ++i) s.spawn(price);
    });
    if (lookups != 1) throw std::runtime_error("looked up twice");
}

}  // namespace

int main() {
    const auto found = weft::find_failure(1000, look_up_once<false>);
    if (!found) return 1;
    std::cout << found->what << (found->replays ? ", each time with that seed\n" : "\n");

    std::cout << (weft::replay(found->seed, look_up_once<false>).trace == found->trace ? "the same choices\n" : "?\n");

    std::cout << weft::explore(1000, look_up_once<true>).seeds << " seeds without a failure\n";

    const auto hour = weft::replay(1, [] { weft::this_fiber::sleep_for(1h); });
    std::cout << (hour.time >= 1h ? "an hour has passed\n" : "?\n");
}
