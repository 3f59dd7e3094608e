#include "cluster/epoch.hpp"

#include <algorithm>

namespace weft::cluster::detail {

epoch::step epoch::on_hello(epoch_halves their, std::uint64_t fresh) noexcept {
    step s;
    if (phase_ == phase::open) {
        if (their.mine == halves_.yours) {   // its hello again: it may not have had ours
            s.says_hello = their.yours == 0;
            return s;
        }
        if (their.mine < halves_.yours) return s;   // late
        s = ended("the other node has begun a new epoch");
        s.says_reset = false;   // the hello below tells it
    }
    if (phase_ == phase::opening && (their.yours == 0 || their.yours == halves_.mine)) {
        start(phase::open, {.mine = halves_.mine, .yours = their.mine});
        s.says_hello = their.yours == 0;
    } else if (phase_ == phase::idle) {
        if (their.yours == 0) {
            start(phase::open, {.mine = fresh, .yours = their.mine});
            s.says_hello = true;
        } else {
            s.says_reset = true;   // an answer to a hello of an epoch that has ended
        }
    }
    s.accepted = phase_ == phase::open;
    return s;
}

epoch::step epoch::on_frame(epoch_halves their, std::uint64_t number, bool accepts_gaps) noexcept {
    if (!is_of(their)) return of_another(their);
    if (number <= seen_) return {};   // again: nothing was lost
    if (number != seen_ + 1 && !accepts_gaps) return ended("a message from the other node was lost");
    seen_ = number;
    return {.accepted = true};
}

epoch::step epoch::on_beat(epoch_halves their, std::uint64_t sent, std::uint64_t seen) noexcept {
    if (!is_of(their)) return of_another(their);
    if (sent > seen_) return ended("a message from the other node was lost");
    if (seen > sent_) return ended("the other node has seen messages that were never sent");
    confirmed_ = std::max(confirmed_, seen);
    return {.accepted = true};
}

epoch::step epoch::on_reset(epoch_halves their) noexcept {
    if (!is_of(their)) return {};
    auto s = ended("the other node has ended the epoch");
    s.says_reset = false;
    return s;
}

}  // namespace weft::cluster::detail
