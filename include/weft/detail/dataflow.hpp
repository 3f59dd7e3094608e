// dataflow.hpp - what computed variables have in common: the fiber that computes, and the error of those that need each other.
#pragma once

#include <weft/detail/requirements.hpp>

#include <stdexcept>
#include <utility>

namespace weft {

/// A computed variable needs its own value, directly or through others: nobody could ever go on.
class dataflow_cycle : public std::logic_error {
public:
    dataflow_cycle();
};

namespace detail {

class cell_core;

/// One computed variable, as long as its function runs. The fiber that runs it is found by current().
class computation {
public:
    explicit computation(cell_core* computes = nullptr) noexcept : cell_(computes) {}
    computation(const computation&) = delete;
    computation& operator=(const computation&) = delete;

    /// The computation whose function the calling fiber runs, or null.
    static computation* current() noexcept;

    /// While alive, the calling fiber is `c`'s.
    class running {
    public:
        explicit running(computation& c);
        ~running();
        running(const running&) = delete;
        running& operator=(const running&) = delete;
    };

    enum class source : bool { cell, ivar };

    /// While alive, the caller waits for what `target` computes, if that is not null. \throws dataflow_cycle
    class waiting {
    public:
        waiting(computation* target, source);
        ~waiting();
        waiting(const waiting&) = delete;
        waiting& operator=(const waiting&) = delete;

    private:
        computation* me_;
    };

    /// Its function waits for nobody any more, although its fiber has not gone on yet.
    void wait_is_over() noexcept;
    /// The cell it computes; null if it is an ivar.
    cell_core* cell() const noexcept { return cell_; }
    /// Whether the function had to wait for an ivar since this was last called. Its fiber only.
    bool was_delayed() noexcept { return std::exchange(delayed_, false); }

private:
    cell_core* cell_;
    bool delayed_ = false;
    computation* waits_for_ = nullptr;  // under one lock for all
};

}  // namespace detail
}  // namespace weft
