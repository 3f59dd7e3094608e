// random_files.hpp - random programs on one file, compared with a copy of it in memory and with pread(2), as fsx does.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include <weft/io/file.hpp>

#include "support/random.hpp"

namespace weft::test {

/// Throws at the first difference, and says which step it was.
class random_file_program {
public:
    random_file_program(const std::string& path, std::minstd_rand random)
        : path_(path),
          random_(random),
          file_(io::file::open(path, io::file::read | io::file::write | io::file::create | io::file::trunc)) {}

    void run(int steps) {
        for (step_ = 0; step_ < steps; ++step_) one();
        must(file_.read_all() == model_, "read_all");
        must(by_pread() == model_, "pread");
    }

private:
    static constexpr unsigned most = 200'000;  // chosen: some dozen pages, and ends within them

    void one() {
        switch (below(random_, 10)) {
            case 0: return cut(below(random_, most));
            case 1: return allocate(below(random_, most) + 1);
            case 2: return file_.sync(below(random_, 2) ? io::file::data : io::file::all);
            case 3: return reopen();
            case 4: return drop_from_cache();
            case 5:
            case 6:
            case 7: return write(below(random_, most), below(random_, most / 4));
            default: return read(below(random_, most + most / 4), below(random_, most / 4));
        }
    }
    void write(std::size_t at, std::size_t bytes) {
        std::string text(bytes, '\0');
        for (auto& c : text) c = static_cast<char>('a' + below(random_, 26));
        if (bytes != 0 && model_.size() < at + bytes) model_.resize(at + bytes);
        std::copy(text.begin(), text.end(), model_.begin() + static_cast<std::ptrdiff_t>(std::min(at, model_.size())));
        file_.write_at(text, at);
        must(file_.size() == model_.size(), "size after a write");
    }
    void read(std::size_t at, std::size_t bytes) {
        std::vector<char> into(bytes);
        const auto n = file_.read_at(std::as_writable_bytes(std::span(into)), at);
        const auto there = at < model_.size() ? std::min(bytes, model_.size() - at) : 0;
        must(n == there, "count of a read");
        must(std::equal(into.begin(), into.begin() + static_cast<std::ptrdiff_t>(n), model_.data() + std::min(at, model_.size())),
             "bytes of a read");
    }
    void cut(std::size_t bytes) {
        file_.truncate(bytes);
        model_.resize(bytes);
    }
    void allocate(std::size_t bytes) {
        std::error_code error;
        file_.allocate(bytes, error);
        if (error == std::errc::operation_not_supported) return;  // by the file system
        must(!error, "allocate");
        model_.resize(std::max(model_.size(), bytes));
    }
    void reopen() {
        file_.close();
        file_ = io::file::open(path_, io::file::read | io::file::write);
    }
    /// So that the next reads wait for the disk.
    void drop_from_cache() {
        file_.sync();
        ::posix_fadvise(file_.native_handle(), 0, 0, POSIX_FADV_DONTNEED);
    }
    std::string by_pread() const {
        std::string text(model_.size() + 1, '\0');
        const auto n = ::pread(file_.native_handle(), text.data(), text.size(), 0);
        text.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
        return text;
    }
    void must(bool holds, const char* what) const {
        if (!holds) throw std::logic_error("step " + std::to_string(step_) + ": " + what);
    }

    const std::string path_;
    std::minstd_rand random_;
    io::file file_;
    std::string model_;
    int step_ = 0;
};

}  // namespace weft::test
