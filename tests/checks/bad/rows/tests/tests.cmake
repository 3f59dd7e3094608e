add_test(NAME check.thing.seed_D5 COMMAND true)
add_test(NAME check.thing.seed_D98 COMMAND true)   # BAD
