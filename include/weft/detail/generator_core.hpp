// generator_core.hpp - what every generator<T> shares: which body produces the next element.
//
// Invariants
//   GENERATOR_CORE-1  A flow is stored beside the body of its generator, on the coroutine's stack,
//                     so its address is valid as long as the generator.
//   GENERATOR_CORE-2  Flows that produce for one another form a list from `root->leaf` over
//                     `parent` to the root. All of them but the leaf are suspended in yield_from().
//                     An iterator resumes the leaf, so an element costs one round trip at any
//                     depth.
#pragma once

#include <exception>

#include <weft/detail/coroutine_core.hpp>
#include <weft/detail/export.hpp>

namespace weft::detail {

struct generator_flow {
    generator_flow() = default;
    generator_flow(generator_flow const&) = delete;
    generator_flow& operator=(generator_flow const&) = delete;

    coroutine_core* core = nullptr;
    generator_flow* root = this;
    generator_flow* leaf = this;  // used in a root only
    generator_flow* parent = nullptr;  // null: this is the root
    // Used in a root only: the element its iterators see; null before the first and after the last
    // one.
    void* element = nullptr;
    // The failure of the flow that produced for this one.
    std::exception_ptr failure;
    bool begun = false;
};

/// Runs to the next element or to the end.
WEFT_EXPORT void step_generator(generator_flow& root);

/// For the body of `flow`: returns when the element at `address` has been consumed.
inline void yield_element(generator_flow& flow, void* address) { yield_coroutine(*flow.core, address); }

/// For the body of `flow`: returns when `inner`, which must not have begun, has produced its last
/// element.
WEFT_EXPORT void yield_from(generator_flow& flow, generator_flow& inner);

}  // namespace weft::detail
