// trace.hpp - what one run did, kept small while it runs and put into words only when it fails.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/clocks.hpp"
#include "model/memory.hpp"

namespace model {

struct event {
    thread_id who = 0;
    const char* what = "";
    unsigned location = none;
    std::memory_order order = std::memory_order_relaxed;
    outcome result;
    bool ordered = false;  ///< `order` means something

    static constexpr unsigned none = ~0U;
};

class trace {
public:
    void restart() { events_.clear(); names_.clear(); }
    void add(const event& e) { events_.push_back(e); }
    void name(unsigned location, std::string_view n) { names_[location] = n; }

    /// One line per event: thread, operation, location, values, and how old what it read was.
    [[nodiscard]] std::string text() const;

private:
    [[nodiscard]] std::string line(const event& e) const;

    std::vector<event> events_;
    std::unordered_map<unsigned, std::string> names_;
};

}  // namespace model
