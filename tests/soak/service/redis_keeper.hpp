// redis_keeper.hpp - a Redis server that is killed, frozen and started again at random, and keeps what it has acknowledged.
//
// A thread of its own does it: the child is to die with the thread that has started it, and that thread is to stay.
#pragma once

#include <cstdint>
#include <mutex>
#include <random>
#include <string>
#include <thread>

#include <weft/condition_variable.hpp>
#include <weft/mutex.hpp>

#include "redis/support/redis_server.hpp"
#include "soak/service/findings.hpp"
#include "soak/service/plan.hpp"
#include "soak/service/trouble.hpp"

namespace soak {

class redis_keeper {
public:
    /// Starts it; what it stores goes to `folder`. \throws std::runtime_error
    redis_keeper(const plan&, const std::string& folder, trouble&, counts&);
    /// Ends it.
    ~redis_keeper();
    redis_keeper(const redis_keeper&) = delete;
    redis_keeper& operator=(const redis_keeper&) = delete;

    const std::string& url() const noexcept { return url_; }

    /// Lets it come to grief from now on.
    void harm();
    /// \parks  until it is up and well, and stays so.
    void spare();
    /// Makes its file small again. It is spared. \parks
    void shorten_file();

private:
    enum class mode { starting, sparing, spared, harming, ending };

    void run(const std::string& folder);
    void harm_once(weft::test::redis_server&);
    /// \returns  whether it is still to be harmed.
    bool sleep(milliseconds);
    void set(mode);
    void wait_until_spared();

    const plan& plan_;
    trouble& trouble_;
    counts& counts_;
    std::mt19937_64 random_;
    weft::mutex mutex_;
    weft::condition_variable changed_;
    mode mode_ = mode::starting;
    std::string url_, failure_;
    std::thread thread_;
};

}  // namespace soak
