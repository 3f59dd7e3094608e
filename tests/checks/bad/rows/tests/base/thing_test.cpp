TEST(thing, seed_D1_D8_holds) {}
TEST_P(thing, TAG_1_seed_L2_holds) {}
TEST(thing, DISABLED_seed_D3_holds) {}
TEST(thing, seed_D99_is_no_row) {}         // BAD
TYPED_TEST(thing, seed_d1_is_no_row) {}    // BAD
TEST(thing, seeds_and_seed_of_others_name_none) {}
