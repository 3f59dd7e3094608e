// pooled.hpp - connections that many fibers share, without any that a call has failed on.
#pragma once

#include <weft/pool.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace clients {

template <class Connection>
class pooled {
public:
    /// \param open  makes a connection, in the fiber that needs it.
    pooled(std::function<std::unique_ptr<Connection>()> open, unsigned limit) : idle_(std::move(open), {.limit = limit}) {}

    /// \returns f(connection). \throws what f or the opening throws
    template <class F>
    auto with_one(F f) {
        auto c = idle_.acquire();
        try {
            return f(**c);
        } catch (...) {
            c.discard();  // an answer may still be on its way, which would be taken for that of the next call
            throw;
        }
    }

private:
    weft::pool<std::unique_ptr<Connection>> idle_;
};

}  // namespace clients
