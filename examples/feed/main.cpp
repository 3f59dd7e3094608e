// main.cpp - feed PEOPLE NUTRIENTS: prints how many microseconds it takes with a thread each and with a coroutine each.
#include "program.hpp"

int main(int argc, char** argv) { return feed_program(argc, argv); }
