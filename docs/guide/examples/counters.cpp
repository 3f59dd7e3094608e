// counters.cpp - what the runtime counts: a wait that is none does not park.
#include <weft/weft.hpp>

#include <chrono>
#include <iostream>

int main() {
    weft::run([] {
        const auto& here = *weft::runtime::current();
        const auto before = here.stats();
        weft::channel<int> numbers(1);
        numbers.send(1);
        numbers.receive();                                           // there is one: no wait
        weft::this_fiber::sleep_for(std::chrono::milliseconds(1));  // waits
        const auto after = here.stats();
        std::cout << "parked " << after.parks - before.parks << " time\n";
    });
}
