// work_core.hpp - a work queue as the typed one sees it: bytes, and what settles them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <weft/cluster/wire.hpp>
#include <weft/cluster/work_options.hpp>
#include <weft/cluster/work_store.hpp>
#include <weft/detail/clock.hpp>
#include <weft/detail/export.hpp>

namespace weft::cluster {
struct dead_work;
}

namespace weft::cluster::detail {

class work_core;
struct held_work;
struct work_receiving;

/// What a queue has: the name and the versions of its type.
struct work_type {
    std::string_view name;
    wire_versions versions;
};

/// A message under way. Move-only; destroyed before it was settled, it is given back. One fiber may use it at
/// a time.
class WEFT_EXPORT work_under_way {
public:
    work_under_way(std::shared_ptr<work_receiving> from, std::shared_ptr<held_work> what) noexcept;
    work_under_way(work_under_way&&) noexcept;
    work_under_way& operator=(work_under_way&&) noexcept;
    ~work_under_way();

    [[nodiscard]] const stored_work::content& what() const noexcept;
    [[nodiscard]] bool settled() const noexcept { return !from_; }
    /// \throws std::logic_error if it is settled; std::invalid_argument if it is of another queue
    void require_letter_of(const work_core&) const;
    void ack();
    void ack_sure();
    void give_back(std::optional<std::chrono::nanoseconds> delay);
    void bury(std::string_view reason);
    /// Instead of throwing for a store that is out of reach, gives it back.
    void bury_or_give_back(std::string_view reason);

private:
    stored_work& open() const;
    void settle() noexcept;
    void leave() noexcept;

    std::shared_ptr<work_receiving> from_;  // null: it is settled, or moved away
    std::shared_ptr<held_work> what_;
};

WEFT_EXPORT std::shared_ptr<work_core> open_work(const std::shared_ptr<work_store>&, std::string_view name, const work_options&,
                                                 const work_type&);
/// The queue NAME.dead, as one of its own.
WEFT_EXPORT std::shared_ptr<work_core> open_dead(const work_core&);
WEFT_EXPORT void close_work(work_core&) noexcept;
WEFT_EXPORT std::uint32_t version_to_write(const work_core&) noexcept;
WEFT_EXPORT sent send_work(work_core&, const work_item&, std::string id);
/// Puts a dead letter back to where it is from.
WEFT_EXPORT sent retry_work(work_core& to, work_under_way& dead, const dead_work&);

WEFT_EXPORT std::shared_ptr<work_receiving> receive_work(std::shared_ptr<work_core>, std::size_t most);
/// The next message whose name and version are good, and which was not delivered too often.
/// \returns empty once the queue was closed, or at the end of the time.
WEFT_EXPORT std::optional<work_under_way> take_work(const std::shared_ptr<work_receiving>&, weft::detail::time_point until);
/// Gives back what was pulled and not taken.
WEFT_EXPORT void end_receiving(work_receiving&) noexcept;

}  // namespace weft::cluster::detail
