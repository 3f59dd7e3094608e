// cell_core.hpp - the compiled half of cell<T>: the versions of a value, and what computes it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include <weft/detail/dataflow.hpp>
#include <weft/detail/export.hpp>

namespace weft::detail {

using cell_value = std::shared_ptr<const void>;

/// One receiver of changes(). push() runs user code; it is never called concurrently.
class WEFT_EXPORT cell_listener {
public:
    virtual ~cell_listener() = default;
    virtual bool is_gone() const noexcept = 0;
    /// Passes a value on and keeps at most `limit` values.
    virtual void push(const void* value, std::size_t limit) noexcept = 0;
    virtual void close() noexcept = 0;
};

class WEFT_EXPORT cell_core {
public:
    /// \throws std::invalid_argument if `history` is 0
    explicit cell_core(std::size_t history);
    /// No fiber waits in the cell and no function runs for it any more.
    ~cell_core();
    cell_core(const cell_core&) = delete;
    cell_core& operator=(const cell_core&) = delete;

    void set(cell_value);
    /// \parks   until the value is computed.
    /// \throws  what the function threw; cancelled, dataflow_cycle
    cell_value get();
    void listen(std::shared_ptr<cell_listener>);

    /// Makes `f` compute the cell, in the fiber that calls run(). Called before the cell is shared.
    void compute_by(std::function<cell_value()> f);
    /// Computes whenever needed, until it is stopped. \throws cancelled
    void run();

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace weft::detail
