// pool.hpp - lends objects that are costly to make, such as connections, and lends them again.
//
// Rules
//   1  There are at most `limit` objects, lent and idle ones together. An acquire that finds none
//      idle makes one; at the limit it waits until one is given back. Waiters are served in order
//      of arrival.
//   2  An object has one borrower at a time. The object that was given back last is lent first, so
//      that the others reach their `idle_limit`.
//   3  The factory, the check and the objects' destructors are called without any lock, in the
//      fiber that acquires, gives back or trims. They may park.
//   4  A lease may outlive the pool; its object is then destroyed with the lease.
#pragma once

#include <weft/detail/annotated_locks.hpp>
#include <weft/detail/requirements.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <vector>

#include <weft/detail/timeouts.hpp>
#include <weft/mutex.hpp>
#include <weft/no_limit.hpp>
#include <weft/semaphore.hpp>
#include <weft/stop.hpp>

namespace weft {

/// How a pool lends its objects. weft::pool has an example. See docs/guide/7-meeting-points.md.
template <class T>
struct pool_options {
    /// At least 1, and not no_limit: memory for so many is reserved at once.
    std::size_t limit = 16;
    /// An object that has been idle for longer is not lent again: the next acquire, or trim(),
    /// destroys it.
    std::chrono::nanoseconds idle_limit = no_limit;
    /// Called for an idle object before it is lent, by the caller of acquire(), several at once for
    /// different objects; it may park. If it returns false or throws, the object is destroyed.
    /// Default: each object is good.
    std::function<bool(T&)> check = {};
};

namespace detail {

template <class T>
struct pool_core {
    struct idle_one {
        T what;
        time_point since;
    };

    pool_core(std::function<T()> how, pool_options<T> o)
        : make(std::move(how)), options(std::move(o)), places(static_cast<std::ptrdiff_t>(options.limit)) {
        idle.reserve(options.limit);  // so that giving one back never fails
    }

    std::optional<T> take_idle() {
        const lock_guard guard(lock);
        if (idle.empty()) return std::nullopt;
        std::optional<T> last(std::move(idle.back().what));
        idle.pop_back();
        return last;
    }
    void give(T&& what) noexcept {
        const lock_guard guard(lock);
        if (is_open) idle.push_back({std::move(what), clock::now()});
    }
    /// Takes those that have been idle for too long, for the caller to destroy; the oldest are
    /// first.
    std::vector<idle_one> take_old() {
        const lock_guard guard(lock);
        auto first = idle.begin();
        while (first != idle.end() && clock::now() - first->since > options.idle_limit) ++first;
        std::vector<idle_one> old(std::make_move_iterator(idle.begin()), std::make_move_iterator(first));
        idle.erase(idle.begin(), first);
        return old;
    }
    bool is_good(T& what) {
        try {
            return !options.check || options.check(what);
        } catch (const cancelled&) {
            throw;
        } catch (...) {
            return false;
        }
    }

    const std::function<T()> make;
    const pool_options<T> options;
    counting_semaphore<> places;  // for objects that are not lent
    mutex lock;
    std::vector<idle_one> idle WEFT_GUARDED_BY(lock);  // the last is the youngest
    bool is_open WEFT_GUARDED_BY(lock) = true;
};

}  // namespace detail

/// An object that is lent. Move-only; its destructor gives the object back. weft::pool has an
/// example. See docs/guide/7-meeting-points.md.
template <class T>
class [[nodiscard]] lease {
public:
    lease(lease&& other) noexcept : core_(std::move(other.core_)), what_(std::move(other.what_)) { other.what_.reset(); }
    lease& operator=(lease&& other) noexcept {
        lease taken(std::move(other));
        std::swap(core_, taken.core_);
        std::swap(what_, taken.what_);
        return *this;
    }
    ~lease() {
        if (!core_) return;
        if (what_) core_->give(std::move(*what_));
        what_.reset();
        core_->places.release();
    }

    T& operator*() noexcept { return *what_; }
    T* operator->() noexcept { return &*what_; }
    /// Says that the object is broken: it is destroyed instead of given back, and its place is free
    /// at once. The lease is empty afterwards.
    void discard() {
        what_.reset();
        std::exchange(core_, nullptr)->places.release();
    }
    explicit operator bool() const noexcept { return what_.has_value(); }

    /// Internal: for weft's own parts.
    lease(std::shared_ptr<detail::pool_core<T>> from, T&& what) : core_(std::move(from)), what_(std::move(what)) {}

private:
    std::shared_ptr<detail::pool_core<T>> core_;
    std::optional<T> what_;
};

/// Lends objects of type T. T must be movable, and its moves must not throw.
///
///     weft::pool<connection> connections([] { return connect_to_database(); }, {.limit = 4});
///     weft::lease<connection> c = connections.acquire();  // parks while four are lent
///     c->query("select 1");                               // c's destructor gives it back
///
/// See docs/guide/7-meeting-points.md.
template <class T>
class pool {
    static_assert(std::is_nothrow_move_constructible_v<T>, "weft::pool: objects are moved in and out, which must not throw");

public:
    /// \throws std::invalid_argument for a limit of 0 or no_limit, or if there is no factory
    explicit pool(std::function<T()> make, pool_options<T> options = {}) {
        if (!make) throw std::invalid_argument("weft: a pool needs a factory");
        if (options.limit == 0 || options.limit == std::size_t{no_limit})
            throw std::invalid_argument("weft: pool_options::limit must be 1 or more, and not no_limit");
        core_ = std::make_shared<detail::pool_core<T>>(std::move(make), std::move(options));
    }
    /// Destroys the objects that are idle.
    ~pool() {
        std::vector<idle_one> all;
        const detail::lock_guard guard(core_->lock);
        core_->is_open = false;
        all.swap(core_->idle);
    }
    pool(const pool&) = delete;
    pool& operator=(const pool&) = delete;

    /// \returns an idle object, or a new one. \parks while `limit` objects are lent.
    /// \throws cancelled; what the factory throws
    [[nodiscard]] lease<T> acquire() {
        core_->places.acquire();
        return lend();
    }
    /// Does what acquire() does, but never waits for another borrower.
    /// \returns empty if `limit` objects are lent. \parks as factory and check do
    [[nodiscard]] std::optional<lease<T>> try_acquire() { return lend_if(core_->places.try_acquire()); }
    /// Does what acquire() does, for at most `d`.
    /// \returns empty if no object was given back in time. \parks \throws as acquire()
    template <class Rep, class Period>
    [[nodiscard]] std::optional<lease<T>> acquire_for(const std::chrono::duration<Rep, Period>& d) {
        return lend_if(core_->places.try_acquire_for(d));
    }
    template <class Clock, class Duration>
    [[nodiscard]] std::optional<lease<T>> acquire_until(const std::chrono::time_point<Clock, Duration>& t) {
        return lend_if(core_->places.try_acquire_until(t));
    }
    /// These forms also give up when `token` is stopped.
    [[nodiscard]] std::optional<lease<T>> acquire(std::stop_token token) {
        return lend_if(core_->places.acquire(std::move(token)));
    }
    template <class Rep, class Period>
    [[nodiscard]] std::optional<lease<T>> acquire_for(std::stop_token token, const std::chrono::duration<Rep, Period>& d) {
        return lend_if(core_->places.try_acquire_for(std::move(token), d));
    }
    template <class Clock, class Duration>
    [[nodiscard]] std::optional<lease<T>> acquire_until(std::stop_token token,
                                                        const std::chrono::time_point<Clock, Duration>& t) {
        return lend_if(core_->places.try_acquire_until(std::move(token), t));
    }
    /// Destroys the objects that have been idle for longer than `idle_limit`. \returns how many
    std::size_t trim() { return core_->take_old().size(); }
    /// \returns how many objects are idle.
    [[nodiscard]] std::size_t idle() const {
        const detail::lock_guard guard(core_->lock);
        return core_->idle.size();
    }

private:
    using idle_one = typename detail::pool_core<T>::idle_one;

    std::optional<lease<T>> lend_if(bool has_place) {
        if (!has_place) return std::nullopt;
        return lend();
    }
    // The caller holds a place, which passes to the lease.
    lease<T> lend() {
        try {
            trim();
            while (auto found = core_->take_idle())
                if (core_->is_good(*found)) return lease<T>(core_, std::move(*found));
            return lease<T>(core_, core_->make());
        } catch (...) {
            core_->places.release();
            throw;
        }
    }

    std::shared_ptr<detail::pool_core<T>> core_;
};

}  // namespace weft
