// core.cpp - an outside user of weft::weft: fibers, a channel and a result.
#include <weft/weft.hpp>

int main() {
    return weft::run([] {
        weft::channel<int> numbers(2);
        weft::fiber<> sender = weft::spawn([numbers]() mutable {
            for (int n = 1; n <= 4; ++n) numbers.send(n);
            numbers.close();
        });
        int sum = 0;
        for (int n : numbers) sum += n;
        sender.join();
        return sum == 10 ? 0 : 1;
    });
}
