// users.cpp - the users service on SQLite: seed 004's experiment without Redis.
//
// Rows of the seeds (docs/seeds/rows.md): seed_R10.
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

#include <serve.hpp>
#include <weft/fiber.hpp>
#include <weft/scope.hpp>

#include "hogs.hpp"
#include "load.hpp"
#include "session.hpp"
#include "workloads.hpp"

namespace bench {
namespace {

/// A folder that goes with everything in it.
class scratch_folder {
public:
    scratch_folder() : path_((std::filesystem::temp_directory_path() / "weft-bench-XXXXXX").string()) {
        if (::mkdtemp(path_.data()) == nullptr) throw std::system_error(errno, std::generic_category(), path_);
    }
    ~scratch_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    scratch_folder(const scratch_folder&) = delete;
    scratch_folder& operator=(const scratch_folder&) = delete;
    std::string file(const char* name) const { return path_ + '/' + name; }

private:
    std::string path_;
};

constexpr unsigned hogs_beside = 16;   // required by issue 4

/// Calls f beside fibers of this runtime that compute all the while.
template <class F>
void beside_hogs(F&& f) {
    crew hogs(hog_kinds().front(), hogs_beside, [] { weft::this_fiber::yield(); });
    weft::with_scope([&](weft::scope& s) {
        const struct ending {
            crew& all;
            ~ending() { all.end(); }   // also if f throws, or they would be waited for in vain
        } end{hogs};
        for (unsigned i = 0; i < hogs_beside; ++i) s.spawn([&hogs, i] { hogs.run(i); });
        f();
    });
}

}  // namespace

void users_workload(session& s) {
    const scratch_folder place;
    const auto store = place.file("users.db");
    const auto with_service = [&](const auto& use) {
        users::open_store(store)->put({.id = "1", .name = "Ann"});
        users::site here({.listen = "127.0.0.1:0", .store = store});
        served open{here.local(), [&] { here.serve(); }, [&] { here.stop(std::chrono::seconds(1)); }};
        use(open);
    };
    measure_server(s, {"/users/1", s.n(50'000)}, with_service);
    measure_server(s, {"/users/1", s.at_most(20'000, 20'000), "fibers/hogs-" + std::to_string(hogs_beside), company::hogs},
                   [&](const auto& use) { beside_hogs([&] { with_service(use); }); });
}

}  // namespace bench
