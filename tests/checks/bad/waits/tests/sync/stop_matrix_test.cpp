TEST(suite, name) { use("a_row", good, good_twin); lend(); }
