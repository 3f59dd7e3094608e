// answers.hpp - the answers of the users service, the same whatever style of program gives them.
#pragma once

#include <optional>
#include <string_view>

#include <weft/http/message.hpp>

#include "store.hpp"
#include "user_json.hpp"

namespace users {

/// To GET /users/{id}: 200, or 404 if there is none.
weft::http::response found_answer(std::string_view id, const std::optional<user>&);
/// To POST /users: 201 with Location, the path under which GET finds the user.
weft::http::response created_answer(const user&);
/// To DELETE /users/{id}: 204, or 404 if there was none.
weft::http::response removed_answer(std::string_view id, bool was_there);
/// To a body that is no user: 400 naming the field.
weft::http::response bad_user_answer(const bad_user&);
/// To a failure of the database: 500 with its reason.
weft::http::response failed_answer(const std::exception&);
/// To GET /healthz: 200, whatever the database does.
weft::http::response health_answer();

}  // namespace users
