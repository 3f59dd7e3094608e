// stack_report.cpp - the stack census as a user sees it: as values, and as a table on stderr.
#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "base/in_quotes.hpp"
#include "runtime/runtime_core.hpp"

namespace weft {
namespace {

std::string demangled(const std::type_info* type) {
    if (!type) return {};
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(type->name(), nullptr, nullptr, &status), std::free);
    return text ? text.get() : type->name();
}

std::vector<stack_use> uses_in(const detail::stack_census* census) {
    std::vector<stack_use> found;
    if (!census) return found;
    for (const auto& e : census->entries())
        found.push_back({.site = e.site,
                         .body = demangled(e.body),
                         .fibers = e.fibers,
                         .most_bytes = e.most,
                         .mean_bytes = e.sum / e.fibers,
                         .stack_bytes = e.stack_bytes});
    return found;
}

std::string site_of(const stack_use& use) {
    return use.site.line() != 0 ? std::string(use.site.file_name()) + ':' + std::to_string(use.site.line()) : use.body;
}

}  // namespace

std::vector<stack_use> runtime::stack_census() const {
    return core_->is_inherited() ? std::vector<stack_use>() : uses_in(core_->fibers().census());
}

std::size_t runtime::trim_stacks() { return core_->is_inherited() ? 0 : core_->fibers().trim_waiting_stacks(); }

void detail::runtime_core::print_census() noexcept {
    try {
        std::fprintf(stderr, "weft: stacks of runtime %s, in bytes\n%10s %10s %10s %10s  spawned at\n",
                     in_quotes(options_.name).c_str(), "most", "mean", "of", "fibers");
        for (const auto& use : uses_in(scheduler_->census()))
            std::fprintf(stderr, "%10zu %10zu %10zu %10llu  %s\n", use.most_bytes, use.mean_bytes, use.stack_bytes,
                         static_cast<unsigned long long>(use.fibers), site_of(use).c_str());
    } catch (const std::bad_alloc&) {
        std::fputs("weft: no memory for the rest of the table of stacks\n", stderr);
    }
}

}  // namespace weft
