// dataflow.hpp - what computed variables share: the fiber that computes, and whom it waits for.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <utility>

#include <weft/dataflow_cycle.hpp>

namespace weft::detail {

class cell_core;

/// One computed variable, while its function runs. current() finds it from the fiber that runs it.
class WEFT_EXPORT computation {
public:
    explicit computation(cell_core* computes = nullptr) noexcept : cell_(computes) {}
    computation(const computation&) = delete;
    computation& operator=(const computation&) = delete;

    /// The computation whose function the calling fiber runs, or null.
    static computation* current() noexcept;

    /// While alive, the calling fiber runs the function of `c`.
    class running {
    public:
        explicit running(computation& c);
        ~running();
        running(const running&) = delete;
        running& operator=(const running&) = delete;
    };

    enum class source : bool { cell, ivar };

    /// While alive, the caller waits for what `target` computes, unless `target` is null.
    /// \throws dataflow_cycle
    class waiting {
    public:
        waiting(computation* target, source);
        ~waiting();
        waiting(const waiting&) = delete;
        waiting& operator=(const waiting&) = delete;

    private:
        computation* me_;
    };

    /// Its function waits for nothing any more, although its fiber has not resumed yet.
    void wait_is_over() noexcept;
    /// The cell it computes; null if it computes an ivar.
    cell_core* cell() const noexcept { return cell_; }
    /// Whether the function had to wait for an ivar since the last call of this. For its own fiber
    /// only.
    bool was_delayed() noexcept { return std::exchange(delayed_, false); }

private:
    cell_core* cell_;
    bool delayed_ = false;
    computation* waits_for_ = nullptr;  // guarded by one lock for all computations
};

}  // namespace weft::detail
