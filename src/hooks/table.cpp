#include "hooks/table.hpp"

#include "hooks/fiber_call.hpp"
#include "hooks/objects.hpp"

namespace weft::hooks {
namespace {

constexpr detail::hook_library library{for_each_count, leave_alone, adopt};

}  // namespace
}  // namespace weft::hooks

extern "C" [[gnu::visibility("default")]] const weft::detail::hook_library* weft_take_hooks(
    unsigned version, const weft::detail::hook_table* t) noexcept {
    using namespace weft;
    if (version != detail::hook_version) return nullptr;
    hooks::table.store(t, detail::release);  // pairs with table_for()
    return &hooks::library;
}
