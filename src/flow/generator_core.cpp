// generator_core.cpp - resumes the generator of a nest that is to produce the next element.
#include <weft/detail/generator_core.hpp>

#include <utility>

#include "base/panic.hpp"

namespace weft::detail {
namespace {

// A failure of the root is thrown to the caller. The failure of any other generator goes to the
// body that asked for its elements.
void* step_leaf(generator_flow& leaf) {
    try {
        return call_coroutine(*leaf.core, nullptr);
    } catch (...) {
        if (leaf.parent == nullptr) throw;
        leaf.parent->failure = std::current_exception();
        return nullptr;
    }
}

}  // namespace

void step_generator(generator_flow& root) {
    root.begun = true;
    root.element = nullptr;
    for (;;) {
        generator_flow& leaf = *root.leaf;
        root.element = step_leaf(leaf);
        if (root.element != nullptr) return;
        if (root.leaf != &leaf) continue;  // it has yielded from another generator
        require(state_of(*leaf.core) == coroutine_state::done, "the body of a generator yields by its yielder only");
        if (leaf.parent == nullptr) return;
        root.leaf = leaf.parent;
    }
}

void yield_from(generator_flow& flow, generator_flow& inner) {
    inner.begun = true;
    inner.root = flow.root;
    inner.parent = &flow;
    flow.root->leaf = &inner;
    yield_coroutine(*flow.core, nullptr);
    if (flow.failure) std::rethrow_exception(std::exchange(flow.failure, nullptr));
}

}  // namespace weft::detail
