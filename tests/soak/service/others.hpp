// others.hpp - the clients a server would rather not have: slow ones, silent ones, floods,
// and those that ask for long computations.
#pragma once

#include <cstdint>

#include "soak/service/client.hpp"

namespace soak {

/// Sends a request byte by byte: one in time is answered, one that takes longer than the server waits is answered by 408.
void trickle(const plan&, const service&, std::uint64_t seed, gate&, findings&);
/// Asks for ever and reads nothing, until the server hangs up.
void never_read(const plan&, const service&, std::uint64_t seed, gate&, findings&);
/// Thousands of connections at once, which say nothing, half a request, or no HTTP at all; `hurts`: the server may be out of descriptors.
void flood(const plan&, const service&, std::uint64_t seed, gate&, findings&, trouble& hurts);
/// Keeps connections that say nothing until they hold no fiber, and then asks on each, again and again.
void idle(const plan&, const service&, std::uint64_t seed, gate&, findings&);
/// Has the server compute for 5 to 500 ms, and waits for it.
void ask_for_hogs(const plan&, const service&, std::uint64_t seed, gate&, findings&);

}  // namespace soak
