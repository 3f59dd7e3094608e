#include <weft/cluster/name_lease.hpp>

#include <utility>

#include "cluster/membership.hpp"

namespace weft::cluster {

name_lease::name_lease(std::shared_ptr<detail::membership> by, std::shared_ptr<detail::held_name> what) noexcept
    : by_(std::move(by)), what_(std::move(what)) {}
name_lease::name_lease(name_lease&&) noexcept = default;
name_lease& name_lease::operator=(name_lease&& other) noexcept {
    if (this == &other) return *this;
    release();
    by_ = std::move(other.by_);
    what_ = std::move(other.what_);
    return *this;
}
name_lease::~name_lease() { release(); }

std::string_view name_lease::name() const noexcept { return what_ ? std::string_view(what_->name) : std::string_view(); }
std::uint64_t name_lease::token() const noexcept { return what_ ? what_->token : 0; }
bool name_lease::held() const noexcept { return what_ && by_->holds(*what_); }
std::stop_token name_lease::stop_token() const noexcept { return what_ ? what_->ended.get_token() : std::stop_token(); }
void name_lease::release() noexcept {
    if (what_) by_->release(*what_);
}

}  // namespace weft::cluster
