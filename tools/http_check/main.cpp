// main.cpp - asks the users service for random users and checks that every reply is the one that was asked for.
//
// Prints one line; exit code 0 only if there was no error, no mixed-up reply, and every idle connection stayed; with --seconds, if no
// answer was wrong and no connection refused.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>
#include <random>
#include <system_error>
#include <vector>

#include <weft/event.hpp>
#include <weft/fiber.hpp>
#include <weft/io/limits.hpp>
#include <weft/io/signal.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>

#include "client.hpp"
#include "options.hpp"

namespace http_check {
namespace {

/// Of one width, so that no id is a part of another.
std::string id_of(unsigned key) {
    auto digits = std::to_string(key);
    return "check-" + std::string(10 - digits.size(), '0') + digits;
}

std::string name_of(unsigned key) { return "name of " + id_of(key); }

std::string get(unsigned key) { return "GET /users/" + id_of(key) + " HTTP/1.1\r\nHost: check\r\n\r\n"; }

bool is_about(const reply& r, unsigned key) {
    return r.body.find('"' + id_of(key) + '"') != r.body.npos && r.body.find('"' + name_of(key) + '"') != r.body.npos;
}

struct tally {
    std::uint64_t asked = 0;
    std::uint64_t errors = 0;
    std::uint64_t mixed_up = 0;
    std::string first_error;

    void operator+=(const tally& other) {
        asked += other.asked;
        errors += other.errors;
        mixed_up += other.mixed_up;
        if (first_error.empty()) first_error = other.first_error;
    }
    void fail(std::string why) {
        ++errors;
        if (first_error.empty()) first_error = std::move(why);
    }
};

/// Creates every user; a pipelined batch at a time.
void seed_users(const options& o) {
    client c(o.server);
    constexpr unsigned batch = 50;
    for (unsigned key = 0; key < o.keys; key += batch) {
        std::string requests;
        const unsigned end = std::min(key + batch, o.keys);
        for (unsigned k = key; k < end; ++k) {
            const auto user = R"({"id":")" + id_of(k) + R"(","name":")" + name_of(k) + "\"}";
            requests += "POST /users HTTP/1.1\r\nHost: check\r\nContent-Type: application/json\r\nContent-Length: " +
                        std::to_string(user.size()) + "\r\n\r\n" + user;
        }
        c.send(requests);
        for (unsigned k = key; k < end; ++k)
            if (const auto r = c.receive(); r.status / 100 != 2)
                throw std::runtime_error("POST /users answered " + std::to_string(r.status) + ": " + std::string(r.body));
    }
}

tally ask(const options& o, unsigned who, std::uint64_t requests) {
    tally t;
    std::minstd_rand random(static_cast<std::uint_fast32_t>(o.seed * 7919 + who + 1));
    std::uniform_int_distribution<unsigned> any_key(0, o.keys - 1);
    std::vector<unsigned> keys;
    std::string batch;
    try {
        client c(o.server);
        while (t.asked < requests) {
            keys.clear();
            batch.clear();
            for (auto n = std::min<std::uint64_t>(o.depth, requests - t.asked); n > 0; --n)
                batch += get(keys.emplace_back(any_key(random)));
            c.send(batch);
            for (unsigned key : keys) {
                const auto r = c.receive();
                ++t.asked;
                if (r.status != 200)
                    t.fail("GET answered " + std::to_string(r.status) + ": " + std::string(r.body));
                else if (!is_about(r, key))
                    ++t.mixed_up;
            }
        }
    } catch (const std::exception& e) {
        t.fail(e.what());
    }
    return t;
}

tally ask_all(const options& o) {
    return weft::with_scope([&](weft::scope& s) {
        std::vector<weft::child<tally>> askers;
        for (unsigned who = 0; who < o.connections; ++who) {
            const auto share = o.requests / o.connections + (who < o.requests % o.connections);
            askers.push_back(s.spawn([&o, who, share] { return ask(o, who, share); }));
        }
        tally all;
        for (auto& a : askers) all += a.join();
        return all;
    });
}

struct followed {
    std::uint64_t answers = 0, wrong = 0, refused = 0, cut_off = 0, closed = 0;

    void operator+=(const followed& other) {
        answers += other.answers;
        wrong += other.wrong;
        refused += other.refused;
        cut_off += other.cut_off;
        closed += other.closed;
    }
};

/// One request at a time, on a new connection where the last one has ended.
followed follow(const options& o, unsigned who, const weft::event& over) {
    followed f;
    std::minstd_rand random(static_cast<std::uint_fast32_t>(o.seed * 7919 + who + 1));
    std::uniform_int_distribution<unsigned> any_key(0, o.keys - 1);
    std::optional<client> c;
    while (!over.is_set()) {
        try {
            if (!c) c.emplace(o.server);
        } catch (const std::system_error&) {
            ++f.refused;
            weft::this_fiber::sleep_for(std::chrono::milliseconds(1));
            continue;
        }
        try {
            const auto key = any_key(random);
            c->send(get(key));
            const auto r = c->receive();
            ++f.answers;
            if (r.status != 200 || !is_about(r, key)) ++f.wrong;
            if (!r.is_last) continue;
            ++f.closed;
        } catch (const std::exception&) {
            ++f.cut_off;
        }
        c.reset();
    }
    return f;
}

int follow_all(const options& o) {
    seed_users(o);
    std::printf("http_check: begins\n");
    std::fflush(stdout);
    weft::event over;
    weft::io::signals requests({SIGTERM, SIGINT});
    const auto limit = weft::spawn([&] {
        weft::this_fiber::sleep_for(std::chrono::duration<double>(o.seconds));
        over.set();
    });
    const auto asked = weft::spawn([&] {
        requests.wait();
        over.set();
    });
    const auto f = weft::with_scope([&](weft::scope& s) {
        std::vector<weft::child<followed>> all;
        for (unsigned who = 0; who < o.connections; ++who) all.push_back(s.spawn([&, who] { return follow(o, who, over); }));
        followed sum;
        for (auto& a : all) sum += a.join();
        return sum;
    });
    const auto n = [](std::uint64_t count) { return static_cast<unsigned long long>(count); };
    std::printf(
        "http_check: %llu answers, %llu wrong, %llu connections refused, %llu requests cut off, %llu connections closed with a "
        "word\n",
        n(f.answers), n(f.wrong), n(f.refused), n(f.cut_off), n(f.closed));
    return f.wrong == 0 && f.refused == 0 ? 0 : 1;
}

/// \returns  how many of the connections still answer.
unsigned still_open(std::vector<client>& idle) {
    unsigned open = 0;
    for (auto& c : idle) {
        try {
            c.send("GET /healthz HTTP/1.1\r\nHost: check\r\n\r\n");
            open += c.receive().status == 200;
        } catch (const std::exception&) {  // it did not stay: not counted
        }
    }
    return open;
}

int check(const options& o) {
    seed_users(o);
    std::vector<client> idle;
    for (unsigned n = 0; n < o.idle; ++n) idle.emplace_back(o.server);
    const auto begin = std::chrono::steady_clock::now();
    const auto t = ask_all(o);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    const auto open = still_open(idle);
    std::printf("http_check: %llu requests in %.2f s, %.0f/s, %llu errors, %llu mixed up, %u of %u idle connections open\n",
                static_cast<unsigned long long>(t.asked), seconds.count(), static_cast<double>(t.asked) / seconds.count(),
                static_cast<unsigned long long>(t.errors), static_cast<unsigned long long>(t.mixed_up), open, o.idle);
    if (!t.first_error.empty()) std::fprintf(stderr, "http_check: first error: %s\n", t.first_error.c_str());
    return t.errors == 0 && t.mixed_up == 0 && open == o.idle && t.asked == o.requests ? 0 : 1;
}

}  // namespace
}  // namespace http_check

int main(int argc, char** argv) {
    try {
        int exit_code = 0;
        const auto options = http_check::parse(argc, argv, exit_code);
        if (!options) return exit_code;
        weft::io::raise_descriptor_limit();
        return weft::run([&] { return options->seconds > 0 ? http_check::follow_all(*options) : http_check::check(*options); },
                         {.workers = options->workers});
    } catch (const std::exception& e) {
        std::fprintf(stderr, "http_check: %s\n", e.what());
        return 1;
    }
}
