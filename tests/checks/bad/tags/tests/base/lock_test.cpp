TEST(lock, LOCK_1_MODEL_LOCK_1_one_holder) {}
TEST(lock, seed_Q4_ask_E3_two_rows) {}
TEST(lock, seed_Q4_LOCK_2_a_waiter_waits) {}
TEST(lock, LOCK_7_is_not_there) {}         // BAD
TEST(lock, LOCK_1_LOCK_8_is_not_there) {}  // BAD
TEST(lock, Q4_which_one) {}                // BAD
