// hook_test.cpp - what a hook throws is printed as one line, and reaches no caller.
#include "fiber/hook.hpp"

#include <weft/stop.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "base/seldom.hpp"

namespace weft::test {
namespace {

using detail::call_hook;

template <class F>
std::string said_by(F f) {
    ::testing::internal::CaptureStderr();
    f();
    return ::testing::internal::GetCapturedStderr();
}

TEST(hooks, that_throw_are_named_with_what_they_threw) {
    EXPECT_EQ(said_by([] { call_hook("on_tea", [] { throw std::runtime_error("too\nhot"); }); }),
              "weft: on_tea has thrown: too\\x0ahot\n");
    EXPECT_EQ(said_by([] { call_hook("on_tea", [] { throw 7; }); }),
              "weft: on_tea has thrown: something that is not a std::exception\n");
}

TEST(hooks, that_return_or_are_stopped_say_nothing) {
    bool called = false;
    EXPECT_EQ(said_by([&] { call_hook("on_tea", [&] { called = true; }); }), "");
    EXPECT_TRUE(called);
    EXPECT_EQ(said_by([] { call_hook("on_tea", [] { throw cancelled(); }); }), "");
}

TEST(hooks, that_outsiders_set_off_do_not_flood_the_log) {
    detail::seldom lines;
    EXPECT_EQ(said_by([&] {
                  for (int i = 0; i < 100; ++i)
                      call_hook(
                          "on_tea", [] { throw std::runtime_error("cold"); }, &lines);
              }),
              "weft: on_tea has thrown: cold\n");
}

}  // namespace
}  // namespace weft::test
