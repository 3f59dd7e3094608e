#include <weft/low.hpp>
