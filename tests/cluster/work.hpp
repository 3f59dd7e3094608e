// work.hpp - the jobs of the tests of work queues.
#pragma once

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
struct foreign {
    int n = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(foreign, n)
};

}  // namespace works

WEFT_WIRE(works::job, "works.job", 2, 1);
WEFT_WIRE(works::broken, "works.job", 2);
WEFT_WIRE(works::later, "works.job", 3);
WEFT_WIRE(works::earlier, "works.job", 1);
WEFT_WIRE(works::foreign, "works.foreign", 1);
