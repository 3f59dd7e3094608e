// tcp_fixture.hpp - runs a test of TCP at every place: on fibers with any number of workers and on plain threads, with a peer of
// either kind.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include <weft/blocking.hpp>
#include <weft/deadline.hpp>
#include <weft/net/tcp.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>

#include "support/no_leaks.hpp"

namespace weft::test {

using namespace std::chrono_literals;

struct place {
    unsigned workers;     // 0: the body runs on a plain thread, without a runtime
    bool peer_is_thread;
};

inline std::string name_of(const testing::TestParamInfo<place>& p) {
    return (p.param.workers ? "fiber_on_" + std::to_string(p.param.workers) : std::string("thread")) +
           (p.param.peer_is_thread ? "_with_thread" : "_with_fiber");
}

inline auto every_place() {
    return testing::Values(place{0, true}, place{1, true}, place{1, false}, place{2, true}, place{2, false}, place{4, false},
                           place{8, true}, place{8, false});
}

/// What runs beside the body of a test.
class companion {
public:
    companion(bool thread, std::function<void()> f) {
        if (thread)
            runs_ = std::thread(std::move(f));
        else
            runs_ = weft::spawn(std::move(f));
    }
    companion(companion&&) = default;
    ~companion() { join(); }

    void join() {
        if (auto* const t = std::get_if<std::thread>(&runs_)) {
            if (t->joinable()) weft::blocking([t] { t->join(); });
        } else if (auto& f = std::get<weft::fiber<void>>(runs_); f.joinable()) {
            f.join();
        }
    }

private:
    std::variant<std::thread, weft::fiber<void>> runs_;
};

class tcp_test : public testing::TestWithParam<place> {
protected:
    void SetUp() override { before_ = open_descriptors(); }
    void TearDown() override {
        EXPECT_EQ(open_descriptors(), before_) << "a descriptor has survived, or one too many was closed";
    }

    template <class F>
    void run(F&& body) {
        if (GetParam().workers == 0) return body();
        weft::run(std::forward<F>(body), {.workers = GetParam().workers});
    }
    companion beside(std::function<void()> f) const { return companion(GetParam().peer_is_thread, std::move(f)); }

    static void sleep(std::chrono::milliseconds d) { this_fiber::sleep_for(d); }

private:
    std::set<std::string> before_;
};

inline tcp::listener local_listener(const tcp::listener_options& options = {}) {
    return tcp::listener({.host = "127.0.0.1", .port = 0}, options);
}

/// Two connected streams.
struct connection {
    explicit connection(tcp::listener& l) : near(tcp::stream::connect(l.local())), far(l.accept()) {}
    tcp::stream near, far;
};

inline std::string read_all(tcp::stream& s) {
    std::string text;
    std::array<std::byte, 4096> buffer;
    while (const std::size_t n = s.read_some(buffer)) text.append(reinterpret_cast<const char*>(buffer.data()), n);
    return text;
}

/// A megabyte in which no two places look alike.
inline std::vector<std::byte> pattern(std::size_t size, unsigned seed) {
    std::vector<std::byte> bytes(size);
    std::uint32_t x = seed * 2654435761u + 1;
    for (auto& b : bytes) {
        x = x * 1664525u + 1013904223u;
        b = static_cast<std::byte>(x >> 24);
    }
    return bytes;
}

}  // namespace weft::test
