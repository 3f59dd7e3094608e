// forgotten.hpp - BAD: no line of weft.hpp names it.
#pragma once

#include <weft/detail/requirements.hpp>
