// one.hpp - left out with its folder.
#pragma once

#include <weft/detail/requirements.hpp>
