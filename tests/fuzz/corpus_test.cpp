// corpus_test.cpp - every file of the corpora once through its target: what was found once stays mended, and the targets cannot rot.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "support/no_leaks.hpp"
#include "targets.hpp"

namespace weft::test {
namespace {

namespace files = std::filesystem;

std::vector<std::uint8_t> content_of(const files::path& p) {
    std::ifstream in(p, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

struct named_target {
    const char* name;
    void (*run)(fuzz::bytes);
};

class corpus : public ::testing::TestWithParam<named_target> {};

TEST_P(corpus, keeps_the_promises) {
    const auto folder = files::path(WEFT_CORPUS) / GetParam().name;
    std::vector<files::path> inputs{files::directory_iterator(folder), {}};
    ASSERT_FALSE(inputs.empty()) << folder;
    std::ranges::sort(inputs);
    for (const auto& p : inputs) {
        SCOPED_TRACE(p.string());
        std::printf("%s\n", p.filename().c_str());  // the last line, if it ends the program
        const auto bytes = content_of(p);
        GetParam().run(bytes);
    }
}

INSTANTIATE_TEST_SUITE_P(all, corpus,
                         ::testing::Values(named_target{"http", fuzz::http}, named_target{"answer", fuzz::answer},
                                           named_target{"redis", fuzz::redis}, named_target{"nats", fuzz::nats},
                                           named_target{"ws", fuzz::ws}, named_target{"message", fuzz::message},
                                           named_target{"endpoint", fuzz::endpoint}, named_target{"options", fuzz::options},
                                           named_target{"program", fuzz::program}),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace weft::test
