// subject.cpp - what tests/prefork starts: a server of lines as a master and its workers.
//
//   subject BEHAVIOUR [PROCESSES [ORPHANS [PORT]]]
//
// PROCESSES is a number, or the path of a file that holds it. PORT is a number or a Unix socket, as an
// endpoint.
// It answers "x" by "x PID GENERATION", and once it is to end by "x PID GENERATION close", after which it closes. BEHAVIOUR is a word, or the
// path of a file that holds it, which each worker reads when it starts:
//   serve   as said          crash   ends with 7         stuck   never gets ready
//   noisy   serves, and writes lines without an end
//   halves  serves, and writes the first half of a line when it begins, and the second when it ends
//   replace generation 1 crashes, others wait until the file says something else
//   stubborn  does not end when it is stopped
//   kinds   serves, after it has asked for its port as each of the two kinds
//   plain   serves without wait_for_stop(), so that it is stopped
#include <weft/io/buffered_reader.hpp>
#include <weft/prefork.hpp>

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

using namespace std::chrono_literals;

namespace {

std::string behaviour(const std::string& word) {
    std::ifstream file(word);
    std::string in_file;
    return file >> in_file ? in_file : word;
}

class server {
public:
    explicit server(weft::prefork::worker& w)
        : name_(' ' + std::to_string(::getpid()) + ' ' + std::to_string(w.generation())), listener_(w.any_listener(0)) {}

    void serve() {
        weft::with_scope({.on_failure = weft::on_failure::report}, [&](weft::scope& connections) {
            try {
                for (;;) connections.spawn([this, s = listener_.accept()]() mutable { answer(s); });
            } catch (const std::system_error&) {
                if (listener_.is_open()) throw;
            }
        });
    }
    void stop() {
        is_ending_ = true;
        listener_.close();
    }

private:
    void answer(weft::io::byte_stream& peer) {
        weft::io::buffered_reader lines(peer);
        for (;;) {
            std::error_code error;  // the peer has gone
            auto line = lines.read_until('\n', 4096, error);
            if (error || line.empty()) return;
            line.pop_back();
            if (line == "sleep") weft::this_fiber::sleep_for(50ms);
            const bool last = is_ending_;
            peer.write_all(line + name_ + (last ? " close\n" : "\n"), error);
            if (last || error) return;
        }
    }

    const std::string name_;
    weft::io::byte_listener listener_;
    std::atomic<bool> is_ending_{false};
};

void work(weft::prefork::worker& w, const std::string& word) {
    const auto how = behaviour(word);
    if (how == "replace") {
        if (w.generation() == 1) std::_Exit(7);
        while (behaviour(word) == how) weft::this_fiber::sleep_for(10ms);
    }
    if (how == "crash") std::_Exit(7);
    if (std::getenv("LISTEN_FDS")) throw std::runtime_error("LISTEN_FDS was not taken out of the environment");
    if (how == "throw") throw std::runtime_error("thrown by the worker");
    if (how == "stuck") weft::this_fiber::sleep_for(1h);
    if (how == "stubborn") {
        const weft::shield s;
        w.ready();
        weft::this_fiber::sleep_for(1h);
    }
    if (how == "noisy")
        weft::spawn([] {
            for (;; weft::this_fiber::sleep_for(1ms))
                for (int i = 0; i < 50; ++i) std::cout << std::string(100, 'x') << std::endl;
        }).detach();
    if (how == "kinds") {
        const auto complaint = [](auto&& ask) -> std::string {
            try {
                ask();
                return "";
            } catch (const std::logic_error& e) {
                return e.what();
            }
        };
        const auto wrong = complaint([&] { static_cast<void>(w.listener(0)); });
        std::cout << wrong << std::endl;
        if (wrong.empty()) return;
        auto right = w.unix_listener(0);
        std::cout << to_string(right.local()) << " was taken" << std::endl;
        std::cout << complaint([&] { static_cast<void>(w.any_listener(0)); }) << std::endl;
        w.ready();
        return;
    }
    server here(w);
    if (how == "halves") {
        std::cout << "first half" << std::flush;
        w.serve([&] { here.serve(); }, [&] { here.stop(); });
        std::cout << ", second half" << std::endl;
        return;
    }
    std::cout << "worker " << w.number() << " begins" << std::endl;
    if (how == "plain") {
        w.ready();
        return here.serve();
    }
    w.serve([&] { here.serve(); },
            [&](weft::prefork::ending what) {
                std::cout << (what == weft::prefork::ending::program ? "the program ends" : "this worker ends") << std::endl;
                here.stop();
            });
    std::cout << "worker " << w.number() << " is done" << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
    using weft::prefork::orphans;
    const std::string word = argc > 1 ? argv[1] : "serve";
    const std::string left_alone = argc > 3 ? argv[3] : "drain";
    const std::string where = argc > 4 ? argv[4] : "0";
    const auto port = weft::net::endpoint::parse(where.starts_with("unix:") ? where : "127.0.0.1:" + where);
    const weft::prefork::options o{
        .processes = argc > 2 ? static_cast<unsigned>(std::stoi(behaviour(argv[2]))) : 2,
        .listen = {port},
        .grace = 5s,
        .ready_within = word == "stuck" ? 100ms : 20s,
        .max_restarts = 3,
        .within = 60s,
        .orphans = left_alone == "end"     ? orphans::end
                   : left_alone == "go_on" ? orphans::go_on
                                           : orphans::drain,
        .on_ready = [](auto ports) { std::cout << "port " << ports[0].port << " at " << to_string(ports[0]) << std::endl; },
        .runtime = {.workers = 1},
    };
    return weft::prefork::run(argc, argv, o, [&](weft::prefork::worker& w) { work(w, word); });
}
