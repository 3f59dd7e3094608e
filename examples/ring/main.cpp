// main.cpp - ring PEOPLE NUTRIENTS: feeds them by coroutines called from a loop and by coroutines in a ring. Prints the microseconds
// of both, and fails if anybody ends with other counters in the ring.
#include "../feed/program.hpp"
#include "../feed/ring_feeding.hpp"

int main(int argc, char** argv) {
    return report_failures("ring", [&] {
        arguments const a = parse(argc, argv);
        stopwatch watch;
        auto const loop = timed(a, watch, feed_with_fibers);
        auto const ring = timed(a, watch, feed_in_ring);
        std::printf("%lld, %lld\n", loop, ring);
    });
}
