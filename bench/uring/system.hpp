// system.hpp - what both experiments need of the system: descriptors, checked calls, a CPU for each
// thread, clocks.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

namespace bench::uring {

/// \throws  std::system_error with errno if the call has failed.
template <class Result>
Result checked(Result result, const char* call) {
    if (result < 0) throw std::system_error(errno, std::generic_category(), call);
    return result;
}

/// Owns a file descriptor.
class descriptor {
public:
    descriptor() = default;
    explicit descriptor(int fd) noexcept : fd_(fd) {}
    descriptor(descriptor&& from) noexcept : fd_(std::exchange(from.fd_, -1)) {}
    descriptor& operator=(descriptor&& from) noexcept {
        std::swap(fd_, from.fd_);
        return *this;
    }
    ~descriptor() { close(); }

    int get() const noexcept { return fd_; }
    void close() noexcept {
        if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    }

private:
    int fd_ = -1;
};

/// The two CPUs of an experiment: `of_server` is measured, `of_client` has the load or the
/// observer.
struct cpu_pair {
    int of_server = 0;
    int of_client = 0;
};

/// From now on the calling thread runs on this CPU alone.
inline void stay_on(int cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(cpu), &one);
    checked(::sched_setaffinity(0, sizeof one, &one), "sched_setaffinity");
}

/// What the thread, which is alive, has used of a CPU.
inline std::chrono::nanoseconds cpu_time_of(std::thread& t) {
    clockid_t clock{};
    timespec used{};
    if (const int error = ::pthread_getcpuclockid(t.native_handle(), &clock))
        throw std::system_error(error, std::generic_category(), "pthread_getcpuclockid");
    checked(::clock_gettime(clock, &used), "clock_gettime");
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

inline double in_us(std::chrono::nanoseconds d) { return std::chrono::duration<double, std::micro>(d).count(); }

}  // namespace bench::uring
