// asio.cpp - timers of Asio in straight-line code: a thousand fibers wait on one thread.
#include <weft/asio.hpp>
#include <weft/weft.hpp>

#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <iostream>

using namespace std::chrono_literals;

int main() {
    weft::asio::loop loop;  // an io_context and a thread that runs it
    std::atomic<int> done{0};
    weft::run([&] {
        weft::with_scope([&](weft::scope& all) {
            for (int i = 0; i < 1000; ++i) {
                all.spawn([&] {
                    boost::asio::steady_timer timer(loop.context(), 10ms);
                    timer.async_wait(weft::use_fiber);
                    ++done;
                });
            }
        });
    });
    std::cout << done << " timers\n";
}
