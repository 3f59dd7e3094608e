// entry.cpp - libFuzzer's way into the target that the build names.
#include "targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    weft::fuzz::WEFT_FUZZ_TARGET({data, size});
    return 0;
}
