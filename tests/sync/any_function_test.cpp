// any_function_test.cpp - whatever function a fiber is in, it may wait: nothing is marked, rewritten or compiled specially.
#include <weft/channel.hpp>
#include <weft/runtime.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <ostream>
#include <streambuf>
#include <vector>

#include "support/no_leaks.hpp"

namespace weft::test {
namespace {

/// Waits for another fiber, which answers when it has heard.
class far_away {
public:
    void visit() {
        there_.send(1);
        back_.receive();
        ++visits_;
    }
    void answer() {
        while (there_.receive()) back_.send(1);
    }
    void close() { there_.close(); }
    int visits() const { return visits_; }

private:
    channel<int> there_, back_;
    int visits_ = 0;
};

class any_function : public no_leaks {
protected:
    far_away other;

    template <class F>
    void beside_another(F f) {
        watched_runtime rt(2);
        rt.run([&] {
            auto answers = spawn([&] { other.answer(); });
            f();
            other.close();
            answers.join();
        });
        EXPECT_GT(other.visits(), 0);
    }
};

far_away* of_qsort = nullptr;
int compare(const void* a, const void* b) {
    of_qsort->visit();
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

TEST_F(any_function, seed_Q12_a_comparator_of_libc_waits) {
    beside_another([&] {
        int numbers[] = {3, 1, 2, 5, 4};
        of_qsort = &other;
        std::qsort(numbers, std::size(numbers), sizeof(int), compare);
        EXPECT_TRUE(std::ranges::is_sorted(numbers));
    });
}

TEST_F(any_function, seed_Q12_callbacks_of_the_standard_library_wait) {
    beside_another([&] {
        std::vector<int> numbers{3, 1, 2, 5, 4};
        std::ranges::sort(numbers, [&](int a, int b) {
            other.visit();
            return a < b;
        });
        EXPECT_TRUE(std::ranges::is_sorted(numbers));
    });
}

TEST_F(any_function, seed_Q12_a_virtual_function_below_a_library_waits) {
    class slow_buffer final : public std::streambuf {
    public:
        explicit slow_buffer(far_away& f) : far_(f) {}

    private:
        int_type overflow(int_type c) override {
            far_.visit();
            return c;
        }
        far_away& far_;
    };
    beside_another([&] {
        slow_buffer buffer(other);
        std::ostream out(&buffer);
        out << "written by a library " << 1.5 << '\n';
        EXPECT_TRUE(out.good());
    });
}

TEST_F(any_function, seed_Q12_constructors_conversions_and_recursion_wait) {
    struct waits_to_be_made {
        explicit waits_to_be_made(far_away& f) { f.visit(); }
    };
    beside_another([&] {
        const std::function<int(int)> depth = [&](int n) -> int {
            const waits_to_be_made each(other);
            return n == 0 ? 0 : 1 + depth(n - 1);
        };
        EXPECT_EQ(depth(20), 20);
    });
}

}  // namespace
}  // namespace weft::test
