// a model, which says copied in a comment only
TEST(thing, good_ones) { use(good_twin); lend(); }
