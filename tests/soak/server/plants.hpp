// plants.hpp - faults the soak's server has on demand, so that it can be seen that the soak finds them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/fiber.hpp>

#include "store.hpp"

namespace soak {

enum class fault { none, fiber, descriptor, memory, thread, answer, line, straggler };

/// The faults that `names` lists, with commas between them. \throws  std::invalid_argument
std::vector<fault> faults_from(std::string_view names);

/// A store that hands everything on; every `every`-th operation it commits its faults.
class faulty_store final : public users::store {
public:
    faulty_store(std::unique_ptr<users::store> real, std::vector<fault> faults, std::uint64_t every)
        : real_(std::move(real)), faults_(std::move(faults)), every_(every) {}

    std::optional<users::user> get(std::string_view id) override;
    void put(const users::user&) override;
    bool remove(std::string_view id) override;

private:
    /// \returns  whether this operation is to answer wrongly.
    bool commit();
    static bool commit(fault);

    const std::unique_ptr<users::store> real_;
    const std::vector<fault> faults_;
    const std::uint64_t every_;
    std::atomic<std::uint64_t> operations_{0};
};

}  // namespace soak
