#include "prefork/support/master_process.hpp"

#include <filesystem>
#include <fstream>

namespace weft::test {
namespace {

/// The state and the parent of a process, from /proc/PID/stat; '?' if there is none.
std::pair<char, int> state_of(const std::string& process) {
    std::ifstream file("/proc/" + process + "/stat");
    std::string text;
    std::getline(file, text);
    const auto name_end = text.rfind(')');
    if (name_end == std::string::npos) return {'?', 0};
    std::istringstream rest(text.substr(name_end + 1));
    char state = '?';
    int parent = 0;
    rest >> state >> parent;
    return {state, parent};
}

}  // namespace

std::set<int> children_of(int process) {
    std::set<int> all;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        const auto name = entry.path().filename().string();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        if (const auto [state, parent] = state_of(name); parent == process && state != 'Z' && state != '?')
            all.insert(std::stoi(name));
    }
    return all;
}

bool is_alive(int process) {
    const auto state = state_of(std::to_string(process)).first;
    return state != '?' && state != 'Z';
}

}  // namespace weft::test
