// work.hpp - the jobs of the tests of work queues.
#pragma once

#include <new>
#include <span>
#include <string>

#include <weft/cluster.hpp>
#include <weft/cluster/json.hpp>

namespace works {

struct job {
    int n = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(job, n)
};
/// Named as a job, and written in another way.
struct broken {
    std::string text;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(broken, text)
};
/// A job of a later release.
struct later {
    int n = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(later, n)
};
/// A job as an earlier release knows it.
struct earlier {
    int n = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(earlier, n)
};
/// What cannot be read the first time, for want of memory.
struct greedy {
    int n = 0;
    static inline int reads = 0;
};
struct foreign {
    int n = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(foreign, n)
};

}  // namespace works

WEFT_WIRE(works::job, "works.job", 2, 1);
WEFT_WIRE(works::broken, "works.job", 2);
WEFT_WIRE(works::later, "works.job", 3);
WEFT_WIRE(works::earlier, "works.job", 1);
WEFT_WIRE(works::greedy, "works.greedy", 1);
WEFT_WIRE(works::foreign, "works.foreign", 1);

template <>
struct weft::cluster::wire_format<works::greedy> {
    static void write(const works::greedy&, std::uint32_t, std::vector<std::byte>&) {}
    static works::greedy read(std::span<const std::byte>, std::uint32_t) {
        if (works::greedy::reads++ == 0) throw std::bad_alloc();
        return {.n = works::greedy::reads};
    }
};
