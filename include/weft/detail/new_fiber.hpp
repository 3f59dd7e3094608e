// new_fiber.hpp - the way from a function to a running fiber: a control block, the body made in it, and the start.
#pragma once

#include <cstddef>
#include <new>
#include <string_view>
#include <utility>

#include <weft/detail/fiber_ref.hpp>

namespace weft {
class runtime;
}

namespace weft::detail {

enum class start_as : bool { joinable, detached };

/// A fiber whose body is being made; given back unless it starts.
class new_fiber {
public:
    /// With room for a body of that size. \throws std::bad_alloc, and what admit() throws \parks as admit() does
    new_fiber(scheduler& where, const attributes&, start_as, std::size_t bytes, std::size_t alignment);
    ~new_fiber() {
        if (fiber_) [[unlikely]] discard();
    }
    new_fiber(const new_fiber&) = delete;
    new_fiber& operator=(const new_fiber&) = delete;

    void* room() const noexcept { return room_; }
    /// `body` was made in room(). The handle is empty if the fiber is detached.
    fiber_ref start(task& body) noexcept;
    /// Only hands the fiber over, which has its body then.
    control_block& release(task& body) noexcept;
    /// After release(): makes it runnable, or runs it if it was admitted for that only.
    void launch(control_block& released) noexcept;

private:
    [[gnu::cold]] void make(const attributes&, start_as, std::size_t bytes, std::size_t spill_alignment);
    void discard() noexcept;

    scheduler* where_;  // null: it runs inline (admit())
    control_block* fiber_ = nullptr;
    void* room_ = nullptr;
};

/// The body of a fiber that calls f(args...), made in its room.
template <class F, class... A>
class made_fiber : public new_fiber {
    using body_type = call_task<F, A...>;

public:
    template <class G, class... B>
    made_fiber(scheduler& where, const attributes& a, start_as kind, G&& f, B&&... args)
        : new_fiber(where, a, kind, sizeof(body_type), alignof(body_type)),
          body(*new (room()) body_type(std::forward<G>(f), std::forward<B>(args)...)) {}
    fiber_ref start() noexcept { return new_fiber::start(body); }

    task& body;
};

template <class F, class... A>
fiber_ref start_fiber(scheduler& where, const attributes& a, start_as kind, F&& f, A&&... args) {
    return made_fiber<F, A...>(where, a, kind, std::forward<F>(f), std::forward<A>(args)...).start();
}

/// For a fiber that may wait for what its starter does next: it is not run inline by it (at_limit), which waits for a place instead.
attributes never_inline(const scheduler& where, attributes) noexcept;

/// Of runtime.hpp, for templates that are given a runtime.
scheduler& scheduler_of(const runtime&) noexcept;

/// The runtime of the calling fiber. On a plain thread stops the program with a message that names weft::run and `what`.
scheduler& runtime_here(std::string_view what) noexcept;

}  // namespace weft::detail
