// linkable.hpp - one end of a link: an actor or a supervisor, as relations.cpp sees it.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string_view>
#include <vector>

#include <weft/detail/export.hpp>
#include <weft/exit_reason.hpp>

namespace weft::detail {

class linkable {
public:
    struct link {
        std::shared_ptr<linkable> other;  // made by held()
        // The life of the other end in which the link ended.
        std::uint64_t life = 0;
    };
    /// Guarded by the lock of relations.cpp.
    std::vector<link> links;

    virtual std::string_view name() const noexcept = 0;
    /// \returns  a reference that keeps this end in memory. \throws std::bad_alloc
    virtual std::shared_ptr<linkable> held() = 0;
    /// Whether it has ended for good. An end that says so breaks its links afterwards.
    virtual bool has_ended() const noexcept = 0;
    [[noreturn]] virtual void throw_gone() = 0;
    /// The number of the current life, or of the last one. Called under the lock of relations.cpp,
    /// so it must not park.
    virtual std::uint64_t life() noexcept = 0;
    /// The other end of a link has ended abnormally, during this end's life of that number; a later
    /// life is not affected.
    virtual void linked_end(std::uint64_t life, std::string_view other, const exit_reason& why) noexcept = 0;

protected:
    linkable() = default;
    ~linkable() = default;
};

/// Ends all links of `a`, which the caller holds, and tells the other ends.
WEFT_EXPORT void break_links(linkable& a, const exit_reason& why) noexcept;
/// The linked_failure of an end whose other end has ended. If there is no memory for it, the result
/// is that failure.
std::exception_ptr failure_of_link(std::string_view other, const exit_reason& why) noexcept;

}  // namespace weft::detail
