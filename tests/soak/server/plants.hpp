// plants.hpp - faults the soak's server has on demand, so that it can be seen that the soak finds them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <weft/fiber.hpp>

#include "store.hpp"

namespace soak {

enum class fault { none, fiber, descriptor, memory, thread, answer, line, straggler };

/// \throws  std::invalid_argument
fault fault_from(const std::string& name);

/// A store that hands everything on; every `every`-th operation it commits its fault.
class faulty_store final : public users::store {
public:
    faulty_store(std::unique_ptr<users::store> real, fault f, std::uint64_t every)
        : real_(std::move(real)), fault_(f), every_(every) {}

    std::optional<users::user> get(std::string_view id) override;
    void put(const users::user&) override;
    bool remove(std::string_view id) override;

private:
    /// \returns  whether this operation is to answer wrongly.
    bool commit();

    const std::unique_ptr<users::store> real_;
    const fault fault_;
    const std::uint64_t every_;
    std::atomic<std::uint64_t> operations_{0};
};

}  // namespace soak
