// users_model.hpp - the users that one client owns, as they must be: so every answer about them can be checked to the letter.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace soak {

/// A user has been given names, one after the other. 0 stands for no user.
using version = unsigned;

/// One user, with the versions it may have. They are several once a request that was to change it has failed or was given up: then nobody
/// knows whether it will yet be carried out.
struct owned_user {
    std::string id;
    std::vector<version> possible{0};
    bool has_pending = false;  ///< a change that may yet be made, also one to what it is now

    bool is_certain() const noexcept { return !has_pending; }
    bool may_be(version) const noexcept;
    /// A change of which nobody knows whether it was made, or will be.
    void perhaps(version);
    /// A change that was made, if nothing before it is uncertain.
    void becomes(version);
};

std::string name_of(const owned_user&, version);
/// As the service writes it.
std::string json_of(const owned_user&, version);

/// What a client asks of a user.
enum class wish { find, find_limited, find_stopped, create, create_limited, create_badly, remove };
inline constexpr std::size_t wishes = 7;

struct request {
    wish what;
    std::size_t user;  ///< by its place
    version next = 0;  ///< of a create

    bool changes() const noexcept { return what == wish::create || what == wish::create_limited || what == wish::remove; }
};

/// The request in HTTP/1.1. `us`: the limit of those that have one.
std::string bytes_of(const request&, const owned_user&, unsigned us);

enum class opinion { right, failed, stopped, wrong };

/// Compares an answer with what the user may be, and takes note of what it tells. `failed` and `stopped` are answers the caller has to judge.
opinion check(const request&, owned_user&, int status, const std::string& body);

}  // namespace soak
