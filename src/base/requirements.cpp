// requirements.cpp - a constant whose name tells if the library was built with _GLIBCXX_DEBUG.
#include <weft/detail/requirements.hpp>

namespace weft::detail {

#ifdef _GLIBCXX_DEBUG
const char built_with_GLIBCXX_DEBUG = 0;
#else
const char built_without_GLIBCXX_DEBUG = 0;
#endif

}  // namespace weft::detail
