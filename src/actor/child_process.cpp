// child_process.cpp - the public side of supervised processes, and what such a process finds.
#include <weft/child_process.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <optional>

#include "actor/process_child.hpp"
#include "base/direct.hpp"
#include "io/pipe.hpp"

namespace weft {
namespace {

constexpr const char* listen_variable = "WEFT_LISTEN";
constexpr const char* ready_variable = "WEFT_READY";

std::optional<std::string> take_variable(const char* name) {
    const char* const value = std::getenv(name);
    if (!value) return std::nullopt;
    std::string text = value;
    ::unsetenv(name);
    return text;
}

/// The number of a descriptor that is open here, as text; it becomes close-on-exec.
int taken_descriptor(std::string_view text, const char* variable, const std::string& whole) {
    int fd = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), fd);
    if (error != std::errc() || end != text.data() + text.size() || fd < 0 || detail::direct::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
        throw std::invalid_argument(std::string("weft: ") + variable + "=\"" + whole + "\": \"" + std::string(text) +
                                    "\" is not the number of an open descriptor");
    return fd;
}

}  // namespace

child_process start_process(const actor_ref<supervisor>& s, const child_attributes& a, process_spec spec) {
    return detail::start_process_with(s, a, std::move(spec), {});
}

child_process detail::start_process_with(const actor_ref<supervisor>& s, const child_attributes& a, process_spec spec,
                                         running_process first) {
    auto& owner = s.core();
    auto made = std::make_shared<process_child>(owner.shared_from_this(), a, std::move(spec), std::move(first));
    owner.add(made);
    return child_process(std::move(made));
}

bool child_process::stop() const noexcept { return child_->owner->dismiss(child_.get()); }
void child_process::end_life() const noexcept { child_->stop(); }
bool child_process::signal(int number) const noexcept { return child_->signal(number); }
bool child_process::wait_until_ready() const { return child_->wait_until_ready(); }
int child_process::id() const noexcept { return child_->id(); }
bool child_process::is_ready() const noexcept { return child_->is_ready(); }
bool child_process::was_ready() const noexcept { return child_->was_ready(); }
const std::string& child_process::name() const noexcept { return child_->name; }

process_gifts process_gifts::take() {
    process_gifts gifts;
    if (const auto all = take_variable(listen_variable)) {
        for (std::string_view rest = *all; !rest.empty();) {
            const auto entry = rest.substr(0, rest.find(' '));
            rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
            const auto equals = entry.find('=');
            if (equals == 0 || equals == std::string_view::npos)
                throw std::invalid_argument("weft: " + std::string(listen_variable) + "=\"" + *all + "\": \"" +
                                            std::string(entry) + "\" is not a name, '=' and the number of a descriptor");
            gifts.descriptors_.emplace(entry.substr(0, equals),
                                       taken_descriptor(entry.substr(equals + 1), listen_variable, *all));
        }
    }
    if (const auto number = take_variable(ready_variable)) gifts.ready_ = taken_descriptor(*number, ready_variable, *number);
    return gifts;
}

int process_gifts::descriptor(std::string_view name) const noexcept {
    const auto at = descriptors_.find(name);
    return at == descriptors_.end() ? -1 : at->second;
}

void process_gifts::say_ready() noexcept {
    if (ready_ < 0) return;
    // An empty pipe has room for a byte. If the supervisor has gone, there is nobody to tell.
    constexpr std::byte word{'\n'};
    detail::write_without_signal(ready_, {&word, 1});
    detail::direct::close(std::exchange(ready_, -1));
}

}  // namespace weft
