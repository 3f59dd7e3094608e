// looking_up.cpp - getaddrinfo() and its kin: the C library's own, on a thread that runs no fiber.
//
// Their sockets and files are opened inside the C library, where nothing stands before its calls. The
// arguments stay on the fiber's stack, so a call that has begun is waited for whatever happens.
//
// gethostbyname() gives a result that its next call overwrites. In a fiber that is the fiber's next call: the
// result belongs to its identity, and another fiber's call, which may run at the same time, leaves it alone.
#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <memory>
#include <new>

#include "hooks/entry.hpp"

namespace weft::hooks {
namespace {

/// Calls f on a thread of the pool. \returns  0 and errno as f left it; or the error, and f was not called.
template <class F>
long run_elsewhere(fiber_call& call, const F& f) noexcept {
    struct package {
        const F& f;
        int error;
    } p{f, 0};
    const long r = call.elsewhere(
        [](void* what) {
            auto& there = *static_cast<package*>(what);
            errno = 0;
            there.f();
            there.error = errno;
        },
        &p);
    if (r == 0 && p.error != 0) give(-p.error);
    return r;
}

/// A result of getaddrinfo() for what kept it from being asked.
int as_lookup_error(long r) noexcept {
    if (r == -EAGAIN) return EAI_AGAIN;
    give(r);
    return EAI_SYSTEM;
}

/// Whether getaddrinfo() asks no server and reads no file for this name: digits, dots and colons are an
/// address, and so is what comes before a '%'. A decimal port is no name of a service.
bool is_numeric(const char* node, const char* service) noexcept {
    for (const char* c = service; c && *c; ++c)
        if (*c < '0' || *c > '9') return false;
    std::array<char, INET6_ADDRSTRLEN> text{};
    const std::size_t length = std::strcspn(node, "%");
    if (length >= text.size()) return false;
    std::memcpy(text.data(), node, length);
    in6_addr address;
    return ::inet_pton(AF_INET6, text.data(), &address) == 1 ||
           (!node[length] && ::inet_pton(AF_INET, text.data(), &address) == 1);
}

using getaddrinfo_type = int(const char*, const char*, const addrinfo*, addrinfo**);
using getnameinfo_type = int(const sockaddr*, socklen_t, char*, socklen_t, char*, socklen_t, int);
using by_name_r_type = int(const char*, hostent*, char*, std::size_t, hostent**, int*);
using by_name2_r_type = int(const char*, int, hostent*, char*, std::size_t, hostent**, int*);
using by_address_r_type = int(const void*, socklen_t, int, hostent*, char*, std::size_t, hostent**, int*);

using real_getaddrinfo = real_function<"getaddrinfo", getaddrinfo_type>;
using real_getnameinfo = real_function<"getnameinfo", getnameinfo_type>;
using real_by_name_r = real_function<"gethostbyname_r", by_name_r_type>;
using real_by_name2_r = real_function<"gethostbyname2_r", by_name2_r_type>;
using real_by_address_r = real_function<"gethostbyaddr_r", by_address_r_type>;

int missing() noexcept {
    give(-ENOSYS);
    return EAI_SYSTEM;
}

/// For those that give an errno, and a reason of their own besides.
int fail(long r, hostent** result, int* reason) noexcept {
    *result = nullptr;
    *reason = r == -EAGAIN ? TRY_AGAIN : NETDB_INTERNAL;
    give(r);
    return static_cast<int>(-r);
}

/// \param ask  the real function, with the arguments.
template <class Ask>
int ask_elsewhere(fiber_call& call, const Ask& ask, hostent** result, int* reason) noexcept {
    int answer = 0;
    const long r = run_elsewhere(call, [&] { answer = ask(); });
    return r < 0 ? fail(r, result, reason) : answer;
}

/// What a fiber's calls of gethostbyname() and its kin give.
class kept_host {
public:
    /// \param ask  ask(host, buffer, bytes, result, reason) is the real function.
    template <class Ask>
    hostent* fetch(fiber_call& call, const Ask& ask) noexcept {
        hostent* result = nullptr;
        int reason = 0, answer = ERANGE;
        if (!buffer_) grow();
        while (buffer_) {
            answer = ask_elsewhere(
                call, [&] { return ask(&host_, buffer_.get(), size_, &result, &reason); }, &result, &reason);
            if (answer != ERANGE || !grow()) break;
        }
        if (!buffer_) reason = NETDB_INTERNAL;
        if (!result) h_errno = reason;
        return result;
    }

private:
    bool grow() noexcept {
        size_ = size_ == 0 ? 1024 : 2 * size_;
        buffer_.reset(new (std::nothrow) char[size_]);
        if (!buffer_) size_ = 0;
        return buffer_ != nullptr;
    }

    hostent host_{};
    std::unique_ptr<char[]> buffer_;
    std::size_t size_ = 0;
};

// A fiber that is hooked has an identity, so this is its own.
thread_local kept_host kept;

[[gnu::noinline]] kept_host& own_host() noexcept { return kept; }

}  // namespace
}  // namespace weft::hooks

using namespace weft::hooks;

extern "C" {
#pragma GCC visibility push(default)
int getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** result) {
    auto* const real = real_getaddrinfo::get();
    if (!real) return missing();
    return enter(
        "getaddrinfo", WEFT_CALLER, -1,
        [&](fiber_call& call) -> int {
            if (!node || (hints && hints->ai_flags & AI_NUMERICHOST) || is_numeric(node, service))
                return real(node, service, hints, result);
            int answer = 0;
            const long r = run_elsewhere(call, [&] { answer = real(node, service, hints, result); });
            return r < 0 ? as_lookup_error(r) : answer;
        },
        [&] { return real(node, service, hints, result); });
}

int getnameinfo(const sockaddr* address, socklen_t size, char* host, socklen_t host_size, char* service, socklen_t service_size,
                int flags) {
    auto* const real = real_getnameinfo::get();
    if (!real) return missing();
    return enter(
        "getnameinfo", WEFT_CALLER, -1,
        [&](fiber_call& call) -> int {
            if (!host || flags & NI_NUMERICHOST) return real(address, size, host, host_size, service, service_size, flags);
            int answer = 0;
            const long r =
                run_elsewhere(call, [&] { answer = real(address, size, host, host_size, service, service_size, flags); });
            return r < 0 ? as_lookup_error(r) : answer;
        },
        [&] { return real(address, size, host, host_size, service, service_size, flags); });
}

int gethostbyname_r(const char* name, hostent* host, char* buffer, std::size_t size, hostent** result, int* reason) {
    auto* const real = real_by_name_r::get();
    if (!real) return fail(-ENOSYS, result, reason);
    const auto ask = [&] { return real(name, host, buffer, size, result, reason); };
    return enter(
        "gethostbyname_r", WEFT_CALLER, -1, [&](fiber_call& call) { return ask_elsewhere(call, ask, result, reason); }, ask);
}

int gethostbyname2_r(const char* name, int family, hostent* host, char* buffer, std::size_t size, hostent** result, int* reason) {
    auto* const real = real_by_name2_r::get();
    if (!real) return fail(-ENOSYS, result, reason);
    const auto ask = [&] { return real(name, family, host, buffer, size, result, reason); };
    return enter(
        "gethostbyname2_r", WEFT_CALLER, -1, [&](fiber_call& call) { return ask_elsewhere(call, ask, result, reason); }, ask);
}

int gethostbyaddr_r(const void* address, socklen_t length, int family, hostent* host, char* buffer, std::size_t size,
                    hostent** result, int* reason) {
    auto* const real = real_by_address_r::get();
    if (!real) return fail(-ENOSYS, result, reason);
    const auto ask = [&] { return real(address, length, family, host, buffer, size, result, reason); };
    return enter(
        "gethostbyaddr_r", WEFT_CALLER, -1, [&](fiber_call& call) { return ask_elsewhere(call, ask, result, reason); }, ask);
}

hostent* gethostbyname(const char* name) {
    return enter(
        "gethostbyname", WEFT_CALLER, -1,
        [&](fiber_call& call) -> hostent* {
            auto* const real = real_by_name_r::get();
            return own_host().fetch(call, [&](auto... where) { return real ? real(name, where...) : ENOSYS; });
        },
        [&] { return call_real_or<"gethostbyname", hostent*(const char*)>([] { return nullptr; }, name); });
}

hostent* gethostbyname2(const char* name, int family) {
    return enter(
        "gethostbyname2", WEFT_CALLER, -1,
        [&](fiber_call& call) -> hostent* {
            auto* const real = real_by_name2_r::get();
            return own_host().fetch(call, [&](auto... where) { return real ? real(name, family, where...) : ENOSYS; });
        },
        [&] { return call_real_or<"gethostbyname2", hostent*(const char*, int)>([] { return nullptr; }, name, family); });
}

hostent* gethostbyaddr(const void* address, socklen_t length, int family) {
    return enter(
        "gethostbyaddr", WEFT_CALLER, -1,
        [&](fiber_call& call) -> hostent* {
            auto* const real = real_by_address_r::get();
            return own_host().fetch(call, [&](auto... where) { return real ? real(address, length, family, where...) : ENOSYS; });
        },
        [&] {
            return call_real_or<"gethostbyaddr", hostent*(const void*, socklen_t, int)>([] { return nullptr; }, address, length,
                                                                                        family);
        });
}
#pragma GCC visibility pop
}
