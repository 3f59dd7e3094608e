// lockcheck.cpp - an outside user of weft::lockcheck, which is linked beside weft: a lock that is released before the fiber parks is nobody's business.
#include <chrono>
#include <mutex>

#include <weft/fiber.hpp>
#include <weft/runtime.hpp>

int main() {
    std::mutex m;
    return weft::run([&] {
        { const std::lock_guard held(m); }
        weft::this_fiber::sleep_for(std::chrono::milliseconds(1));
        return 0;
    });
}
