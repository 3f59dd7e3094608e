// user_json.hpp - users as JSON texts, and back with an answer for whoever sent a wrong one.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "store.hpp"

namespace users {

/// what() names the field and says what is allowed.
class bad_user : public std::invalid_argument {
public:
    using std::invalid_argument::invalid_argument;
};

/// {"id": ..., "name": ...} and nothing else. id: a string of 1 to 128 bytes, or an integer, which becomes its digits;
/// name: a string of 1 to 1024 bytes. Neither holds control characters. Takes no more memory than the text, whatever it nests.
/// \throws  bad_user
user user_from_json(std::string_view text);

/// Room for the longest user with every byte escaped (6.9 KB) and some white space.
constexpr std::size_t longest_user_json = 8 * 1024;

std::string to_json(const user&);

/// {"error": message}
std::string error_json(std::string_view message);

}  // namespace users
