// machine.cpp - reads what the system says of itself; what it does not say is "unknown".
#include "machine.hpp"

#include <sched.h>
#include <sys/utsname.h>

#include <fstream>
#include <thread>

namespace bench {
namespace {

std::string cpu_model(const std::string& otherwise) {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);)
        if (line.starts_with("model name"))
            if (const auto colon = line.find(": "); colon != line.npos) return line.substr(colon + 2);
    return otherwise;
}

std::string governor() {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    std::string name;
    return file >> name ? name : "unknown";
}

std::string compiler() {
#ifdef __clang__
    return "clang " __clang_version__;
#else
    return "g++ " __VERSION__;
#endif
}

std::string checks() {
    std::string text;
#ifndef NDEBUG
    text += "; assertions on";
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    text += "; sanitizers on";
#endif
    return text;
}

}  // namespace

unsigned usable_cpus() noexcept {
    cpu_set_t mask;
    if (::sched_getaffinity(0, sizeof mask, &mask) == 0) return static_cast<unsigned>(CPU_COUNT(&mask));
    return std::max(1u, std::thread::hardware_concurrency());
}

std::string machine() {
    utsname system{};
    ::uname(&system);
    const auto cpus = usable_cpus();
    return cpu_model(system.machine) + ", " + std::to_string(cpus) + (cpus == 1 ? " CPU; " : " CPUs; ") + system.sysname + ' ' +
           system.release + "; " + compiler() + "; governor " + governor() + checks();
}

}  // namespace bench
