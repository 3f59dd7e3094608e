// io_readiness.hpp - the readiness of a descriptor as a case of a select.
#pragma once

#include <cstdint>

#include <weft/detail/export.hpp>
#include <weft/detail/select_core.hpp>

namespace weft::detail {

class io_source;
enum class io_direction : std::uint8_t;

/// Ready when a read (or a write) would not wait: bytes, a connection, end of stream, a failure, or
/// closed. The source must stay meanwhile.
class WEFT_EXPORT io_readiness final : public select_watch {
public:
    explicit io_readiness(io_source* s) noexcept : io_readiness(s, io_direction{}) {}  // to read
    static io_readiness to_write(io_source* s) noexcept { return io_readiness(s, io_direction{1}); }

    void open() noexcept override;
    state look() noexcept override;
    bool enlist(waiter&) noexcept override;
    void delist(waiter&) noexcept override;
    void close() noexcept override;

private:
    io_readiness(io_source* s, io_direction way) noexcept : source_(s), way_(way) {}

    io_source* source_;  // null if the stream was never open
    std::uint32_t seen_ = 0;  // events before the last look (SOURCE-4)
    io_direction way_;
    // It has entered the source (SOURCE-1); otherwise the source is closed.
    bool entered_ = false;
};

}  // namespace weft::detail
