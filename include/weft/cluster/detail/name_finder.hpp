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

    /// \param    tries  how many times it was looked for, for one message; is counted up.
    /// \returns  the address that is remembered, or else what the store says. It may be an owner that was given
    ///           up, since a contact can be lost and the owner live.
    /// \parks    until the store has answered, while nobody has the name, and before each try but the first a
    ///           while that grows.
    /// \throws   timeout_error, whose text says what was the trouble; error (closed); weft::cancelled
    remote_address owner(weft::detail::time_point until, int& tries);
    /// This owner did not take a message: it is looked up again.
    void give_up(const remote_address&, const char* why);
    /// Gives the owner up if the error says that it is gone, or is none.
    /// \returns whether the message can be sent again
    bool give_up(const remote_address&, const error& why, bool is_idempotent);

    node_core& by() const noexcept { return *by_; }
    const std::shared_ptr<node_core>& shared() const noexcept { return by_; }
    const std::string& name() const noexcept { return name_; }

private:
    void look(weft::detail::time_point until);
    [[noreturn]] void throw_late();

    const std::shared_ptr<node_core> by_;
    const std::string name_;
    weft::mutex lock_;  // guards what follows
    remote_address known_;  // no node: none
    std::string failure_;  // of the last try
};

}  // namespace weft::cluster::detail
