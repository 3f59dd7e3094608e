// thing.cpp - measures seed_D1_D8, and nothing else.
// seed_D97: there is none. BAD
