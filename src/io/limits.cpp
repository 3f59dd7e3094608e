#include <weft/io/limits.hpp>

#include <sys/resource.h>

#include "io/system.hpp"

namespace weft::io {

std::size_t raise_descriptor_limit() {
    rlimit limit{};
    long r = detail::system_result([&] { return ::getrlimit(RLIMIT_NOFILE, &limit); });
    if (r == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        r = detail::system_result([&] { return ::setrlimit(RLIMIT_NOFILE, &limit); });
    }
    if (r < 0) throw std::system_error(detail::failure(r), "weft: descriptor limit");
    return static_cast<std::size_t>(limit.rlim_cur);
}

}  // namespace weft::io
