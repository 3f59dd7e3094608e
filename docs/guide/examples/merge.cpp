// merge.cpp - Go's idiom of the nil channel: a case of a select that is switched off once its channel is drained.
#include <weft/weft.hpp>

#include <iostream>
#include <optional>

int main() {
    weft::run([] {
        const weft::channel<int> odd, even;
        weft::with_scope([&](weft::scope& s) {
            s.spawn([=] {
                for (int i = 1; i < 10; i += 2) odd.send(i);
                odd.close();
            });
            s.spawn([=] {
                for (int i = 2; i < 10; i += 2) even.send(i);
                even.close();
            });

            int sum = 0;
            bool odd_open = true, even_open = true;
            const auto add_odd = [&](std::optional<int> n) {
                sum += n.value_or(0);
                odd_open = n.has_value();  // empty: closed and drained
            };
            const auto add_even = [&](std::optional<int> n) {
                sum += n.value_or(0);
                even_open = n.has_value();
            };
            while (odd_open || even_open)
                weft::select(weft::when(odd_open, weft::on_receive(odd, add_odd)),
                             weft::when(even_open, weft::on_receive(even, add_even)));
            std::cout << sum << '\n';
        });
    });
}
