#pragma once
#include <cstddef>
#include <unistd.h>            // BAD: a system header in a public one
#include <boost/config.hpp>    // BAD: a library in a public one
#include "base/bits.hpp"       // BAD: a private header in a public one
#include <weft/high.hpp>       // BAD: looks up
#include <weft/absent.hpp>     // BAD: does not exist
// #include <weft/high.hpp> is only spoken of here
