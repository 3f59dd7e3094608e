// plot.cpp - hands the results over as files; the script knows nothing else.
#include "plot.hpp"

#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "child.hpp"
#include "machine.hpp"
#include "places.hpp"
#include "seeds.hpp"

namespace bench {
namespace {

namespace fs = std::filesystem;

template <class Rows, class Line>
void write(const fs::path& file, const char* head, const Rows& rows, Line&& line) {
    std::ofstream out(file, std::ios::trunc);
    out << head;
    for (const auto& row : rows) out << line(row) << '\n';
    if (!out.flush()) throw std::runtime_error("cannot write to " + file.string());
}

std::string to_csv(const result& r) {
    std::string line;
    for (const auto& value : nlohmann::ordered_json::parse(to_json(r)))     // its numbers are rounded already
        line += (line.empty() ? "" : ",") + (value.is_string() ? value.get<std::string>() : value.dump());
    return line;
}

std::string to_csv(const seed_row& r) {
    std::ostringstream line;
    line << r.bench << ',' << r.variant << ',' << r.n << ',' << r.unit << ',' << r.figure.value << ",\"" << r.figure.of << '"';
    return line.str();
}

/// The first that knows matplotlib: the package of the distribution belongs to its own Python, which need not lead the PATH.
std::string python() {
    for (const char* const candidate : {"python3", "/usr/bin/python3"})
        if (succeeds(candidate, {"-c", "import matplotlib"})) return candidate;
    throw std::invalid_argument("--plot needs python3 with matplotlib: install python3-matplotlib");
}

}  // namespace

void check_plotting() {
    python();
    if (const auto script = shared_file("plot"); !fs::exists(script))
        throw std::invalid_argument("--plot needs " + script.string() + ", which is not there");
}

void draw_plots(const fs::path& folder, std::span<const result> all) {
    fs::create_directories(folder);
    write(folder / "results.jsonl", "", all, to_json);
    write(folder / "results.csv", "bench,variant,workers,n,unit,min,median,max,runs\n", all,
          [](const result& r) { return to_csv(r); });
    write(folder / "seeds.csv", "bench,variant,n,unit,value,of\n", seed_rows(), [](const seed_row& r) { return to_csv(r); });
    const auto drawn = output_of(python(), {shared_file("plot").string(), folder.string(), machine()});
    for (const auto& name : drawn) std::cerr << "drawn: " << name << '\n';
}

}  // namespace bench
