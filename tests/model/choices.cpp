// choices.cpp - depth-first search by replay.
#include "model/choices.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>

namespace model {
namespace {

[[noreturn]] void refuse(const char* why) {
    std::fprintf(stderr, "model: %s\n", why);
    std::abort();
}

}  // namespace

choices::choices(std::string_view text) {
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at < end) {
        unsigned taken = 0;
        const auto [rest, error] = std::from_chars(at, end, taken);
        if (error != std::errc{}) refuse("the replay text is numbers with dots between them");
        path_.push_back({taken, 0});
        at = rest + (rest < end ? 1 : 0);
    }
}

unsigned choices::choose(unsigned count) {
    if (count == 1 || !branching_) return 0;
    if (depth_ == path_.size()) path_.push_back({0, count});
    node& n = path_[depth_++];
    if (n.count == 0) n.count = count;
    if (n.count != count || n.taken >= count)
        refuse("the test body did not take the same way again: it depends on something outside the model");
    return n.taken;
}

bool choices::next() {
    branching_ = true;
    path_.resize(depth_);
    depth_ = 0;
    while (!path_.empty() && path_.back().taken + 1 >= path_.back().count) path_.pop_back();
    if (path_.empty()) return false;
    ++path_.back().taken;
    return true;
}

std::string choices::text() const {
    std::string out;
    for (std::size_t i = 0; i < depth_; ++i) {
        if (i != 0) out += '.';
        out += std::to_string(path_[i].taken);
    }
    return out;
}

}  // namespace model
