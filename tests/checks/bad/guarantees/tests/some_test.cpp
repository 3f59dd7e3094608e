TEST(known, is_there) {}
