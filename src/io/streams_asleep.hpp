// streams_asleep.hpp - the servers whose silent connections hold no fiber, for dumps.
//
// Invariants
//   STREAMS_ASLEEP-1  An entry is in the list from the end of its construction until its destruction
//                     begins, and the streams it names live longer. A caller that has it from all()
//                     keeps it: the destructor waits until it is given back. The list's lock is not
//                     held meanwhile, so that it is a leaf lock (FORK-1).
//   STREAMS_ASLEEP-2  A forked child begins with an empty list.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <weft/detail/export.hpp>

#include "base/atomic.hpp"
#include "io/idle_streams.hpp"

namespace weft::detail {

class scheduler;

class WEFT_EXPORT streams_asleep {
public:
    /// \lifetime  `owner` is a literal.
    /// \throws    std::bad_alloc
    streams_asleep(const idle_streams_core& streams, const scheduler& home, std::string_view owner, std::string address);
    ~streams_asleep();
    streams_asleep(const streams_asleep&) = delete;
    streams_asleep& operator=(const streams_asleep&) = delete;

    const idle_streams_core& streams() const noexcept { return streams_; }
    bool belongs_to(const scheduler& s) const noexcept { return &home_ == &s; }
    std::string_view owner() const noexcept { return owner_; }
    const std::string& address() const noexcept { return address_; }

    struct gives_back {
        // pairs with the destructor
        void operator()(streams_asleep* e) const noexcept { e->viewers_.fetch_sub(1, release); }
    };
    using viewed = std::unique_ptr<streams_asleep, gives_back>;  // STREAMS_ASLEEP-1
    /// All entries, the oldest first. \throws std::bad_alloc
    static std::vector<viewed> all();

private:
    streams_asleep* next_ = nullptr;  // guarded by the lock of the list
    const idle_streams_core& streams_;
    const scheduler& home_;
    const std::string_view owner_;
    const std::string address_;
    atomic<unsigned> viewers_{0};
};

}  // namespace weft::detail
