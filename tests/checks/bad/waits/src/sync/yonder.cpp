constexpr wait_kind yonder_wait{.name = "good"};  // BAD
