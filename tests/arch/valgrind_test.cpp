// valgrind_test.cpp - a build without Valgrind's header knows whether it runs there. tests/tools/check_valgrind.py runs it both ways.
#include "arch/valgrind.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

namespace weft::detail {
namespace {

TEST(valgrind, is_known_where_it_runs) {
    const char* const loaded = std::getenv("LD_PRELOAD");  // memcheck's own library
    EXPECT_EQ(running_on_valgrind(), loaded && std::string_view(loaded).find("vgpreload") != std::string_view::npos);
}

}  // namespace
}  // namespace weft::detail
