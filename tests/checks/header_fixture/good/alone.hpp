// alone.hpp - includes what it uses.
#pragma once

#include <string>

inline std::string greeting() { return "hello"; }
