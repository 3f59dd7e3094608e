// modelled.hpp - the names of base/atomic.hpp in the model build. Included from there, and from nowhere else.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "model/execution.hpp"

namespace weft::detail {

template <class T>
concept counts = std::integral<T> && !std::same_as<T, bool>;

template <class T>
class atomic {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));

public:
    constexpr atomic() noexcept : atomic(T{}) {}
    constexpr explicit(false) atomic(T v) noexcept : initial_(v) {
        if (std::is_constant_evaluated()) return;
        if (auto* x = model::execution::running_or_null()) x->born(id_, bits(v));
    }
    constexpr ~atomic() {
        if (std::is_constant_evaluated()) return;
        if (auto* x = model::execution::running_or_null()) x->gone(id_);
    }
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;

    [[nodiscard]] T load(std::memory_order order) const noexcept { return value(run().load(model_location(), order)); }
    void store(T v, std::memory_order order) noexcept { run().store(model_location(), bits(v), order); }

    T exchange(T v, std::memory_order order) noexcept {
        return modify(
            "exchange", [](std::uint64_t, std::uint64_t now) { return now; }, v, order);
    }
    [[nodiscard]] bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                                               std::memory_order failure) noexcept {
        return compare_exchange(expected, desired, success, failure, false);
    }
    [[nodiscard]] bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                                             std::memory_order failure) noexcept {
        return compare_exchange(expected, desired, success, failure, true);
    }

    T fetch_add(T n, std::memory_order order) noexcept
        requires counts<T>
    {
        return modify(
            "add", [](std::uint64_t a, std::uint64_t b) { return wrap(a + b); }, n, order);
    }
    T fetch_sub(T n, std::memory_order order) noexcept
        requires counts<T>
    {
        return modify(
            "sub", [](std::uint64_t a, std::uint64_t b) { return wrap(a - b); }, n, order);
    }
    T fetch_or(T n, std::memory_order order) noexcept
        requires counts<T>
    {
        return modify(
            "or", [](std::uint64_t a, std::uint64_t b) { return a | b; }, n, order);
    }
    T fetch_and(T n, std::memory_order order) noexcept
        requires counts<T>
    {
        return modify(
            "and", [](std::uint64_t a, std::uint64_t b) { return a & b; }, n, order);
    }
    T fetch_xor(T n, std::memory_order order) noexcept
        requires counts<T>
    {
        return modify(
            "xor", [](std::uint64_t a, std::uint64_t b) { return a ^ b; }, n, order);
    }

    [[nodiscard]] model::history& model_location() const noexcept { return run().locate(id_, bits(initial_)); }

private:
    static model::execution& run() noexcept { return model::execution::running(); }

    static std::uint64_t bits(const T& v) noexcept {
        std::uint64_t b = 0;
        std::memcpy(&b, &v, sizeof v);
        return b;
    }
    static T value(std::uint64_t b) noexcept {
        T v{};
        std::memcpy(&v, &b, sizeof v);
        return v;
    }
    static std::uint64_t wrap(std::uint64_t b) noexcept { return bits(value(b)); }  // drops what T has no bits for

    T modify(const char* what, model::memory::modify f, T operand, std::memory_order order) noexcept {
        return value(run().modify(model_location(), what, f, bits(operand), order));
    }
    bool compare_exchange(T& expected, T desired, std::memory_order success, std::memory_order failure, bool weak) noexcept {
        const auto r = run().compare_exchange(model_location(), {bits(expected), bits(desired), success, failure, weak});
        if (!r.stored) expected = value(r.read);
        return r.stored;
    }

    T initial_;
    mutable model::identity id_;
};

template <class T>
class plain {
public:
    constexpr plain() : plain(T{}) {}
    constexpr explicit(false) plain(T value) : value_(std::move(value)) {
        if (std::is_constant_evaluated()) return;
        if (auto* x = model::execution::running_or_null()) x->plain_born(id_);
    }
    constexpr ~plain() {
        if (std::is_constant_evaluated()) return;
        if (auto* x = model::execution::running_or_null()) x->plain_gone(id_);
    }
    plain(const plain&) = delete;
    plain& operator=(const plain&) = delete;

    [[nodiscard]] T get() const { return read(); }
    void set(T value) { write() = std::move(value); }
    [[nodiscard]] const T& read() const noexcept {
        model::execution::running().plain_read(id_);
        return value_;
    }
    [[nodiscard]] T& write() noexcept {
        model::execution::running().plain_write(id_);
        return value_;
    }

private:
    T value_;
    mutable model::identity id_;
};

inline void fence(std::memory_order order) noexcept { model::execution::running().fence(order); }
inline void light_fence() noexcept {}   // binds the compiler only
inline void heavy_fence() noexcept { model::execution::running().heavy_fence(); }
inline void prepare_heavy_fence() noexcept {}
inline void signal_fence() noexcept {}  // one modelled thread has no signal handlers
inline void cpu_relax() noexcept { model::execution::running().relax(); }
inline void let_pass(unsigned) noexcept {}
inline void thread_yield() noexcept { model::execution::running().relax(); }

}  // namespace weft::detail
