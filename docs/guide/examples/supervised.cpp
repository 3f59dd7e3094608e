// supervised.cpp - a program of somebody else's as the child of a supervisor: its lines, its ends, its restarts.
#include <weft/weft.hpp>

#include <chrono>
#include <iostream>
#include <string>

int main() {
    using namespace std::chrono_literals;
    weft::run([] {
        weft::supervisor sup({.max_restarts = 1, .within = 60s, .on_end = [](const weft::child_report& r) {
                                  std::cout << r.child << ' ' << r.reason.what() << (r.restarts ? ", is started again\n" : "\n");
                              }});
        auto end = sup.monitor();
        weft::start_process(sup, {.name = "job", .keep = weft::child_kind::transient, .shutdown = 5s},
                            {.words = {"sh", "-c", "echo begins; exit 3"}, .on_line = [](const weft::process_line& l) {
                                 std::cout << l.child << " says: " << l.text << '\n';
                             }});
        const auto why = end.receive();
        std::cout << "the supervisor " << (why->abnormal() ? "gives up\n" : "ends\n");
    });
}
