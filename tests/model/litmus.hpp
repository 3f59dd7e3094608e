// litmus.hpp - the words of the model tests: the modelled names, options, and the set of all outcomes of a small program.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "base/atomic.hpp"
#include "model/model.hpp"

namespace litmus {

using weft::detail::acq_rel;
using weft::detail::acquire;
using weft::detail::atomic;
using weft::detail::fence;
using weft::detail::plain;
using weft::detail::relaxed;
using weft::detail::release;
using weft::detail::seq_cst;

inline const model::options everything = {.preemptions = model::unlimited};

using outcome = std::vector<int>;
using outcomes = std::set<outcome>;

/// Runs `body`, which returns an outcome, in every way there is.
template <class Body>
outcomes all(const Body& body, const model::options& o = everything) {
    outcomes seen;
    const model::result r = model::explore(o, [&](model::execution& x) { seen.insert(body(x)); });
    EXPECT_TRUE(r.ok) << r.report;
    EXPECT_TRUE(r.complete);
    return seen;
}

/// Every outcome of `registers` values that are each 0 or 1, without those in `forbidden`.
inline outcomes bits(unsigned registers, const outcomes& forbidden = {}) {
    outcomes out;
    for (unsigned b = 0; b < 1U << registers; ++b) {
        outcome o;
        for (unsigned i = registers; i-- > 0;) o.push_back(static_cast<int>(b >> i & 1U));
        if (!forbidden.contains(o)) out.insert(o);
    }
    return out;
}

}  // namespace litmus
