# Refuses, with one line, what weft cannot be compiled with. include/weft/detail/requirements.hpp refuses the same in a user's file, whose
# flags may be others. Each reason needs a compilation only where not all is well.
include(CheckCXXSourceCompiles)

check_cxx_source_compiles([[
#include <version>
#if !defined(__GLIBCXX__) || !defined(__cpp_rtti) || !defined(__cpp_exceptions)
#error
#endif
int main() {}
]] WEFT_HAS_REQUIRED_FLAGS)

# weft_require(macro sentence)
function(weft_require macro sentence)
    unset(WEFT_REQUIRED CACHE)
    set(CMAKE_REQUIRED_QUIET ON)
    check_cxx_source_compiles("#include <version>\n#ifndef ${macro}\n#error\n#endif\nint main() {}\n" WEFT_REQUIRED)
    if(NOT WEFT_REQUIRED)
        unset(WEFT_HAS_REQUIRED_FLAGS CACHE)   # asked again when the flags have been changed
        unset(WEFT_REQUIRED CACHE)
        message(FATAL_ERROR "weft: ${sentence}")
    endif()
    unset(WEFT_REQUIRED CACHE)
endfunction()

if(NOT WEFT_HAS_REQUIRED_FLAGS)
    weft_require(__cpp_rtti "weft needs run-time type information: compile without -fno-rtti")
    weft_require(__cpp_exceptions "weft needs exceptions, a stop is one: compile without -fno-exceptions")
    weft_require(__GLIBCXX__ "weft needs libstdc++, the standard library of g++: compile without -stdlib=libc++")
    unset(WEFT_HAS_REQUIRED_FLAGS CACHE)
endif()
