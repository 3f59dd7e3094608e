// two_threads.hpp - one thing after the other on two OS threads that both live, so that nothing of the first is reused.
#pragma once

#include <latch>
#include <thread>

namespace weft::detail {

template <class First, class Second>
void on_two_threads(First first, Second second) {
    std::latch first_done(1);
    std::latch second_done(1);
    std::thread a([&] {
        first();
        first_done.count_down();
        second_done.wait();
    });
    std::thread b([&] {
        first_done.wait();
        second();
        second_done.count_down();
    });
    a.join();
    b.join();
}

}  // namespace weft::detail
