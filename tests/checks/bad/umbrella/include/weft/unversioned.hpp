// unversioned.hpp - BAD: it does not reach the requirements.
#pragma once

// #include <weft/detail/requirements.hpp>
#include <string>
