// supervisor_core.hpp - the compiled half of supervisors: functions on an opaque core.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>

#include <weft/detail/actor_core.hpp>

namespace weft {

struct child_attributes;
struct supervisor_options;

namespace detail {

class supervisor_core;

std::shared_ptr<supervisor_core> make_supervisor(const supervisor_options&);
/// Makes a supervisor as the child of another one.
std::shared_ptr<supervisor_core> make_supervisor(supervisor_core& parent, const child_attributes&, const supervisor_options&);
void start_supervisor(supervisor_core&, std::string_view what);
void start_supervisor(supervisor_core&, const runtime&);

/// Adds a child and starts it, unless the supervisor itself waits to be restarted.
/// \throws actor_gone
void add_child(supervisor_core&, const child_attributes&, actor_core&);
bool stop_child(supervisor_core&, const actor_core&) noexcept;
bool stop_child(supervisor_core&, const supervisor_core& of_its_own) noexcept;
bool supervisor_has_failed(const supervisor_core&) noexcept;
std::size_t supervisor_size(const supervisor_core&) noexcept;
std::size_t supervisor_restarts(const supervisor_core&) noexcept;
receiver<exit_reason> supervisor_monitor(supervisor_core&);
void supervisor_stop(supervisor_core&) noexcept;
/// Stops it and waits for its end. \parks until then; never interrupted
void supervisor_join(supervisor_core&) noexcept;

}  // namespace detail
}  // namespace weft
