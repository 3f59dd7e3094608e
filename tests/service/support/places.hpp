// places.hpp - where a test's users are kept, and the service running on top of them in this process.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include <weft/fiber.hpp>
#include <weft/runtime.hpp>

#include "redis/support/redis_server.hpp"
#include "serve.hpp"

namespace weft::test {

class temporary_folder {
public:
    temporary_folder() : path_((std::filesystem::temp_directory_path() / "weft-test-XXXXXX").string()) {
        if (!::mkdtemp(path_.data())) throw std::runtime_error("no temporary folder");
    }
    ~temporary_folder() { std::filesystem::remove_all(path_); }
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;

    std::string operator/(const std::string& name) const { return path_ + '/' + name; }

private:
    std::string path_;
};

struct sqlite_place {
    temporary_folder folder;
    std::string store() const { return folder / "users.db"; }
};

struct redis_place {
    redis_server server;
    std::string store() const { return server.url(); }
};

/// Runs body(port) while the service is up.
template <class F>
void with_site(const std::string& store, F&& body, unsigned workers = 2) {
    weft::run([&] {
        users::site here({.listen = "127.0.0.1:0", .store = store});
        auto serving = weft::spawn([&] { here.serve(); });
        body(here.local().port);
        here.stop(std::chrono::seconds(1));
        serving.join();
    }, {.workers = workers});
}

}  // namespace weft::test
