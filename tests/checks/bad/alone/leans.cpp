// leans.cpp - compiles only behind another file that includes <map>.
std::map<int, int> numbers;
