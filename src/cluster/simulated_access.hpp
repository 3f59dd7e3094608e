// simulated_access.hpp - how the calls of hosts reach a simulated store, and how they fail.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

#include <weft/cluster/store_faults.hpp>
#include <weft/condition_variable.hpp>
#include <weft/fiber.hpp>
#include <weft/mutex.hpp>
#include <weft/simulation.hpp>

namespace weft::cluster::detail {

/// The faults of a simulated store, and its one lock.
class simulated_access {
public:
    using time_point = std::chrono::steady_clock::time_point;

    weft::mutex lock;  // guards everything, also the content of the store
    weft::condition_variable changed;
    bool has_leader = true;

    void set_faults(const store_faults& faults) {
        const std::lock_guard guard(lock);
        faults_ = faults;
        faults_of_.clear();
    }
    void set_faults(std::string_view host, const store_faults& faults) {
        const std::lock_guard guard(lock);
        faults_of_.insert_or_assign(std::string(host), faults);
    }
    void cut(std::string_view host) { put_in(cuts_, host); }
    void heal(std::string_view host) { take_out(cuts_, host); }
    void freeze(std::string_view host) { put_in(frozen_, host); }
    void thaw(std::string_view host) { take_out(frozen_, host); }

    // The lock is held for these three.
    bool is_cut(const std::string& host) const { return cuts_.contains(host); }
    bool is_frozen(const std::string& host) const { return frozen_.contains(host); }
    std::chrono::nanoseconds delay(const std::string& host) const {
        constexpr std::uint32_t steps = 1000;  // chosen: fine enough for any test
        const auto& f = of(host);
        return f.least_delay + (f.most_delay - f.least_delay) * weft::draw(steps + 1) / steps;
    }

    [[noreturn]] static void fail() {
        throw std::system_error(std::make_error_code(std::errc::host_unreachable), "weft: the simulated store");
    }
    static bool happens(std::uint32_t one_in) { return one_in != 0 && weft::draw(one_in) == 0; }

    /// The way there, the work at one moment under the lock, and the way back.
    /// \param work  is given the held lock; it may wait by it
    template <class F>
    auto call(const std::string& host, F&& work) -> std::invoke_result_t<F, std::unique_lock<weft::mutex>&> {
        travel(host);
        std::unique_lock guard(lock);
        if (!has_leader || happens(of(host).fail_one_in)) fail();
        auto result = work(guard);
        const bool is_lost = happens(of(host).lose_answer_one_in);
        guard.unlock();
        travel(host);
        if (is_lost) fail();
        return result;
    }

private:
    static constexpr auto call_limit = std::chrono::seconds(5);

    const store_faults& of(const std::string& host) const {
        const auto found = faults_of_.find(host);
        return found == faults_of_.end() ? faults_ : found->second;
    }
    void travel(const std::string& host) {
        std::unique_lock guard(lock);
        changed.wait(guard, [&] { return !frozen_.contains(host); });
        if (cuts_.contains(host)) {
            changed.wait_for(guard, call_limit, [&] { return !cuts_.contains(host); });
            fail();
        }
        const auto d = delay(host);
        guard.unlock();
        if (d > d.zero()) weft::this_fiber::sleep_for(d);
        guard.lock();
        changed.wait(guard, [&] { return !frozen_.contains(host); });
    }

    using hosts = std::set<std::string, std::less<>>;
    void put_in(hosts& which, std::string_view host) {
        const std::lock_guard guard(lock);
        which.emplace(host);
    }
    void take_out(hosts& which, std::string_view host) {
        const std::lock_guard guard(lock);
        if (const auto found = which.find(host); found != which.end()) which.erase(found);
        changed.notify_all();
    }

    store_faults faults_;
    std::map<std::string, store_faults, std::less<>> faults_of_;  // by host
    hosts cuts_, frozen_;
};

}  // namespace weft::cluster::detail
