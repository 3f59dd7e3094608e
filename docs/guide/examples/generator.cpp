// generator.cpp - walks a tree as a range: the walk is written by recursion, its elements are taken one at a time.
#include <weft/generator.hpp>

#include <iostream>
#include <memory>
#include <ranges>
#include <string>

struct node {
    std::string name;
    std::unique_ptr<node> left = nullptr;
    std::unique_ptr<node> right = nullptr;
};

std::unique_ptr<node> leaf(std::string name) { return std::make_unique<node>(std::move(name)); }

void walk(const node* n, weft::yielder<const std::string&>& yield) {
    if (n == nullptr) return;
    walk(n->left.get(), yield);
    yield(n->name);  // from any depth of calls
    walk(n->right.get(), yield);
}

weft::generator<const std::string&> names_of(const node* root) {
    return weft::generator<const std::string&>([=](auto& yield) { walk(root, yield); });
}

int main() {
    const node birds{"heron", leaf("crane"), leaf("wren")};
    const node trees{"elm", leaf("ash"), leaf("oak")};

    for (const std::string& name : names_of(&birds) | std::views::take(2)) std::cout << name << '\n';

    weft::generator<std::string> both([&](weft::yielder<std::string>& yield) {
        yield("-- both");
        yield.from(names_of(&birds));  // any range whose elements convert
        yield.from(names_of(&trees));
    });
    for (const std::string& name : both) std::cout << name << '\n';
}
