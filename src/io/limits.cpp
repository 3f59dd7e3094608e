#include <weft/io/limits.hpp>

#include <sys/resource.h>

#include "io/system.hpp"

namespace weft::io {

std::size_t raise_descriptor_limit(std::error_code& error) noexcept {
    error.clear();
    rlimit limit{};
    long r = detail::system_result([&] { return ::getrlimit(RLIMIT_NOFILE, &limit); });
    if (r == 0 && limit.rlim_cur < limit.rlim_max) {
        const rlimit raised{.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
        r = detail::system_result([&] { return ::setrlimit(RLIMIT_NOFILE, &raised); });
        if (r == 0) limit = raised;
    }
    if (r < 0) error = detail::failure(r);
    return static_cast<std::size_t>(limit.rlim_cur);
}

std::size_t raise_descriptor_limit() {
    std::error_code error;
    const auto limit = raise_descriptor_limit(error);
    if (error) throw std::system_error(error, "weft: descriptor limit");
    return limit;
}

}  // namespace weft::io
