// plot.cpp - hands the results over as files; the script knows nothing else.
#include "plot.hpp"

#include <fstream>
#include <iostream>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "child.hpp"
#include "machine.hpp"
#include "places.hpp"

namespace bench {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& file, std::span<const result> all, std::string (*as_line)(const result&), const char* head) {
    std::ofstream out(file, std::ios::trunc);
    out << head;
    for (const auto& r : all) out << as_line(r) << '\n';
    if (!out.flush()) throw std::runtime_error("cannot write to " + file.string());
}

std::string to_csv(const result& r) {
    std::string line;
    for (const auto& value : nlohmann::ordered_json::parse(to_json(r)))     // its numbers are rounded already
        line += (line.empty() ? "" : ",") + (value.is_string() ? value.get<std::string>() : value.dump());
    return line;
}

}  // namespace

void check_plotting() {
    if (!succeeds("python3", {"-c", "pass"}))
        throw std::invalid_argument("--plot needs python3 and matplotlib: install python3-matplotlib");
    if (!succeeds("python3", {"-c", "import matplotlib"}))
        throw std::invalid_argument("--plot needs matplotlib: install python3-matplotlib");
    if (const auto script = shared_file("plot"); !fs::exists(script))
        throw std::invalid_argument("--plot needs " + script.string() + ", which is not there");
}

void draw_plots(const fs::path& folder, std::span<const result> all) {
    fs::create_directories(folder);
    write(folder / "results.jsonl", all, to_json, "");
    write(folder / "results.csv", all, to_csv, "bench,variant,workers,n,unit,min,median,max,runs\n");
    const auto drawn = output_of("python3", {shared_file("plot").string(), (folder / "results.jsonl").string(), folder.string(), machine()});
    for (const auto& name : drawn) std::cerr << "drawn: " << name << '\n';
}

}  // namespace bench
