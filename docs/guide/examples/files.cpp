// files.cpp - a state that survives a loss of power, and a large file read in many places at once.
#include <weft/weft.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <string>

using weft::io::directory;
using weft::io::file;

int main() {
    const auto place = (std::filesystem::temp_directory_path() / "weft-guide-files").string();
    weft::run([&] {
        directory::make_all(place);

        // At every moment the old file is there or the new one, whole.
        file::write_whole(place + "/state", "generation 1\n");
        file::write_whole(place + "/state", "generation 2\n");
        std::cout << file::read_whole(place + "/state");

        // Positions and no cursor: any number of fibers use one file.
        file numbers = file::open(place + "/numbers", file::read | file::write | file::create | file::trunc);
        weft::with_scope([&](weft::scope& s) {
            for (int i = 0; i < 1000; ++i)
                s.spawn([&, i] { numbers.write_at(std::to_string(1000 + i) + "\n", static_cast<std::uint64_t>(5 * i)); });
        });
        numbers.sync();
        std::cout << numbers.size() << " bytes\n";

        // A cursor is a stream, here with a buffer in front of it.
        weft::io::file_cursor from(numbers, 5 * 997);
        weft::io::buffered_reader lines(from);
        while (const auto line = lines.read_line()) std::cout << *line << '\n';

        auto entries = directory::list(place);
        std::ranges::sort(entries, {}, &weft::io::directory_entry::name);
        for (const auto& entry : entries) {
            std::cout << entry.name << '\n';
            file::remove(place + "/" + entry.name);
        }
        directory::remove(place);
    });
}
