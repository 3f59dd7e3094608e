// io_readiness.hpp - the readiness of a descriptor as a case of a select.
#pragma once

#include <cstdint>

#include <weft/detail/select_core.hpp>

namespace weft::detail {

class io_source;

/// Ready when a read would not wait: bytes, a connection, end of stream, a failure, or closed. The source stays meanwhile.
class io_readiness final : public select_watch {
public:
    explicit io_readiness(io_source* s) noexcept : source_(s) {}

    void open() noexcept override;
    state look() noexcept override;
    bool enlist(waiter&) noexcept override;
    void delist(waiter&) noexcept override;
    void close() noexcept override;

private:
    io_source* source_;      // null: of a stream that was never open
    std::uint32_t seen_ = 0;  // events before the last look (I4)
    bool entered_ = false;   // I1; else it is closed
};

}  // namespace weft::detail
