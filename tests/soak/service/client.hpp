// client.hpp - a client that knows what every answer must be; now and then it hangs up in the middle of a request or an answer.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "soak/service/findings.hpp"
#include "soak/service/gate.hpp"
#include "soak/service/http_line.hpp"
#include "soak/service/plan.hpp"
#include "soak/service/trouble.hpp"
#include "soak/service/users_model.hpp"

namespace soak {

/// One of the two services: which port, and what excuses its failures. SQLite's has no excuse.
struct service {
    std::string name;
    std::uint16_t port;
    const trouble* excuse;  ///< may be null
};

class client {
public:
    client(const plan&, const service&, std::string name, std::uint64_t seed, findings&);

    /// Asks while the gate is open.
    void run(gate&);

private:
    struct batch {
        std::vector<request> requests;
        std::string bytes;
        std::size_t answered = 0;
    };

    void work(const gate&);
    void exchange();
    batch make_batch();
    void add(batch&, const request&);
    void receive_answers(batch&, std::size_t count);
    void judge(const request&, const reply&, clock::time_point sent);
    bool is_excused(const reply&, clock::time_point sent) const;
    void hang_up(const batch&);
    void give_up(const batch&);
    void retire_uncertain();
    void check_retired();
    void complain(const std::string& what);
    unsigned below(unsigned n) { return std::uniform_int_distribution<unsigned>(0, n - 1)(random_); }

    const plan& plan_;
    const service service_;
    const std::string name_;
    std::mt19937_64 random_;
    findings& found_;
    std::vector<owned_user> users_;
    std::vector<owned_user> retired_;  // of which nobody knows which of several they are
    unsigned next_id_ = 0;
    version next_version_ = 0;
    std::optional<http_line> line_;
    clock::time_point sent_;
};

}  // namespace soak
