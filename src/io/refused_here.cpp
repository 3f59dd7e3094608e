#include "io/refused_here.hpp"

#include <string>

#include "sched/simulate/simulator.hpp"

namespace weft::detail {
namespace {

class simulation_errors final : public std::error_category {
    const char* name() const noexcept override { return "simulation"; }
    std::string message(int) const override {
        return "a simulated runtime has no descriptors, signals or processes (runtime_options::simulate)";
    }
    std::error_condition default_error_condition(int) const noexcept override {
        return std::make_error_condition(std::errc::operation_not_supported);
    }
};

}  // namespace

std::error_code refused_here() noexcept {
    static const simulation_errors category;
    return simulator_here() ? std::error_code(1, category) : std::error_code();
}

void refuse_here(const char* what) {
    if (const auto error = refused_here()) throw std::system_error(error, what);
}

}  // namespace weft::detail
