// leans.cpp - compiles only behind another file that includes <vector>.
std::vector<int> numbers;
