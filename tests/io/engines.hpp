// engines.hpp - the I/O engines that the tests of src/io/engine.hpp judge, and what they share.
#pragma once

#include <functional>
#include <string>

#include "fiber/waiter.hpp"
#include "io/epoll/epoll_engine.hpp"
#include "io/source.hpp"
#include "io_fixture.hpp"

namespace weft::test {

struct made_engine {
    const char* name;
    std::unique_ptr<detail::io_engine> (*make)();
};

template <class Engine>
std::unique_ptr<detail::io_engine> make_engine() {
    return std::make_unique<Engine>();
}

/// A new engine gets a line here.
inline constexpr made_engine all_engines[] = {
    {"epoll", make_engine<detail::epoll_engine>},
};

inline std::string name_of(const testing::TestParamInfo<made_engine>& of) { return of.param.name; }

class each_engine : public descriptor_check, public testing::WithParamInterface<made_engine> {
protected:
    std::unique_ptr<detail::io_engine> make() const { return GetParam().make(); }
};

/// Polls until the condition holds. \returns whether it does.
template <class Condition>
bool poll_until(detail::io_engine& d, Condition&& c) {
    const auto limit = detail::clock::now() + 5s;
    while (!c()) {
        if (detail::clock::now() > limit) return false;
        d.poll(detail::clock::now() + 5ms);
    }
    return true;
}

/// Reports all that is ready now, and gives an event that must not come the time to do so.
inline void poll_for_a_while(detail::io_engine& d) {
    for (int i = 0; i < 3; ++i) d.poll(detail::clock::now() + 1ms);
}

/// A source over one end of two connected descriptors, of which the test has the other.
class connected_source {
public:
    explicit connected_source(std::array<int, 2> fds = socket_pair()) : peer_(fds[1]), source_(detail::make_source(fds[0])) {}
    ~connected_source() {
        source_->drop();
        close_peer();
    }
    connected_source(const connected_source&) = delete;
    connected_source& operator=(const connected_source&) = delete;

    detail::io_source& operator*() { return *source_; }
    detail::io_source* operator->() { return source_; }
    int fd() const { return source_->descriptor(); }
    int peer() const { return peer_; }
    void close_peer() {
        if (peer_ >= 0) ::close(std::exchange(peer_, -1));
    }

    /// Registers it with the current engine. \returns 0 or a negated errno.
    long attach() {
        if (!source_->enter()) return -EBADF;
        const long result = source_->attach();
        source_->leave();
        return result;
    }
    auto reads() const { return source_->events(detail::io_direction::read); }
    auto writes() const { return source_->events(detail::io_direction::write); }

private:
    int peer_;
    detail::io_source* const source_;
};

/// A wait for an event of a source, in which no thread sleeps. The thread that ends it calls `then`,
/// inside on_event().
class wait_in_place : public detail::wait_cell {
public:
    explicit wait_in_place(std::function<void()> then = [] {})
        : wait_cell([](wait_cell& c) noexcept { static_cast<wait_in_place&>(c).end(); }), then_(std::move(then)) {}
    ~wait_in_place() {
        if (linked_to_ && !is_over()) linked_to_->delist(me_, way_);
    }

    [[nodiscard]] bool begin(detail::io_source& s, detail::io_direction way) {
        if (!s.enlist(me_, way, s.events(way))) return false;
        linked_to_ = &s;
        way_ = way;
        return true;
    }
    bool is_over() const { return over_; }

private:
    void end() {
        then_();
        over_ = true;
    }

    const std::function<void()> then_;
    detail::waiter me_{*this, word.begin(detail::interruptible::no)};
    detail::io_source* linked_to_ = nullptr;
    detail::io_direction way_{};
    std::atomic<bool> over_{false};
};

}  // namespace weft::test
