// stores.hpp - the three storages for fibers, as stores of the users service.
#pragma once

#include <memory>

#include "options.hpp"
#include "store.hpp"

namespace variants {

/// Inside a runtime.
/// \throws  std::invalid_argument naming the URL that is wrong.
std::unique_ptr<users::store> make_store(const options&);

}  // namespace variants
