// cell.hpp - variables that are written again and again, and variables computed from those.
//
// Rules
//   1  Each set() is a step. A computed cell has one value for each step that concerns it, computed
//      from the values that its cells have at that step. So it never sees one cell as it was before
//      a set() and another as it was after the same set(). Its function may be called more often
//      than there are steps.
//   2  Without history a step may be skipped if a later one has come meanwhile. With a history of
//      n, the last n values are kept for readers that lag behind: for the cells computed from this
//      one, which take the history over, and for the receivers of changes().
//   3  get() waits until the steps made before it have arrived: after x.set(2) a cell computed from
//      x answers with 2 in it.
//   4  A function that throws makes its cell fail, and those computed from it, until a later step
//      succeeds; get() throws the failure.
//   5  Cells that need each other at one step fail with dataflow_cycle at that step instead of
//      waiting for ever. A later step may mend that.
//   6  A cell must be destroyed after the cells computed from it.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include <weft/broadcast.hpp>
#include <weft/detail/cell_core.hpp>
#include <weft/fiber.hpp>

namespace weft {

namespace detail {

template <class T>
class typed_cell_listener final : public cell_listener {
public:
    typed_cell_listener() : to_(unbounded, overflow::park) {}
    [[nodiscard]] receiver<T> rx() const { return to_.rx(); }
    bool is_gone() const noexcept override { return to_.is_gone(); }
    void push(const void* value, std::size_t limit) noexcept override {
        try {
            to_.push_within(limit, *static_cast<const T*>(value));
        } catch (...) {  // if the value cannot be copied now, this receiver misses it
        }
    }
    void close() noexcept override { to_.close(); }

private:
    subscriber<T> to_;
};

/// F computes a T, and is not convertible to one.
template <class F, class T>
concept computes = std::is_invocable_r_v<T, F&> && !std::convertible_to<F, T>;

}  // namespace detail

/// A variable that is set() again and again, or computed from other cells.
///
///     weft::cell<int> x(1);
///     weft::cell twice([&] { return 2 * x.get(); });
///     x.set(21);  // twice.get() is 42 from now on
///
/// See docs/guide/8-dataflow.md.
template <class T>
class cell {
    static_assert(std::copy_constructible<T>, "weft::cell: every reader gets a copy");

public:
    /// Not set yet: readers wait.
    cell() : core_(1) {}
    explicit cell(T value) : core_(1) { set(std::move(value)); }
    /// Computed by f() in a fiber of its own, in the current runtime or in `rt`: now, and again
    /// whenever a cell that f has read has changed. f may wait, also for ivars. f must let
    /// dataflow_cycle pass. It may see that although a later set() has removed the circle, and is
    /// called again then (rule 5).
    ///
    /// \parks   at max_fibers, as spawn() does. With at_limit::run_inline it parks as with
    ///          at_limit::park, because the fiber ends only with the cell.
    /// \throws  what spawn() throws. On a plain thread the program stops with a message: name a
    ///          runtime there.
    template <detail::computes<T> F>
    explicit cell(F f) : cell(history{1}, std::move(f)) {}
    template <std::same_as<runtime> Runtime, detail::computes<T> F>
    cell(Runtime& rt, F f) : core_(1) {
        compute_by(std::move(f), detail::scheduler_of(rt));
    }

    /// Makes a cell that keeps its last n values for readers that lag behind (rule 2).
    ///
    /// \throws  std::invalid_argument if n is 0.
    [[nodiscard]] static cell with_history(std::size_t n) { return cell(history{n}); }
    [[nodiscard]] static cell with_history(std::size_t n, T value) { return cell(history{n}, std::move(value)); }
    template <detail::computes<T> F>
    [[nodiscard]] static cell with_history(std::size_t n, F f) {
        return cell(history{n}, std::move(f));
    }

    /// Asks the fiber that computes the cell to stop, and joins it.
    /// \parks until that has ended; never interrupted
    ~cell() = default;
    cell(const cell&) = delete;
    cell& operator=(const cell&) = delete;

    /// Gives the cell a new value. It does not wait for readers. A computed cell must not be set:
    /// that stops the program.
    ///
    /// \throws  std::bad_alloc; what T's move throws.
    /// \parks   briefly, while other fibers or threads work on the links between cells.
    void set(T value) { core_.set(std::make_shared<const T>(std::move(value))); }

    /// \returns  the value that follows from all steps made so far.
    /// \parks    until it is there.
    /// \throws   what the function threw; weft::cancelled; dataflow_cycle; std::future_error
    ///           (broken_promise) if the fiber that computes it was stopped.
    T get() const {
        const auto v = core_.get();
        return *static_cast<const T*>(v.get());
    }

    /// \returns a receiver of the values to come, in order, without failures. get() may return a
    ///          value a moment before it arrives there. If the receiver lags behind, only the last
    ///          values are kept for it, as many as the history has. It is closed when the cell is
    ///          destroyed.
    [[nodiscard]] receiver<T> changes() const {
        auto listener = std::make_shared<detail::typed_cell_listener<T>>();
        auto rx = listener->rx();
        core_.listen(std::move(listener));
        return rx;
    }

private:
    struct history {
        std::size_t n;
    };
    explicit cell(history h) : core_(h.n) {}
    cell(history h, T value) : core_(h.n) { set(std::move(value)); }
    template <detail::computes<T> F>
    cell(history h, F f) : core_(h.n) {
        compute_by(std::move(f), detail::runtime_here("weft::cell"));
    }

    template <class F>
    void compute_by(F f, detail::scheduler& where) {
        auto shared = std::make_shared<F>(std::move(f));  // std::function copies
        core_.compute_by([shared]() -> detail::cell_value { return std::make_shared<const T>(std::invoke(*shared)); });
        fiber_ = detail::spawn_in(where, detail::never_inline(where, {.site = {}}), [this] { core_.run(); });
    }

    mutable detail::cell_core core_;
    fiber<> fiber_;  // declared after core_, so that it is joined first
};

/// Deduces T from the function: weft::cell area([&] { return width.get() * height.get(); });
template <class F>
    requires std::invocable<F&>
cell(F) -> cell<std::remove_cvref_t<std::invoke_result_t<F&>>>;
template <std::same_as<runtime> Runtime, class F>
    requires std::invocable<F&>
cell(Runtime&, F) -> cell<std::remove_cvref_t<std::invoke_result_t<F&>>>;
template <class T>
    requires(!std::invocable<T&>)
cell(T) -> cell<T>;

}  // namespace weft
