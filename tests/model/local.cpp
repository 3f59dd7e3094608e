// local.cpp - fiber-local values in the model build: each thread of the run has its own.
#include <algorithm>

#include "sched/wait/wait.hpp"

namespace weft::detail {

local_key::local_key() : id_(reinterpret_cast<std::uintptr_t>(this)), slot_(0) {}
local_key::~local_key() = default;

local_value* local_key::find() const noexcept {
    auto& mine = parties::values();
    const auto found = std::ranges::find_if(mine, [this](const auto& v) { return v->key_ == id_; });
    return found == mine.end() ? nullptr : found->get();
}

local_value& local_key::keep(std::unique_ptr<local_value> v) const {
    v->key_ = id_;
    return *parties::values().emplace_back(std::move(v));
}

}  // namespace weft::detail
