// local.hpp - a variable of which each fiber has its own: a thread_local for fibers.
#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include <weft/detail/local_core.hpp>

namespace weft {

/// A variable of which each fiber has its own T. The T is made when the fiber first asks for it. It
/// is destroyed on the fiber when its body has ended; of several, the youngest goes first. A plain
/// thread has its own T as well, which ends with the thread. A fiber_local is usually a static or
/// global object; if it is destroyed before the fibers are, their values live on until the fibers
/// end.
///
///     static weft::fiber_local<request_context> context;
///     context->user = name;
template <class T>
class fiber_local {
public:
    /// Each fiber's value begins as T().
    fiber_local()
        requires std::default_initializable<T>
    {}
    /// Each fiber's value begins as what make() returns, called on that fiber.
    template <class F>
        requires(std::is_invocable_r_v<T, F&> && !std::same_as<std::remove_cvref_t<F>, fiber_local>)
    explicit fiber_local(F make) : make_(std::move(make)) {}
    fiber_local(const fiber_local&) = delete;
    fiber_local& operator=(const fiber_local&) = delete;

    /// \returns the calling fiber's value. The reference is good while the fiber runs, across park
    ///          points too.
    /// \throws  what making the value throws; std::bad_alloc.
    /// \cost    a few nanoseconds; the first call of a fiber allocates.
    T& get() {
        if (detail::local_value* const v = key_.find()) [[likely]]
            return static_cast<held&>(*v).value;
        return static_cast<held&>(key_.keep(make())).value;
    }
    T& operator*() { return get(); }
    T* operator->() { return std::addressof(get()); }

private:
    struct held final : detail::local_value {
        held() : value() {}
        explicit held(std::function<T()>& make) : value(make()) {}
        T value;
    };

    std::unique_ptr<held> make() {
        if constexpr (std::default_initializable<T>)
            if (!make_) return std::make_unique<held>();
        return std::make_unique<held>(make_);
    }

    detail::local_key key_;
    std::function<T()> make_;
};

}  // namespace weft
