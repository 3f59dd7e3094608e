// hello.cpp - two fibers work at once, a third waits for both.
#include <weft/weft.hpp>

#include <iostream>
#include <sstream>
#include <string>

std::size_t count_words(std::string text) {
    std::istringstream in(std::move(text));
    std::size_t n = 0;
    for (std::string word; in >> word;) {
        ++n;
        weft::this_fiber::yield();  // lets the others go on
    }
    return n;
}

int main() {
    return weft::run([] {
        auto left = weft::spawn(count_words, "straight down the page");
        auto right = weft::spawn({.name = "right"}, [] { return count_words("as if every call blocked"); });
        std::cout << left.join() + right.join() << " words\n";
        return 0;
    });
}
