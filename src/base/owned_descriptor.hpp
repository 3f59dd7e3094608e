// owned_descriptor.hpp - a descriptor that no fiber waits for, closed with its object.
#pragma once

#include <utility>

#include "base/direct.hpp"

namespace weft::detail {

class owned_descriptor {
public:
    explicit owned_descriptor(int fd = -1) noexcept : fd_(fd) {}
    owned_descriptor(owned_descriptor&& other) noexcept : fd_(other.release()) {}
    owned_descriptor& operator=(owned_descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    /// Keeps errno, in which the failure of a later call may still stand.
    ~owned_descriptor() {
        if (fd_ >= 0) direct::close(fd_);
    }

    /// -1 if there is none.
    int get() const noexcept { return fd_; }
    /// \returns the descriptor, which the caller closes.
    int release() noexcept { return std::exchange(fd_, -1); }

private:
    int fd_;
};

}  // namespace weft::detail
