// bank.hpp - actors and messages of the tests.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include <weft/cluster.hpp>
#include <weft/cluster/json.hpp>
#include <weft/cluster/simulated_transport.hpp>
#include <weft/explore.hpp>
#include <weft/weft.hpp>

namespace bank {

struct deposit {
    int cents = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(deposit, cents)
};
struct balance {
    using reply = int;
    friend void to_json(nlohmann::json& j, const balance&) { j = nlohmann::json::object(); }
    friend void from_json(const nlohmann::json&, balance&) {}
};
struct fail {
    std::string text;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(fail, text)
};
struct wait_for {
    int ms = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(wait_for, ms)
};
struct statement {
    using reply = std::string;
    std::size_t bytes = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(statement, bytes)
};
/// Of no actor's list.
struct secret {
    int n = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(secret, n)
};

struct account {
    using remote = weft::cluster::messages<deposit, balance, fail, wait_for, statement>;

    explicit account(int at_first = 0) : cents(at_first) {}
    void handle(deposit d) { cents += d.cents; }
    int handle(balance) const { return cents; }
    void handle(fail f) const { throw std::runtime_error(f.text); }
    void handle(wait_for w) const { weft::this_fiber::sleep_for(std::chrono::milliseconds(w.ms)); }
    std::string handle(statement s) const { return std::string(s.bytes, 'x'); }
    void handle(secret) {}

    int cents;
};

/// Takes a deposit only.
struct box {
    using remote = weft::cluster::messages<deposit>;
    void handle(deposit) {}
};

}  // namespace bank

WEFT_WIRE(bank::deposit, "bank.deposit", 1);
WEFT_WIRE(bank::balance, "bank.balance", 1);
WEFT_WIRE(bank::fail, "bank.fail", 1);
WEFT_WIRE(bank::wait_for, "bank.wait_for", 1);
WEFT_WIRE(bank::statement, "bank.statement", 1);
WEFT_WIRE(bank::secret, "bank.secret", 1);
