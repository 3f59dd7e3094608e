// world.cpp - adds up.
#include "attack/chaos/world.hpp"

namespace weft::attack {
namespace {

void compare(std::vector<std::string>& faults, const char* what, long is, long should_be) {
    if (is != should_be)
        faults.push_back(std::string(what) + ": " + std::to_string(is) + " instead of " + std::to_string(should_be));
}

template <class T>
void drain(channel<T>& c, flow& f) {
    while (c.try_receive()) ++f.received;
}

}  // namespace

const test::seed& seed_of_run() {
    static const test::seed chosen;
    return chosen;
}

std::vector<std::string> world::faults() {
    drain(numbers, of_numbers);
    drain(objects, of_objects);
    drain(meeting, of_meeting);
    std::vector<std::string> found;
    compare(found, "numbers received", of_numbers.received, of_numbers.sent);
    compare(found, "objects received", of_objects.received, of_objects.sent);
    compare(found, "meetings", of_meeting.received, of_meeting.sent);
    compare(found, "objects alive", objects_alive, 0);
    compare(found, "counted under the lock", under_lock, under_lock_expected);
    compare(found, "counted under the shared lock", under_shared, under_shared_expected);
    compare(found, "more inside than there are permits", too_many, 0);
    compare(found, "still inside", inside, 0);
    int left = 0;
    while (left <= permits && room.try_acquire()) ++left;
    compare(found, "permits", left, permits);
    return found;
}

}  // namespace weft::attack
