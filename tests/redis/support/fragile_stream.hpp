// fragile_stream.hpp - a stream of a program's own, with the least that a byte_stream needs, which fails by exceptions.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <stdexcept>
#include <system_error>

#include <weft/net/tcp.hpp>

namespace weft::test {

/// Its read fails once it is shut down, as one through TLS may do, and its write can be made to fail.
struct fragile_stream {
    struct state {
        std::atomic<bool> is_shut_down = false, fails = false;
        std::atomic<void (*)()> throws = nullptr;  // what a write calls first

        void check() const {
            if (fails) throw std::runtime_error("no room for what is written");
            if (const auto f = throws.load()) f();
        }
    };

    tcp::stream inner;
    std::shared_ptr<state> shared;

    std::size_t read_some(std::span<std::byte> into, std::error_code& error) {
        const auto n = inner.read_some(into, error);
        if (n == 0 && shared->is_shut_down) throw std::runtime_error("read after the end");
        return n;
    }
    std::size_t read_some(std::span<std::byte> into) {
        std::error_code error;
        const auto n = read_some(into, error);
        if (error) throw std::system_error(error);
        return n;
    }
    std::size_t write_some(std::span<const std::byte> from, std::error_code& error) {
        shared->check();
        return inner.write_some(from, error);
    }
    std::size_t write_some(std::span<const std::byte> from) {
        shared->check();
        return inner.write_some(from);
    }
    void wait_readable(std::error_code& error) { inner.wait_readable(error); }
    void shutdown(io::side which, std::error_code& error) {
        shared->is_shut_down = true;
        inner.shutdown(which, error);
    }
    void close() noexcept { inner.close(); }
    bool is_open() const noexcept { return inner.is_open(); }
    friend auto watch_readable(const fragile_stream& s) { return watch_readable(s.inner); }
};

}  // namespace weft::test
