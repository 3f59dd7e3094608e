// stream_bench.cpp - what a call through io::byte_stream costs, beside the same call of the stream itself.
#include <benchmark/benchmark.h>

#include <weft/io/byte_stream.hpp>
#include <weft/net/simulated_network.hpp>

#include <array>

namespace {

/// A stream that always has a byte, and does nothing else.
class endless {
public:
    [[gnu::noinline]] std::size_t read_some(std::span<std::byte> into, std::error_code& error) {
        error.clear();
        into[0] = std::byte{1};
        return 1;
    }
    std::size_t read_some(std::span<std::byte> into) {
        std::error_code error;
        return read_some(into, error);
    }
    std::size_t write_some(std::span<const std::byte> from, std::error_code& error) {
        error.clear();
        return from.size();
    }
    std::size_t write_some(std::span<const std::byte> from) { return from.size(); }
    void wait_readable(std::error_code& error) { error.clear(); }
    void shutdown(weft::io::side /*which*/, std::error_code& error) { error.clear(); }
    void close() noexcept {}
    bool is_open() const noexcept { return true; }
    friend weft::detail::simulated_readiness watch_readable(const endless& /*s*/) noexcept { return {nullptr, 0}; }
};

template <class Stream>
void read(benchmark::State& state) {
    Stream s{endless()};
    std::array<std::byte, 8> into;
    std::error_code error;
    for (auto _ : state) {
        benchmark::DoNotOptimize(s);
        benchmark::DoNotOptimize(s.read_some(into, error));
    }
}

BENCHMARK(read<endless>)->Name("stream/read/itself");
BENCHMARK(read<weft::io::byte_stream>)->Name("stream/read/byte_stream");

}  // namespace
