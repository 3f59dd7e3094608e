// name_finder.hpp - which actor has a name, as a name_ref remembers it.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include <weft/cluster/detail/remote_core.hpp>
#include <weft/detail/export.hpp>
#include <weft/detail/timeouts.hpp>
#include <weft/mutex.hpp>

namespace weft::cluster::detail {

/// All fibers may use it at once.
class WEFT_EXPORT name_finder {
public:
    /// \throws error (bad_name, no_names)
    name_finder(std::shared_ptr<node_core> by, std::string_view name);

    /// \returns  the address that is remembered, or else what the store says.
    /// \parks    until the store has answered, and while nobody, or only an owner that was given up, has the
    ///           name.
    /// \throws   timeout_error; std::system_error if the store was out of reach all the time; error (closed);
    ///           weft::cancelled
    remote_address owner(weft::detail::time_point until);
    /// This owner did not take a message: it is looked up again.
    void give_up(const remote_address&);
    /// Gives the owner up if the error says that another one may be there.
    /// \returns whether the message can be sent again
    bool give_up(const remote_address&, const error& why, bool is_idempotent);

    node_core& by() const noexcept { return *by_; }
    const std::shared_ptr<node_core>& shared() const noexcept { return by_; }
    const std::string& name() const noexcept { return name_; }

private:
    const std::shared_ptr<node_core> by_;
    const std::string name_;
    weft::mutex lock_;  // guards what follows
    remote_address known_;  // no node: none
    remote_address given_up_;
};

}  // namespace weft::cluster::detail
