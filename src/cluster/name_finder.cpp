#include <weft/cluster/detail/name_finder.hpp>

#include <algorithm>
#include <system_error>

#include <weft/deadline.hpp>
#include <weft/fiber.hpp>
#include <weft/simulation.hpp>

#include "cluster/node_core.hpp"
#include "cluster/subject.hpp"

namespace weft::cluster::detail {
namespace {

using namespace std::chrono_literals;
constexpr std::chrono::nanoseconds first_wait = 20ms, longest_wait = 1s;  // chosen: between two looks at the store

bool is_owner_again(const remote_address& a, const remote_address& b) noexcept { return a == b && a.token == b.token; }

}  // namespace

name_finder::name_finder(std::shared_ptr<node_core> by, std::string_view name) : by_(std::move(by)), name_(name) {
    require_long_name(name);
    static_cast<void>(by_->names());
}

remote_address name_finder::owner(time_point until, int& tries) {
    for (;; ++tries) {
        by_->require_not_closed();
        {
            const std::unique_lock guard(lock_);
            if (!known_.node.empty()) return known_;
        }
        const auto wait = tries == 0 ? 0ns : std::min(first_wait * (std::int64_t{1} << std::min(tries - 1, 10)), longest_wait);
        if (weft::now() + wait >= until) throw_late();
        weft::this_fiber::sleep_for(wait);
        look(until);
    }
}

/// Asks the store.
void name_finder::look(time_point until) {
    try {
        const auto found = weft::with_deadline(until, [&] { return by_->names()->find(name_); });
        const std::unique_lock guard(lock_);
        if (found)
            known_ = {.node = found->node, .incarnation = found->incarnation, .serial = found->serial, .token = found->token};
        else
            failure_ = "nobody has it";
    } catch (const timeout_error&) {
        throw_late();
    } catch (const std::system_error& e) {
        const std::unique_lock guard(lock_);
        failure_ = std::string("the store is out of reach: ") + e.what();
    }
}

void name_finder::throw_late() {
    const std::unique_lock guard(lock_);
    throw timeout_error("weft: no owner of the name '" + name_ + "' took the message in time" +
                        (failure_.empty() ? "" : ": " + failure_));
}

void name_finder::give_up(const remote_address& to, const char* why) {
    const std::unique_lock guard(lock_);
    if (!is_owner_again(known_, to)) return;
    known_ = {};
    failure_ = why;
}

bool name_finder::give_up(const remote_address& to, const error& why, bool is_idempotent) {
    if (why.code() == errc::unreachable || why.code() == errc::node_gone || why.code() == errc::not_exposed ||
        why.code() == errc::not_owner || (why.code() == errc::not_answered && is_idempotent)) {
        give_up(to, why.what());
        return is_idempotent || !why.maybe_handled();
    }
    return false;
}

}  // namespace weft::cluster::detail
