// choices.hpp - the path through the tree of choices: depth first, by running the test again along a recorded prefix.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace model {

class choices {
public:
    choices() = default;
    explicit choices(std::string_view text);  ///< the path that text() printed; later choices take the first branch

    /// \returns a branch below `count`. The first visit of a node takes 0, each later one the next.
    unsigned choose(unsigned count);

    /// From here to the end of this run every choice takes its first branch and is not remembered.
    void stop_branching() noexcept { branching_ = false; }
    [[nodiscard]] bool branching() const noexcept { return branching_; }

    /// Goes to the next path. \returns false once every path has been run.
    [[nodiscard]] bool next();

    [[nodiscard]] std::string text() const;

private:
    struct node {
        unsigned taken;
        unsigned count;  // 0: given by text, not known yet
    };
    std::vector<node> path_;
    std::size_t depth_ = 0;
    bool branching_ = true;
};

}  // namespace model
