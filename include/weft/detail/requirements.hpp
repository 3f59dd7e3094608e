// requirements.hpp - what a file that uses weft must be compiled with.
//
// Headers that would otherwise cause long error messages include it first, so that a wrong flag is
// reported in one line.
#pragma once

#include <version>

#if __cplusplus < 202002L
#error "weft needs C++20: compile with -std=c++20 or later"
#endif
#ifndef __GLIBCXX__
#error "weft needs libstdc++, the standard library of g++: compile without -stdlib=libc++"
#endif
#ifndef __cpp_rtti
#error "weft needs run-time type information: compile without -fno-rtti"
#endif
#ifndef __cpp_exceptions
#error "weft needs exceptions, a stop is one: compile without -fno-exceptions"
#endif

#include <weft/detail/abi.hpp>
#include <weft/detail/export.hpp>

// With _GLIBCXX_DEBUG the containers of the standard library are other classes with other sizes.
// Each file refers to the constant of its own kind and the library defines only that of its own, so
// the two link only if they agree. The models are built without the library.
#ifndef WEFT_MODEL
namespace weft::detail {

#ifdef _GLIBCXX_DEBUG
WEFT_EXPORT extern const char built_with_GLIBCXX_DEBUG;
[[gnu::used]] static const char* const containers_of_this_file = &built_with_GLIBCXX_DEBUG;
#else
WEFT_EXPORT extern const char built_without_GLIBCXX_DEBUG;
[[gnu::used]] static const char* const containers_of_this_file = &built_without_GLIBCXX_DEBUG;
#endif

}  // namespace weft::detail
#endif
