// leaning.hpp - relies on its user to have included <string>.
#pragma once

inline std::string greeting() { return "hello"; }
