// supervisor_core.hpp - the compiled half of supervisors: functions on an opaque core.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>

#include <weft/detail/actor_core.hpp>
#include <weft/detail/export.hpp>

namespace weft {

struct child_attributes;
struct supervisor_options;

namespace detail {

class supervisor_core;
class linkable;

WEFT_EXPORT std::shared_ptr<supervisor_core> make_supervisor(const supervisor_options&);
/// Makes a supervisor as the child of another one.
WEFT_EXPORT std::shared_ptr<supervisor_core> make_supervisor(supervisor_core& parent, const child_attributes&,
                                                             const supervisor_options&);
WEFT_EXPORT void start_supervisor(supervisor_core&, std::string_view what);
WEFT_EXPORT void start_supervisor(supervisor_core&, const runtime&);

/// Adds a child and starts it, unless the supervisor itself waits to be restarted.
/// \throws actor_gone
WEFT_EXPORT void add_child(supervisor_core&, const child_attributes&, actor_core&);
WEFT_EXPORT bool stop_child(supervisor_core&, const actor_core&) noexcept;
WEFT_EXPORT bool stop_child(supervisor_core&, const supervisor_core& of_its_own) noexcept;
WEFT_EXPORT bool supervisor_has_failed(const supervisor_core&) noexcept;
WEFT_EXPORT bool supervisor_has_ended(const supervisor_core&) noexcept;
WEFT_EXPORT std::string_view supervisor_name(const supervisor_core&) noexcept;
WEFT_EXPORT std::size_t supervisor_size(const supervisor_core&) noexcept;
WEFT_EXPORT std::size_t supervisor_restarts(const supervisor_core&) noexcept;
WEFT_EXPORT receiver<exit_reason> supervisor_monitor(supervisor_core&);
WEFT_EXPORT void supervisor_close(supervisor_core&) noexcept;
WEFT_EXPORT void supervisor_stop(supervisor_core&) noexcept;
WEFT_EXPORT void supervisor_kill(supervisor_core&) noexcept;
/// Stops it and waits for its end. \parks until then; never interrupted
WEFT_EXPORT void supervisor_join(supervisor_core&) noexcept;
WEFT_EXPORT [[noreturn]] void empty_supervisor_ref() noexcept;

// An actor or a supervisor as one end of a link.
WEFT_EXPORT linkable& end_of_link(actor_core&) noexcept;
WEFT_EXPORT linkable& end_of_link(supervisor_core&) noexcept;
/// \throws actor_gone
WEFT_EXPORT void link_ends(linkable&, linkable&);
WEFT_EXPORT void unlink_ends(linkable&, linkable&) noexcept;

}  // namespace detail
}  // namespace weft
