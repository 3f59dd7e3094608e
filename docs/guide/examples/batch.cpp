// batch.cpp - a thousand inputs, one wait: whatever is there is taken at once.
#include <weft/weft.hpp>

#include <iostream>
#include <optional>
#include <vector>

int main() {
    weft::run([] {
        constexpr int meters = 1000;
        std::vector<weft::channel<int>> readings;
        std::vector<weft::select_case> cases;
        long sum = 0;
        for (int i = 0; i < meters; ++i) {
            readings.emplace_back(1);
            cases.emplace_back(weft::on_receive(readings.back(), [&](std::optional<int> v) { sum += v.value_or(0); }));
        }
        auto house = weft::spawn([&] {
            for (int i = 0; i < meters; ++i) readings[static_cast<std::size_t>(i)].send(i);
        });

        std::size_t taken = 0;
        while (taken < meters) taken += weft::select_all(cases).size();
        house.join();
        std::cout << taken << " readings, " << sum << " in all\n";
    });
}
