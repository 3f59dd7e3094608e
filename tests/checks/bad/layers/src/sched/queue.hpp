#include "../base/bits.hpp"
