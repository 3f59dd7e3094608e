// load.hpp - clients of the subject that ask without a pause, and what they have seen.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <system_error>

#include "prefork/support/master_process.hpp"

namespace weft::test {

/// What clients that ask without a pause have seen.
struct load {
    std::atomic<int> answers{0}, refused{0}, wrong{0}, cut_off{0};
    std::atomic<bool> over{false};
    std::mutex lock;
    std::set<unsigned> generations;

    /// Asks on kept connections; on a new one when the server has said that an answer was the last.
    void run(const net::endpoint& at, int client) {
        std::optional<line_client> to;
        for (int i = 0; !over; ++i) {
            try {
                if (!to) to.emplace(at);
            } catch (const std::system_error&) {
                ++refused;
                return;
            }
            const auto word = std::to_string(client) + '/' + std::to_string(i);
            const auto got = to->ask(word);
            if (!got) {
                ++cut_off;
                to.reset();
                continue;
            }
            ++answers;
            if (got->word != word) ++wrong;
            {
                const std::lock_guard guard(lock);
                generations.insert(got->generation);
            }
            if (got->last) to.reset();
        }
    }
};

}  // namespace weft::test
