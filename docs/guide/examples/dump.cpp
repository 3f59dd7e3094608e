// dump.cpp - a program hangs. Who waits for whom?
#include <weft/weft.hpp>

#include <chrono>
#include <iostream>
#include <string>

// Each takes one fork, waits until both have one, and asks for the other.
void dine(weft::mutex& first, weft::mutex& second, weft::barrier<>& both) {
    const std::lock_guard one(first);
    both.arrive_and_wait();
    if (second.try_lock_for(std::chrono::seconds(2))) second.unlock();
}

std::string name_of(const weft::process_snapshot& all, weft::fiber_id id) {
    for (const auto& runtime : all.runtimes)
        for (const auto& fiber : runtime.fibers)
            if (fiber.id == id) return fiber.name;
    return "?";
}

int main() {
    weft::runtime rt({.workers = 2});
    weft::mutex left, right;
    weft::barrier<> both(2);
    auto plato = rt.spawn({.name = "Plato"}, [&] { dine(left, right, both); });
    auto kant = rt.spawn({.name = "Kant"}, [&] { dine(right, left, both); });

    auto all = weft::take_snapshot();
    while (all.cycles.empty()) all = weft::take_snapshot();
    for (const auto& fiber : all.runtimes.front().fibers)
        std::cout << fiber.name << " is " << fiber.state << " for " << fiber.waits_for << " of " << name_of(all, fiber.owners.front())
                  << ", " << (fiber.stack.empty() ? "somewhere" : "and its stack is known") << '\n';
    std::cout << "wait for one another: " << all.cycles.front().size() << '\n';

    plato.join();
    kant.join();
    weft::dump(std::cout);  // the same for people; nobody is left
}
