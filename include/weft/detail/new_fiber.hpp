// new_fiber.hpp - from a function to a running fiber: a control block, a body inside it, the start.
#pragma once

#include <concepts>
#include <cstddef>
#include <new>
#include <source_location>
#include <string_view>
#include <utility>

#include <weft/detail/export.hpp>
#include <weft/detail/fiber_ref.hpp>

namespace weft {
class runtime;
}

namespace weft::detail {

enum class start_as : bool { joinable, detached };

/// A parameter that callers leave to its default. It is not a std::source_location itself because
/// clang 16 fails on that as a default argument in a member's initializer.
struct call_site {
    std::source_location where = std::source_location::current();
};

/// A fiber whose body is being constructed; given back unless it starts. The compiled functions
/// take and return values, so that all of this stays in registers.
class WEFT_EXPORT new_fiber {
public:
    /// Makes a fiber with room for a body of that size.
    /// \throws std::bad_alloc, and what admit() throws
    /// \parks  as admit() does
    new_fiber(scheduler& where, const attributes& a, start_as kind, std::size_t bytes, std::size_t alignment)
        : new_fiber(make(where, a, kind, bytes, alignment)) {}
    ~new_fiber() {
        if (fiber_) [[unlikely]]
            discard(*fiber_, room_);
    }
    new_fiber(const new_fiber&) = delete;
    new_fiber& operator=(const new_fiber&) = delete;

    void* room() const noexcept { return room_; }
    /// Starts the fiber; `body` was constructed in room().
    control_block& start(task& body) noexcept {
        control_block& f = *std::exchange(fiber_, nullptr);
        start(f, body);
        return f;
    }
    /// Hands the fiber, with its body, over to the caller without starting it.
    control_block& release(task& body) noexcept;
    /// Called after release(): makes the fiber runnable, or runs it if it was admitted only for
    /// that (at_limit::run_inline).
    static void launch(control_block& released) noexcept;

protected:
    struct made {
        control_block* fiber;
        void* room;
    };
    explicit new_fiber(made m) noexcept : fiber_(m.fiber), room_(m.room) {}

    static made make(scheduler& where, const attributes&, start_as, std::size_t bytes, std::size_t alignment);
    static made make(scheduler& where, std::source_location site, start_as, std::size_t bytes, std::size_t alignment);
    /// Makes a fiber of the caller's runtime, without attributes, whose body fits. `what` is the
    /// function the user called: for runtime_here().
    template <start_as>
    static made make_plain(const char* what, std::source_location site);
    /// Makes a fiber of `where`, without attributes, whose body fits.
    template <start_as>
    static made make_plain(scheduler& where, std::source_location site);

private:
    // These are separate functions so that the common case needs no stack frame.
    [[gnu::cold]] static made make_plain_slowly(const char* what, std::source_location, start_as);
    [[gnu::cold]] static made make_plain_slowly(scheduler&, std::source_location, start_as);
    [[gnu::cold]] static made make_slowly(scheduler&, const attributes&, start_as, std::size_t bytes,
                                          std::size_t spill_alignment);
    static void start(control_block&, task&) noexcept;
    static void discard(control_block&, void* room) noexcept;

    control_block* fiber_;
    void* room_;
};

/// The runtime of the calling fiber. On a plain thread, stops the program with a message that names
/// weft::run and `what`.
WEFT_EXPORT scheduler& runtime_here(std::string_view what) noexcept;

/// The body of a fiber that calls f(args...), constructed in the fiber's room.
template <start_as kind, class F, class... A>
class made_fiber : public new_fiber {
    using body_type = call_task<F, A...>;

public:
    template <class G, class... B>
    made_fiber(scheduler& where, const attributes& a, G&& f, B&&... args)
        : new_fiber(where, a, kind, sizeof(body_type), alignof(body_type)),
          body(*new(room()) body_type(std::forward<G>(f), std::forward<B>(args)...)) {}
    template <class Where, class G, class... B>
        requires std::same_as<Where, const char*> || std::same_as<Where, scheduler*>
    made_fiber(Where where, std::source_location site, G&& f, B&&... args)
        : new_fiber(make_there(where, site)), body(*new(room()) body_type(std::forward<G>(f), std::forward<B>(args)...)) {}

    /// The handle is empty if the fiber is detached, since the fiber may be gone already.
    fiber_ref start() noexcept {
        control_block& f = new_fiber::start(body);
        if constexpr (kind == start_as::detached)
            return {};
        else
            return fiber_ref(f);
    }

    task& body;

private:
    static constexpr bool fits = sizeof(body_type) <= body_room && alignof(body_type) <= body_alignment;

    static made make_there(const char* what, std::source_location site) {
        if constexpr (fits)
            return make_plain<kind>(what, site);
        else
            return make_there(&runtime_here(what), site);
    }
    static made make_there(scheduler* where, std::source_location site) {
        if constexpr (fits)
            return make_plain<kind>(*where, site);
        else
            return make(*where, site, kind, sizeof(body_type), alignof(body_type));
    }
};

template <start_as kind, class F, class... A>
fiber_ref start_fiber(scheduler& where, const attributes& a, F&& f, A&&... args) {
    return made_fiber<kind, F, A...>(where, a, std::forward<F>(f), std::forward<A>(args)...).start();
}
/// Starts a fiber in the caller's runtime, without attributes.
template <start_as kind, class F, class... A>
fiber_ref start_fiber_here(const char* what, std::source_location site, F&& f, A&&... args) {
    return made_fiber<kind, F, A...>(what, site, std::forward<F>(f), std::forward<A>(args)...).start();
}

/// For a fiber that may wait for a later action of its starter: the starter does not run it inline
/// (at_limit) but waits for a place instead.
WEFT_EXPORT attributes never_inline(const scheduler& where, attributes) noexcept;

/// Defined for runtime.hpp; for templates that are given a runtime.
WEFT_EXPORT scheduler& scheduler_of(const runtime&) noexcept;

}  // namespace weft::detail
