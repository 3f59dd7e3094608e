// scramble.cpp - a library with a C interface, at -O3 and without debug information: somebody else's code, as far as weft can see.
#include "scramble.h"

extern "C" uint64_t scramble(uint64_t seed, uint64_t times) {
    for (; times > 0; --times) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
    }
    return seed;
}
