// select.cpp - select in C: an array of cases becomes the entries of the compiled core.
#include <weft/detail/io_readiness.hpp>
#include <weft/detail/select_core.hpp>

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "capi/handles.hpp"
#include "capi/status.hpp"

namespace weft::capi {
namespace {

constexpr std::size_t most_cases = 65536;

/// What one case needs while the select waits.
struct case_state {
    std::optional<detail::io_readiness> watch;
    channel_op result = channel_op::done;
};

/// The memory of a select: in the caller's frame if there are few cases.
class select_memory {
public:
    explicit select_memory(std::size_t n) {
        if (n <= few) {
            entries = std::span(few_entries_).first(n);
            states = std::span(few_states_).first(n);
            order = few_order_.data();
            registrations = few_registrations_.data();
            return;
        }
        many_entries_.resize(n);
        many_states_ = std::vector<case_state>(n);
        many_order_ = std::make_unique_for_overwrite<detail::select_order[]>(n);
        many_registrations_ = std::make_unique_for_overwrite<detail::select_registration[]>(n);
        entries = many_entries_;
        states = many_states_;
        order = many_order_.get();
        registrations = many_registrations_.get();
    }
    select_memory(const select_memory&) = delete;
    select_memory& operator=(const select_memory&) = delete;

    std::span<detail::select_entry> entries;
    std::span<case_state> states;
    detail::select_order* order;
    detail::select_registration* registrations;

private:
    static constexpr std::size_t few = 8;  // chosen: 2 KiB of stack
    std::array<detail::select_entry, few> few_entries_;
    std::array<case_state, few> few_states_;
    std::array<detail::select_order, few> few_order_;
    std::array<detail::select_registration, few> few_registrations_;
    std::vector<detail::select_entry> many_entries_;
    std::vector<case_state> many_states_;
    std::unique_ptr<detail::select_order[]> many_order_;
    std::unique_ptr<detail::select_registration[]> many_registrations_;
};

/// \returns null, or what is wrong with the case.
const char* describe(const weft_case& c, detail::select_entry& into, case_state& state) noexcept {
    using detail::select_kind;
    const bool has_object = c.kind != WEFT_CASE_NONE && c.kind != WEFT_CASE_TIMEOUT && c.kind != WEFT_CASE_OTHERWISE;
    if (has_object && !c.object) return "the object of a case is null";
    const auto watch = [&](detail::io_readiness r) {
        into = {.kind = select_kind::watch, .watch = &state.watch.emplace(r)};
        return nullptr;
    };
    switch (c.kind) {
        case WEFT_CASE_NONE: into = {}; return nullptr;
        case WEFT_CASE_RECEIVE:
        case WEFT_CASE_SEND:
            if (!c.element) return "the element of a case is null";
            into = {.kind = c.kind == WEFT_CASE_SEND ? select_kind::send : select_kind::receive,
                    .channel = &core_of(static_cast<weft_channel*>(c.object)),
                    .element = c.element,
                    .result = &state.result};
            return nullptr;
        case WEFT_CASE_TIMEOUT: into = {.kind = select_kind::timeout, .until = deadline_of(c.timeout_ns)}; return nullptr;
        case WEFT_CASE_OTHERWISE: into = {.kind = select_kind::otherwise}; return nullptr;
        case WEFT_CASE_JOIN:
            into = {.kind = select_kind::join, .fiber = block_of(static_cast<weft_fiber*>(c.object))};
            return nullptr;
        case WEFT_CASE_READABLE: return watch(watch_readable(static_cast<weft_stream*>(c.object)->stream));
        case WEFT_CASE_ACCEPTABLE: return watch(watch_readable(static_cast<weft_listener*>(c.object)->listener));
        default: return "the kind of a case is not one of WEFT_CASE_...";
    }
}

}  // namespace
}  // namespace weft::capi

using namespace weft::capi;

weft_status weft_select(weft_case* cases, size_t n, size_t* chosen) {
    if (!cases) return refuse("weft_select", "the cases are null");
    if (!chosen) return refuse("weft_select", "chosen is null");
    if (n == 0 || n > most_cases) return refuse("weft_select", "the number of cases is not in 1 to 65536");
    return guarded([&]() -> weft_status {
        select_memory m(n);
        for (size_t i = 0; i < n; ++i)
            if (const char* const wrong = describe(cases[i], m.entries[i], m.states[i])) return refuse("weft_select", wrong);
        const std::size_t index = weft::detail::select_core(m.entries, m.order, m.registrations);
        cases[index].status = m.states[index].result == weft::channel_op::closed ? WEFT_CLOSED : WEFT_OK;
        *chosen = index;
        return WEFT_OK;
    });
}
