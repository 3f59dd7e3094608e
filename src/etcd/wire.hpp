// wire.hpp - one request to a cluster of etcd servers, which may be repeated; and the token of the user.
//
// Invariants
//   WIRE-1  A request that may have been done is sent again only if doing it twice is doing it once.
//           A refused token counts as not done: the server looks at it first.
//   WIRE-2  No lock is held while a fiber parks. Two fibers may so ask for a token at once; each is good.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include <weft/etcd/client.hpp>
#include <weft/http/client.hpp>

#include "base/atomic.hpp"
#include "base/futex_lock.hpp"
#include "etcd/codec.hpp"
#include "etcd/failure.hpp"
#include "etcd/stream.hpp"

namespace weft::detail {

/// What doing a request twice would do.
enum class twice {
    nothing_done,  ///< it changes nothing, so no failure may have done something
    same,          ///< what doing it once does
    differs,
};

class etcd_wire {
public:
    explicit etcd_wire(weft::etcd::client_options);

    /// \param limit  of one endpoint; by default client_options::request_limit.
    /// \returns  the answer, an object.
    etcd::json call(const char* path, const etcd::json& request, twice kind, std::optional<std::chrono::nanoseconds> limit = {});

    struct opened {
        etcd::stream objects;
        etcd::json first;
    };
    /// Begins a watch. \returns the stream, and its first object, which says that the server watches.
    opened watch(const etcd::json& request);

    [[nodiscard]] const weft::etcd::client_options& options() const noexcept { return options_; }
    [[nodiscard]] const etcd::codec& codec() const noexcept { return codec_; }

private:
    template <class F>
    auto somewhere(const char* path, twice, F&& once) -> decltype(once(std::size_t{}, std::string()));
    template <class F>
    auto with_token(std::size_t which, F&& once) -> decltype(once(which, std::string()));
    etcd::json ask(std::size_t which, const char* path, const etcd::json& request, const std::string& token,
                   std::optional<std::chrono::nanoseconds> limit = {});
    opened open(std::size_t which, const std::string& body, const std::string& token);
    std::string token(std::size_t which);
    void forget(const std::string& token);

    const weft::etcd::client_options options_;
    const etcd::codec codec_;
    http::client client_, streams_;
    atomic<std::size_t> current_ = 0;  // relaxed: any endpoint will do
    futex_lock lock_;
    std::string token_ WEFT_GUARDED_BY(lock_);
};

}  // namespace weft::detail
