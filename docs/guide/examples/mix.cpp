// mix.cpp - receiving ends that are made of other ones.
#include <weft/weft.hpp>

#include <iostream>
#include <optional>
#include <string>

int main() {
    weft::run([] {
        const weft::channel<int> counter(4);
        const weft::channel<std::string> phone(4);
        counter.send(2);
        phone.send("one tea");
        counter.close();
        phone.close();

        const auto orders =
            weft::mix(weft::transform(counter, [](int cups) { return std::to_string(cups) + " coffees"; }), phone);
        std::size_t letters = 0;
        for (const std::string& o : orders) letters += o.size();  // until both are closed and drained
        std::cout << letters << " letters\n";
        weft::select(
            weft::on_receive(orders, [](const std::optional<std::string>& o) { std::cout << (o ? *o : "the end") << '\n'; }));
    });
}
