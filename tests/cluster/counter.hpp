// counter.hpp - a placed actor of the tests: it adds, and tells the sum.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>

#include <weft/cluster.hpp>
#include <weft/cluster/json.hpp>
#include <weft/weft.hpp>

namespace counting {

struct tally {
    std::int64_t sum = 0;
    std::string filler;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(tally, sum, filler)
};
struct add {
    using reply = std::int64_t;  // the sum after it
    std::int64_t n = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(add, n)
};
/// No ask: it tells by the sum whether it was handled.
struct add_silently {
    std::int64_t n = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(add_silently, n)
};
struct grow {
    std::size_t bytes = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(grow, bytes)
};
struct who {
    using reply = std::uint64_t;  // the token of the life that answers
    friend void to_json(nlohmann::json& j, const who&) { j = nlohmann::json::object(); }
    friend void from_json(const nlohmann::json&, who&) {}
};
struct stumble {
    friend void to_json(nlohmann::json& j, const stumble&) { j = nlohmann::json::object(); }
    friend void from_json(const nlohmann::json&, stumble&) {}
};
/// The actor adds later, by a message to itself.
struct add_later {
    std::int64_t n = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(add_later, n)
};
struct sleep_for {
    int ms = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(sleep_for, ms)
};

struct counter {
    using state = tally;
    using remote = weft::cluster::messages<add, add_silently, add_later, grow, who, stumble, sleep_for>;

    explicit counter(weft::cluster::start<tally> from) : now_(from.state.value_or(tally())), token_(from.token) {
        most_alive = std::max(most_alive, ++alive);
    }
    counter(const counter&) = delete;
    counter& operator=(const counter&) = delete;
    ~counter() { --alive; }

    // Of all nodes of a test that runs on one thread.
    inline static int alive = 0, most_alive = 0;

    tally save() const { return now_; }

    std::int64_t handle(add a) { return now_.sum += a.n; }
    void handle(add_silently a) { now_.sum += a.n; }
    void handle(add_later a) { weft::self<counter>().send(add_silently{a.n}); }
    void handle(grow g) { now_.filler.assign(g.bytes, 'x'); }
    std::uint64_t handle(who) const { return token_; }
    void handle(stumble) { throw std::runtime_error("it has stumbled"); }
    void handle(sleep_for s) const { weft::this_fiber::sleep_for(std::chrono::milliseconds(s.ms)); }

private:
    tally now_;
    std::uint64_t token_;
};

}  // namespace counting

WEFT_WIRE(counting::tally, "counting.tally", 2, 1);
WEFT_WIRE(counting::add, "counting.add", 1);
WEFT_WIRE(counting::add_silently, "counting.add_silently", 1);
WEFT_WIRE(counting::add_later, "counting.add_later", 1);
WEFT_WIRE(counting::grow, "counting.grow", 1);
WEFT_WIRE(counting::who, "counting.who", 1);
WEFT_WIRE(counting::stumble, "counting.stumble", 1);
WEFT_WIRE(counting::sleep_for, "counting.sleep_for", 1);
