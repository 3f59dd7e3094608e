#include "tls/handshake_turn.hpp"

#include <new>

#include <weft/semaphore.hpp>

#include "base/cpus.hpp"
#include "base/fork.hpp"
#include "base/never_destroyed.hpp"
#include "io/operation.hpp"

namespace weft::detail {
namespace {

/// Two for each worker that the machine can have at once: one computes, and one is next.
class all_turns : public counting_semaphore<> {
public:
    all_turns() : counting_semaphore(static_cast<std::ptrdiff_t>(2 * usable_cpus())) {}
};

all_turns& turns() {
    static never_destroyed<all_turns> all;
    // A child of a fork has none of the fibers that have turns.
    static const bool follows =
        (follow_forks({.before = [] {}, .in_parent = [] {}, .in_child = [] { ::new (&*all) all_turns; }}), true);
    static_cast<void>(follows);
    return *all;
}

}  // namespace

handshake_turn::handshake_turn() {
    turns().acquire();
    let_others_run();  // it goes behind what is ready now
}

handshake_turn::~handshake_turn() { turns().release(); }

}  // namespace weft::detail
