// local.hpp - a variable of which every fiber has its own; what thread_local is for code that may move between threads.
#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include <weft/detail/local_core.hpp>

namespace weft {

/// Each fiber's T is made when the fiber first asks for it, and destroyed when the fiber's body has ended, on that fiber; the
/// youngest goes first. A plain thread has its own as well, which ends with the thread. Usually a static or global object; when it
/// is destroyed before the fibers are, their values live on until they end.
///
///     static weft::fiber_local<request_context> context;
///     context->user = name;
template <class T>
class fiber_local {
public:
    /// The value begins as T().
    fiber_local()
        requires std::default_initializable<T>
    {}
    /// The value begins as what make() returns, called on the fiber itself.
    template <class F>
        requires(std::is_invocable_r_v<T, F&> && !std::same_as<std::remove_cvref_t<F>, fiber_local>)
    explicit fiber_local(F make) : make_(std::move(make)) {}
    fiber_local(const fiber_local&) = delete;
    fiber_local& operator=(const fiber_local&) = delete;

    /// The calling fiber's value. The reference holds while the fiber runs, across park points too.
    ///
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
