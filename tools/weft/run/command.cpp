#include "run/command.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace run {
namespace {

namespace fs = std::filesystem;

/// In the folder of an installation or of a build that this program is in.
fs::path find_library() {
    const fs::path name = WEFT_HOOKS_FILE;
    const auto root = fs::read_symlink("/proc/self/exe").parent_path().parent_path();
    std::string looked_at;
    for (const auto& folder : {root, root / WEFT_LIBRARY_FOLDER, root / "lib"}) {
        if (fs::exists(folder / name)) return folder / name;
        looked_at += (looked_at.empty() ? "" : ", ") + folder.string();
    }
    throw std::runtime_error("run: there is no " + name.string() + " in " + looked_at);
}

void set(const char* variable, const std::string& value) {
    if (::setenv(variable, value.c_str(), 1) != 0) throw std::runtime_error(std::string("run: setenv: ") + std::strerror(errno));
}

void become(const run_options& options, std::vector<std::string> words) {
    if (words.empty()) throw std::runtime_error("run: which program? weft run --hooks PROGRAM [ARGUMENT]...");
    if (!options.hooks) throw std::runtime_error("run: say what is to be different for the program: --hooks");
    const char* const others = std::getenv("LD_PRELOAD");
    set("LD_PRELOAD", find_library().string() + (others && *others ? std::string(":") + others : ""));
    set("WEFT_HOOKS", "1");
    if (options.audit) set("WEFT_HOOKS_AUDIT", "1");
    std::vector<char*> arguments;
    for (auto& w : words) arguments.push_back(w.data());
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    throw std::runtime_error("run: " + words[0] + ": " + std::strerror(errno));
}

}  // namespace

void add_run(CLI::App& command, run_options& options) {
    command.add_flag("--hooks", options.hooks,
                     "calls of libraries that block park in fibers that are threads (LD_PRELOAD, WEFT_HOOKS=1)");
    command.add_flag("--audit", options.audit, "print at the end which calls have parked (WEFT_HOOKS_AUDIT=1)");
    command.footer("weft run --hooks [--audit] PROGRAM [ARGUMENT]...");
    command.prefix_command();
    command.callback([&command, &options] { become(options, command.remaining()); });
}

}  // namespace run
