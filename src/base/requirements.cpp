// requirements.cpp - the constant by which the library says what its containers are.
#include <weft/detail/requirements.hpp>

namespace weft::detail {

#ifdef _GLIBCXX_DEBUG
const char built_with_GLIBCXX_DEBUG = 0;
#else
const char built_without_GLIBCXX_DEBUG = 0;
#endif

}  // namespace weft::detail
