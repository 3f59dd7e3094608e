// redis_keeper.cpp - kill -9, SIGSTOP, and a PING to know that it is over.
#include "soak/service/redis_keeper.hpp"

#include <stdexcept>

#include <weft/fiber.hpp>
#include <weft/net/tcp.hpp>
#include <weft/redis/client.hpp>

namespace soak {

namespace {

using namespace std::chrono_literals;

/// Waits until it answers, and has loaded what it had. On a plain thread.
void await_answers(std::uint16_t port) {
    const auto until = clock::now() + 60s;
    for (std::string answer; !answer.starts_with("+PONG");) {
        if (clock::now() > until) throw std::runtime_error("redis-server does not answer");
        std::this_thread::sleep_for(5ms);
        std::error_code error;
        auto stream = weft::tcp::stream::connect({.host = "127.0.0.1", .port = port}, error);
        if (!error) stream.write_all("PING\r\n", error);
        if (!error) answer = stream.read_until("\r\n", 100, error);
    }
}

}  // namespace

redis_keeper::redis_keeper(const plan& p, const std::string& folder, trouble& t, counts& n)
    : plan_(p), trouble_(t), counts_(n), random_(p.seed), thread_([this, folder] { run(folder); }) {
    try {
        wait_until_spared();
    } catch (...) {
        thread_.join();
        throw;
    }
}

redis_keeper::~redis_keeper() {
    set(mode::ending);
    thread_.join();
}

void redis_keeper::harm() { set(mode::harming); }

void redis_keeper::spare() {
    set(mode::sparing);
    wait_until_spared();
}

void redis_keeper::set(mode m) {
    const std::lock_guard lock(mutex_);
    mode_ = m;
    changed_.notify_all();
}

void redis_keeper::wait_until_spared() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return mode_ == mode::spared || !failure_.empty(); });
    if (!failure_.empty()) throw std::runtime_error(failure_);
}

bool redis_keeper::sleep(milliseconds time) {
    std::unique_lock lock(mutex_);
    return !changed_.wait_for(lock, time, [&] { return mode_ != mode::harming; });
}

void redis_keeper::run(const std::string& folder) try {
    weft::test::redis_server server(
        {"--appendonly", "yes", "--appendfsync", "no", "--auto-aof-rewrite-percentage", "0", "--dir", folder});
    await_answers(server.port());
    url_ = server.url();
    set(mode::spared);
    for (;;) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return mode_ != mode::spared; });
        const auto now = mode_;
        lock.unlock();
        if (now == mode::ending) return;
        if (now == mode::sparing) set(mode::spared);
        if (now == mode::harming && sleep(plan_.redis_life() + plan_.redis_life() * (random_() % 1000) / 500)) harm_once(server);
    }
} catch (const std::exception& failure) {
    const std::lock_guard lock(mutex_);
    failure_ = failure.what();
    changed_.notify_all();
}

void redis_keeper::harm_once(weft::test::redis_server& server) {
    trouble_.begin();
    const auto time = plan_.redis_trouble() * (random_() % 1000) / 1000;
    const bool freezes = random_() % 3 == 0, kills = !freezes || random_() % 3 == 0;
    if (freezes) {
        server.freeze();
        counts_.freezes.fetch_add(1);
        sleep(time);
    }
    if (kills) {
        server.kill();
        counts_.kills.fetch_add(1);
        sleep(time);
        server.start();
    } else {
        server.thaw();
    }
    await_answers(server.port());
    trouble_.end();
}

void redis_keeper::shorten_file() {
    weft::redis::client db(url_, {.connections = 1});
    db.command("BGREWRITEAOF");
    do weft::this_fiber::sleep_for(20ms);
    while (db.command("INFO", "persistence").text().find("aof_rewrite_in_progress:1") != std::string::npos);
}

}  // namespace soak
