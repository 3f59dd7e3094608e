// main.cpp - a thousand coroutines, each with a local that survives a yield; the yield says whether it may be resumed.
#include <cstdio>
#include <vector>

#include <weft/coroutine.hpp>

namespace {

enum class after_yield { may_resume, finished };
using worker = weft::coroutine<after_yield()>;

constexpr int how_many = 1000;

worker doubles_its_local(int& result) {
    return worker([&result](auto& yield) {
        int local = 5;
        yield(after_yield::may_resume);
        local *= 2;
        result = local;
        return after_yield::finished;
    });
}

// Calls each in turn until all have finished. \returns how many calls that took.
int run(std::vector<worker>& all) {
    int calls = 0;
    for (std::size_t finished = 0; finished < all.size();)
        for (auto& one : all) {
            if (one.state() == weft::coroutine_state::done) continue;
            ++calls;
            if (one() == after_yield::finished) ++finished;
        }
    return calls;
}

}  // namespace

int main() {
    std::vector<int> results(how_many);
    std::vector<worker> all;
    all.reserve(how_many);
    for (int& result : results) all.push_back(doubles_its_local(result));
    int const calls = run(all);
    int right = 0;
    for (int const result : results) right += result == 10 ? 1 : 0;
    std::printf("%d coroutines, %d calls, %d locals doubled from 5 to 10\n", how_many, calls, right);
    return right == how_many && calls == 2 * how_many ? 0 : 1;
}
