// cell_core.hpp - the compiled half of cell<T>: versions of a value, and who is computed from whom.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include <weft/detail/dataflow.hpp>

namespace weft::detail {

using cell_value = std::shared_ptr<const void>;

/// One receiver of changes(). push() runs user code and is called by one at a time.
class cell_listener {
public:
    virtual ~cell_listener() = default;
    virtual bool is_gone() const noexcept = 0;
    /// With at most `limit` values kept.
    virtual void push(const void* value, std::size_t limit) noexcept = 0;
    virtual void close() noexcept = 0;
};

class cell_core {
public:
    /// \throws std::invalid_argument if `history` is 0
    explicit cell_core(std::size_t history);
    /// Nobody waits, no function runs any more.
    ~cell_core();
    cell_core(const cell_core&) = delete;
    cell_core& operator=(const cell_core&) = delete;

    void set(cell_value);
    /// \parks \throws what the function threw; cancelled, dataflow_cycle
    cell_value get();
    void listen(std::shared_ptr<cell_listener>);

    /// Before anybody else knows the cell: it is computed by `f`, in the fiber that calls run().
    void compute_by(std::function<cell_value()> f);
    /// Computes whenever there is need. \throws cancelled, at last
    void run();

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace weft::detail
