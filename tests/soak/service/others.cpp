// others.cpp - one function for each.
#include "soak/service/others.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <weft/deadline.hpp>
#include <weft/fiber.hpp>
#include <weft/scope.hpp>

namespace soak {

namespace {

using namespace std::chrono_literals;
using generator = std::mt19937_64;

unsigned below(generator& random, unsigned n) { return std::uniform_int_distribution<unsigned>(0, n - 1)(random); }
milliseconds up_to(generator& random, milliseconds most) {
    return milliseconds(below(random, static_cast<unsigned>(most.count()) + 1));
}

/// \returns  whether the gate has begun to close meanwhile.
bool sleep_unless_closing(const gate& g, milliseconds time) {
    for (const auto end = clock::now() + time; !g.closing() && clock::now() < end;)
        weft::this_fiber::sleep_for(std::min<clock::duration>(20ms, end - clock::now()));
    return g.closing();
}

/// What should not happen to a connection is a wrong answer, too.
template <class F>
void with_complaints(findings& f, const std::string& who, F&& work) {
    try {
        work();
    } catch (const std::runtime_error& why) {
        f.wrong.add(who + ": " + why.what());
    }
}

/// The server may end the connection of who is slow, whenever it likes.
bool send_slowly(http_line& line, const std::string& bytes, const plan& p, const gate& g) {
    for (const char& c : bytes) {
        if (sleep_unless_closing(g, p.byte_gap())) return false;
        try {
            line.send({&c, 1});
        } catch (const ended&) {
            break;  // it may have said why
        }
    }
    return true;
}

void trickle_once(const plan& p, const service& s, generator& random, const gate& g, findings& f) {
    http_line line(s.port, p.patience);
    const bool too_long = below(random, 4) == 0;
    const auto padding = too_long ? static_cast<std::size_t>(p.header_limit() / p.byte_gap()) * 3 / 2 : below(random, 20);
    const auto from = clock::now();
    if (!send_slowly(line, "GET /users/nobody HTTP/1.1\r\nHost: h\r\nX: " + std::string(padding, 'x') + "\r\n\r\n", p, g)) return;
    try {
        const auto got = line.receive();
        const bool took_long = clock::now() - from > p.header_limit() / 2;
        const bool excused = got.status == 500 && s.excuse && s.excuse->excuses(from);
        if (got.status != 404 && !(got.status == 408 && took_long) && !excused)
            f.wrong.add(s.name + ", slow: " + std::to_string(got.status) + ' ' + got.body);
        f.n.slow.fetch_add(1);
    } catch (const ended&) {
        if (clock::now() - from < p.header_limit() / 2) f.wrong.add(s.name + ", slow: no answer");
    } catch (const garbled& why) {
        f.wrong.add(s.name + ", slow: " + why.what());
    }
}

/// Sends until nothing fits any more and the server has had enough.
void send_unread(const plan& p, const service& s, const gate& g, findings& f) {
    http_line line(s.port, p.patience);
    std::string many;
    for (int i = 0; i < 100; ++i) many += "GET /users/never-read HTTP/1.1\r\nHost: h\r\n\r\n";
    std::error_code error;
    while (!g.closing()) {
        const auto until = clock::now() + 100ms;
        weft::with_deadline(until, [&] { line.stream().write_some(many, error); });
        if (error && error != std::errc::timed_out) break;
    }
    if (!g.closing()) f.n.slow.fetch_add(1);
}

void send_nonsense(weft::tcp::stream& to, unsigned kind) {
    std::error_code ignored;
    if (kind == 1) to.write_all("POST /users HTTP/1.1\r\nHost: flood\r\nContent-Length: 100\r\n\r\n{\"id\":", ignored);
    if (kind == 2) to.write_all("\x16\x03\x01 this is no HTTP\n\n", ignored);
}

void flood_once(const plan& p, const service& s, generator& random, const gate& g, findings& f) {
    std::vector<std::vector<weft::tcp::stream>> all(50);
    weft::with_scope([&](weft::scope& many) {
        for (auto& mine : all)
            many.spawn([&mine, &p, &s, &g, seed = random()] {
                generator own(seed);
                for (unsigned n = p.flood / 50; n > 0 && !g.closing(); --n) {
                    std::error_code error;
                    auto made = weft::with_timeout(
                        5s, [&] { return weft::tcp::stream::connect({.host = "127.0.0.1", .port = s.port}, error); });
                    if (error) continue;  // the system has refused it: that, too, is a flood
                    send_nonsense(made, below(own, 3));
                    mine.push_back(std::move(made));
                }
            });
    });
    sleep_unless_closing(g, up_to(random, p.flood_stay()));
    for (auto& some : all)
        for (auto& one : some) {
            if (below(random, 10) < 7) one.set_reset_on_close(true);
            f.n.flooded.fetch_add(1);
        }
}

/// \returns  false if the server has closed the line, which it may if that was silent for half of its limit.
bool ask_cold(http_line& line, const plan& p, const service& s, findings& f) {
    const bool long_idle = line.idle() > plan::idle_limit / 2;
    const auto from = clock::now();
    try {
        const bool was_cold = line.idle() > p.surely_cold();
        line.send("GET /users/nobody-idle HTTP/1.1\r\nHost: h\r\n\r\n");
        const auto got = line.receive();
        if (got.status != 404 && !(got.status == 500 && s.excuse && s.excuse->excuses(from)))
            f.wrong.add(s.name + ", idle: " + std::to_string(got.status) + ' ' + got.body);
        if (was_cold) f.n.cold.fetch_add(1);
        return true;
    } catch (const ended&) {
        if (!long_idle) throw;
        return false;
    }
}

void idle_for_a_while(const plan& p, const service& s, generator& random, const gate& g, findings& f) {
    std::vector<http_line> lines;
    for (unsigned i = 0; i < p.lines_of_idler && !g.closing(); ++i) lines.emplace_back(s.port, p.patience);
    for (const auto more = plan::idle_limit / 2 - p.surely_cold();
         !sleep_unless_closing(g, p.surely_cold() + up_to(random, more / 2));)
        if (!std::ranges::all_of(lines, [&](http_line& line) { return ask_cold(line, p, s, f); })) return;
}

void ask_for_a_hog(const plan& p, const service& s, generator& random, findings& f) {
    http_line line(s.port, p.patience);
    const auto ms = static_cast<unsigned>(5 * std::pow(100.0, std::uniform_real_distribution(0.0, 1.0)(random)));
    const std::string what = std::to_string(ms) + (below(random, 2) == 0 ? "/own" : "/foreign");
    line.send("POST /hog/" + what + " HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
    const auto got = line.receive();
    if (got.status != 200 || got.body != "computed\n")
        f.wrong.add(s.name + ", hog: " + std::to_string(got.status) + ' ' + got.body);
    f.n.hogs.fetch_add(1);
}

}  // namespace

void trickle(const plan& p, const service& s, std::uint64_t seed, gate& g, findings& f) {
    generator random(seed);
    work_while_open(g, [&] {
        while (!g.closing()) with_complaints(f, s.name + ", slow", [&] { trickle_once(p, s, random, g, f); });
    });
}

void never_read(const plan& p, const service& s, std::uint64_t seed, gate& g, findings& f) {
    generator random(seed);
    work_while_open(g, [&] {
        while (!sleep_unless_closing(g, up_to(random, 500ms)))
            with_complaints(f, s.name + ", never reads", [&] { send_unread(p, s, g, f); });
    });
}

void flood(const plan& p, const service& s, std::uint64_t seed, gate& g, findings& f, trouble& hurts) {
    generator random(seed);
    work_while_open(g, [&] {
        while (!sleep_unless_closing(g, p.flood_gap() / 4 + up_to(random, p.flood_gap() * 3 / 4))) {
            hurts.begin();
            flood_once(p, s, random, g, f);
            hurts.end();
        }
    });
}

void idle(const plan& p, const service& s, std::uint64_t seed, gate& g, findings& f) {
    generator random(seed);
    work_while_open(g, [&] {
        while (!g.closing()) with_complaints(f, s.name + ", idle", [&] { idle_for_a_while(p, s, random, g, f); });
    });
}

void ask_for_hogs(const plan& p, const service& s, std::uint64_t seed, gate& g, findings& f) {
    generator random(seed);
    work_while_open(g, [&] {
        while (!sleep_unless_closing(g, 500ms + up_to(random, 1500ms)))
            with_complaints(f, s.name + ", hog", [&] { ask_for_a_hog(p, s, random, f); });
    });
}

}  // namespace soak
