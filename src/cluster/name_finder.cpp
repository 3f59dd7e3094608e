#include <weft/cluster/detail/name_finder.hpp>

#include <optional>
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

remote_address name_finder::owner(time_point until) {
    {
        const std::unique_lock guard(lock_);
        if (!known_.node.empty()) return known_;
    }
    std::exception_ptr out_of_reach;
    for (auto wait = first_wait;; wait = std::min(2 * wait, longest_wait)) {
        by_->require_not_closed();
        std::optional<detail::owner> found;
        try {
            found = by_->names()->find(name_);
            out_of_reach = nullptr;
        } catch (const std::system_error&) {
            out_of_reach = std::current_exception();
        }
        if (found) {
            const remote_address now{
                .node = found->node, .incarnation = found->incarnation, .serial = found->serial, .token = found->token};
            const std::unique_lock guard(lock_);
            if (!is_owner_again(now, given_up_)) return known_ = now;
        }
        if (weft::now() + wait >= until) {
            if (out_of_reach) std::rethrow_exception(out_of_reach);
            throw timeout_error("weft: nobody had the name '" + name_ + "' in time" +
                                (found ? ", or its node was unreachable" : ""));
        }
        weft::this_fiber::sleep_for(wait);
    }
}

void name_finder::give_up(const remote_address& who) {
    const std::unique_lock guard(lock_);
    if (is_owner_again(known_, who)) known_ = {};
    given_up_ = who;
}

bool name_finder::give_up(const remote_address& who, const error& why, bool is_idempotent) {
    if (why.code() == errc::unreachable || why.code() == errc::node_gone || why.code() == errc::not_exposed ||
        why.code() == errc::not_owner) {
        give_up(who);
        return is_idempotent || !why.maybe_handled();
    }
    return false;
}

}  // namespace weft::cluster::detail
