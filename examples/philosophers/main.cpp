// main.cpp - Dijkstra's philosophers: forks are semaphores, a butler lets all but one sit down, a barrier ends each course.
//
//   philosophers [PHILOSOPHERS [COURSES]]
//
// Prints how often each has eaten; ends with 0 if that is the number of courses.
#include <weft/weft.hpp>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <vector>

namespace {

struct table {
    explicit table(std::size_t seats)
        : butler(static_cast<std::ptrdiff_t>(seats) - 1), eaten(seats), course_ends(static_cast<std::ptrdiff_t>(seats)) {
        for (std::size_t i = 0; i < seats; ++i) forks.emplace_back(1);
    }

    void dine(std::size_t seat, int courses) {
        auto& left = forks[seat];
        auto& right = forks[(seat + 1) % forks.size()];
        for (int course = 0; course < courses; ++course) {
            butler.acquire();  // with one seat empty somebody always gets both forks
            left.acquire();
            right.acquire();
            weft::this_fiber::yield();
            ++eaten[seat];
            right.release();
            left.release();
            butler.release();
            course_ends.arrive_and_wait();
        }
    }

    std::deque<weft::binary_semaphore> forks;
    weft::counting_semaphore<> butler;
    std::vector<int> eaten;
    weft::barrier<> course_ends;
};

}  // namespace

int main(int argc, char** argv) {
    const int seats = argc > 1 ? std::atoi(argv[1]) : 5;
    const int courses = argc > 2 ? std::atoi(argv[2]) : 100;
    if (seats < 2 || courses < 0) {
        std::cerr << "philosophers: at least two of them, and no negative number of courses\n";
        return 2;
    }
    return weft::run([&] {
        table t(static_cast<std::size_t>(seats));
        weft::with_scope([&](weft::scope& s) {
            for (std::size_t seat = 0; seat < t.eaten.size(); ++seat) s.spawn([&t, seat, courses] { t.dine(seat, courses); });
        });
        for (const int n : t.eaten) std::cout << n << '\n';
        return std::ranges::all_of(t.eaten, [&](int n) { return n == courses; }) ? 0 : 1;
    });
}
