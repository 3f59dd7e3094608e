// hooks.cpp - an outside user of weft::hooks, which is linked beside weft.
#include <unistd.h>

#include <weft/fiber.hpp>
#include <weft/hooks.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>

int main() {
    weft::runtime rt({.workers = 1, .hooks = true});
    if (!weft::hooks::active()) return 1;
    rt.run([] {
        weft::with_scope([](weft::scope& all) {
            for (int i = 0; i < 10; ++i) all.spawn({.as_thread = true}, [] { ::usleep(1000); });
        });
    });
    for (const auto& place : weft::hooks::report())
        if (place.call == "usleep" && place.parks == 10) return 0;
    return 2;
}
