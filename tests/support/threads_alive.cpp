#include "support/threads_alive.hpp"

#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

namespace weft::test {

unsigned threads_alive() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("Threads:")) return static_cast<unsigned>(std::stoul(line.substr(8)));
    throw std::runtime_error("/proc/self/status has no line \"Threads:\"");
}

unsigned threads_alive_at_first() {
    unsigned n = 0;
    std::thread([&] { n = threads_alive() - 1; }).join();
    return n;
}

}  // namespace weft::test
