// file_bench.cpp - what a read of a file costs: past the page cache by the file engine, by weft::blocking and by plain threads, and warm.
//
// cpu_us is the time that all threads of the process were on a CPU, the kernel's threads of io_uring included, by read. The file is made in
// the current folder, which should be on a disk.
#include <benchmark/benchmark.h>

#include <weft/weft.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using weft::io::file;

constexpr std::size_t block = 4096;
constexpr unsigned blocks = 16384;
constexpr unsigned reads = 16384;  // of each iteration

double cpu_seconds() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6; };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// A file of 64 MiB, removed with the object.
class test_file {
public:
    test_file() {
        const std::vector<std::byte> piece(std::size_t{1} << 20, std::byte{1});
        auto f = file::open(path_, file::write | file::create | file::trunc);
        for (std::size_t at = 0; at < blocks * block; at += piece.size()) f.write_at(piece, at);
        f.sync();
    }
    ~test_file() { ::unlink(path_.c_str()); }
    test_file(const test_file&) = delete;
    test_file& operator=(const test_file&) = delete;
    const std::string& path() const { return path_; }

private:
    const std::string path_ = "weft_file_bench." + std::to_string(::getpid());
};

test_file& the_file() {
    static test_file f;
    return f;
}

struct free_block {
    void operator()(std::byte* b) const { std::free(b); }
};
using block_memory = std::unique_ptr<std::byte, free_block>;

block_memory new_block() { return block_memory(static_cast<std::byte*>(std::aligned_alloc(block, block))); }

/// Calls read(buffer, offset) for its share of the reads.
template <class Read>
void read_blocks(unsigned who, unsigned times, Read read) {
    const auto memory = new_block();
    std::minstd_rand random(who + 1);
    for (unsigned i = 0; i < times; ++i)
        if (read(memory.get(), (random() % blocks) * block) != block) throw std::runtime_error("a short read");
}

template <class Round>
void measure(benchmark::State& state, Round round) {
    const double before = cpu_seconds();
    for (auto _ : state) round();
    const auto all = static_cast<double>(state.iterations()) * reads;
    state.counters["cpu_us"] = (cpu_seconds() - before) / all * 1e6;
    state.counters["reads"] = benchmark::Counter(all, benchmark::Counter::kIsRate);
}

template <class Read>
void in_fibers(benchmark::State& state, Read read) {
    const auto depth = static_cast<unsigned>(state.range(0));
    weft::runtime rt;
    measure(state, [&] {
        rt.run([&] {
            weft::with_scope([&](weft::scope& all) {
                for (unsigned i = 0; i < depth; ++i) all.spawn([&, i] { read_blocks(i, reads / depth, read); });
            });
        });
    });
}

void by_engine(benchmark::State& state) {
    const auto f = file::open(the_file().path(), file::read | file::direct);
    in_fibers(state, [&](std::byte* into, std::uint64_t at) { return f.read_at(std::span(into, block), at); });
}

void by_blocking(benchmark::State& state) {
    const auto f = file::open(the_file().path(), file::read | file::direct);
    in_fibers(state, [&](std::byte* into, std::uint64_t at) {
        return static_cast<std::size_t>(
            weft::blocking([&] { return ::pread(f.native_handle(), into, block, static_cast<off_t>(at)); }));
    });
}

void by_threads(benchmark::State& state) {
    const auto f = file::open(the_file().path(), file::read | file::direct);
    const auto depth = static_cast<unsigned>(state.range(0));
    measure(state, [&] {
        std::vector<std::jthread> all;
        for (unsigned i = 0; i < depth; ++i)
            all.emplace_back([&, i] {
                read_blocks(i, reads / depth, [&](std::byte* into, std::uint64_t at) {
                    return static_cast<std::size_t>(::pread(f.native_handle(), into, block, static_cast<off_t>(at)));
                });
            });
    });
}

void warm(benchmark::State& state) {
    const auto f = file::open(the_file().path());
    std::vector<std::byte> into(block);
    weft::run([&] {
        for (std::uint64_t at = 0; at < blocks * block; at += block) f.read_at(into, at);
        std::minstd_rand random(1);
        for (auto _ : state) f.read_at(into, (random() % blocks) * block);
    });
}

void warm_pread(benchmark::State& state) {
    const auto f = file::open(the_file().path());
    std::vector<std::byte> into(block);
    std::minstd_rand random(1);
    for (auto _ : state)
        benchmark::DoNotOptimize(::pread(f.native_handle(), into.data(), block, static_cast<off_t>((random() % blocks) * block)));
}

#define WEFT_DEPTHS ->Arg(64)->Arg(16)->Arg(1)->Unit(benchmark::kMillisecond)->UseRealTime()
BENCHMARK(by_engine)->Name("file/direct/engine") WEFT_DEPTHS;
BENCHMARK(by_blocking)->Name("file/direct/blocking") WEFT_DEPTHS;
BENCHMARK(by_threads)->Name("file/direct/threads") WEFT_DEPTHS;
BENCHMARK(warm)->Name("file/warm/read_at");
BENCHMARK(warm_pread)->Name("file/warm/pread");

}  // namespace
