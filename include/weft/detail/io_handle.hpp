// io_handle.hpp - sole ownership of one descriptor of the I/O layer, for streams and listeners.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <utility>

namespace weft::detail {

class io_source;

/// Its destructor closes the descriptor and gives the source back. Empty after a move.
class WEFT_EXPORT io_handle {
public:
    io_handle() noexcept = default;
    explicit io_handle(io_source* s) noexcept : source_(s) {}
    io_handle(io_handle&& other) noexcept : source_(std::exchange(other.source_, nullptr)) {}
    io_handle& operator=(io_handle&& other) noexcept {
        if (this != &other) {
            reset();
            source_ = std::exchange(other.source_, nullptr);
        }
        return *this;
    }
    ~io_handle() { reset(); }

    io_source* get() const noexcept { return source_; }
    explicit operator bool() const noexcept { return source_ != nullptr; }

    /// Wakes every operation under way with bad_file_descriptor; the last of them closes the
    /// descriptor.
    void close() noexcept;
    bool closed() const noexcept;
    /// The descriptor; -1 once closed.
    int native() const noexcept;

private:
    void reset() noexcept;

    io_source* source_ = nullptr;
};

}  // namespace weft::detail
