#include <weft/detail/io_handle.hpp>

#include "io/source.hpp"

namespace weft::detail {

void io_handle::close() noexcept {
    if (source_) source_->close();
}

bool io_handle::closed() const noexcept { return !source_ || source_->closing(); }

int io_handle::native() const noexcept { return closed() ? -1 : source_->descriptor(); }

void io_handle::reset() noexcept {
    if (source_) std::exchange(source_, nullptr)->drop();
}

}  // namespace weft::detail
