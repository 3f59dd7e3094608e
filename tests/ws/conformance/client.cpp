// client.cpp - weft's client of WebSockets, for suites of others that are servers.
//
// conformance_ws_client URL [FIRST LAST [STEP]]
// Runs the cases of Autobahn's fuzzingserver at URL (ws://127.0.0.1:9001), as the agent `weft`: echoes what each case sends.
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <system_error>

#include <weft/runtime.hpp>
#include <weft/ws.hpp>

namespace {

constexpr std::size_t most = std::size_t{64} << 20;

void echo(const std::string& url) {
    auto c = weft::ws::connect(url, {.max_message = most, .deflate = true});
    try {
        while (const auto m = c.receive()) c.send(*m);
    } catch (const std::system_error& e) {  // most cases break a rule
        if (&e.code().category() != &weft::ws::error_category()) throw;
    }
}

int run(int argc, char** argv) {
    const std::string url = argv[1];
    auto counting = weft::ws::connect(url + "/getCaseCount");
    const auto count = counting.receive();
    if (!count) throw std::runtime_error("no count of cases");
    counting.close();
    const int first = argc > 2 ? std::atoi(argv[2]) : 1, step = argc > 4 ? std::atoi(argv[4]) : 1;
    const int last = std::min(std::atoi(count->data.c_str()), argc > 3 ? std::atoi(argv[3]) : 1 << 20);
    for (int n = first; n <= last; n += step) echo(url + "/runCase?case=" + std::to_string(n) + "&agent=weft");
    echo(url + "/updateReports?agent=weft");
    std::cout << "cases: " << last << std::endl;
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    weft::runtime rt({.workers = 1});
    try {
        return rt.run([&] { return run(argc, argv); });
    } catch (const std::exception& e) {
        std::cerr << "conformance_ws_client: " << e.what() << '\n';
        return 1;
    }
}
