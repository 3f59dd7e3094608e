// other.cpp - it offers a lend(), which its tests call by that name.
constexpr wait_kind copied_wait{.name = "copied"};
constexpr wait_kind borrowed_wait{.name = "borrowed"};
constexpr wait_kind lent_wait{.name = "lent"};
