// scope_core.hpp - the compiled half of with_scope(): children, first failure, stop, final wait.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>

#include <weft/detail/new_fiber.hpp>
#include <weft/stop.hpp>

namespace weft {
struct scope_options;
}

namespace weft::detail {

class scope_place;

class WEFT_EXPORT scope_core {
public:
    /// `options` must outlive the scope.
    scope_core(scheduler& where, const scope_options& options);
    ~scope_core();
    scope_core(const scope_core&) = delete;
    scope_core& operator=(const scope_core&) = delete;

    scheduler& where() const noexcept;
    fiber_ref start(new_fiber&, task& body, scope_place&) noexcept;
    void request_stop() noexcept;
    std::stop_token stop_token() const;
    std::size_t size() const noexcept;

    /// The body has thrown the exception that is currently handled.
    void body_failed() noexcept;
    /// Waits for the children and leaves the scope. \throws the first failure, or `cancelled` (see
    /// with_scope)
    void close(bool body_has_result);

private:
    friend class scope_place;
    struct state;
    std::unique_ptr<state> state_;
    const bool is_limited_;
};

/// The place of a future child in a scope with scope_options::limit; given back unless the child
/// starts.
class WEFT_EXPORT scope_place {
public:
    /// \parks \throws cancelled
    explicit scope_place(scope_core& in) {
        if (in.is_limited_) [[unlikely]]
            take(in);
    }
    ~scope_place() {
        if (held_in_) [[unlikely]]
            give_back();
    }
    scope_place(const scope_place&) = delete;
    scope_place& operator=(const scope_place&) = delete;
    /// The child takes the place over.
    void hand_over() noexcept { held_in_ = nullptr; }

private:
    void take(scope_core&);
    void give_back() noexcept;
    scope_core::state* held_in_ = nullptr;
};

/// Runs body() and closes the scope. The caller keeps alive what body refers to until then, since
/// children may refer to it too.
template <class Body>
auto run_scope(scope_core& core, Body&& body) -> std::invoke_result_t<Body> {
    using R = std::invoke_result_t<Body>;
    if constexpr (std::is_void_v<R>) {
        try {
            body();
        } catch (...) {
            core.body_failed();
        }
        core.close(true);
    } else {
        std::optional<std::conditional_t<std::is_reference_v<R>, std::remove_reference_t<R>*, R>> result;
        try {
            if constexpr (std::is_reference_v<R>)
                result.emplace(std::addressof(body()));
            else
                result.emplace(body());
        } catch (...) {
            core.body_failed();
        }
        core.close(result.has_value());
        if constexpr (std::is_reference_v<R>)
            return static_cast<R>(**result);
        else
            return std::move(*result);
    }
}

}  // namespace weft::detail
