constexpr wait_kind good_wait{.name = "good"};
constexpr wait_kind good_twin_wait{
    .name = "good"};  // allowed: the same primitive
constexpr wait_kind excused_wait{.name = "excused"};
constexpr wait_kind untried_wait{.name = "untried"};
constexpr wait_kind unlisted_wait{.name = "unlisted"};  // BAD
// constexpr wait_kind no_code_wait{.name = "in a comment"};
