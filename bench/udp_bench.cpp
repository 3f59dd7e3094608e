// udp_bench.cpp - datagrams over loopback, sent and received in batches: weft::udp beside the bare calls.
//
// One iteration sends 64 datagrams of 64 or 1,200 bytes and receives them. items_per_second counts
// datagrams by the CPU time of the process, so that what the runtime does beside them counts, too.
#include <benchmark/benchmark.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <vector>

#include <weft/net/udp.hpp>
#include <weft/runtime.hpp>

namespace {

constexpr std::size_t batch = weft::udp::batch::most;

void count(benchmark::State& state) { state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(batch)); }

/// One datagram: its address, and where its bytes are.
void describe(msghdr& m, sockaddr_in& address, iovec& bytes) {
    m.msg_name = &address;
    m.msg_namelen = sizeof address;
    m.msg_iov = &bytes;
    m.msg_iovlen = 1;
}

/// A C program's loop: all headers are made once, and set anew as far as the system changes them.
void by_calls(benchmark::State& state) {
    const auto bytes = static_cast<std::size_t>(state.range(0));
    const int in = ::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int out = ::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_in at{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
    socklen_t size = sizeof at;
    ::bind(in, reinterpret_cast<const sockaddr*>(&at), size);
    ::getsockname(in, reinterpret_cast<sockaddr*>(&at), &size);
    std::vector<std::byte> data(bytes), room(batch * 2048);
    iovec whole{data.data(), data.size()};
    std::array<mmsghdr, batch> to{}, from{};
    std::array<iovec, batch> parts;
    std::array<sockaddr_in, batch> senders;
    for (std::size_t i = 0; i < batch; ++i) {
        describe(to[i].msg_hdr, at, whole);
        parts[i] = {room.data() + i * 2048, 2048};
        describe(from[i].msg_hdr, senders[i], parts[i]);
    }
    for (auto _ : state) {
        ::sendmmsg(out, to.data(), batch, 0);
        for (int got = 0; got < static_cast<int>(batch);) {
            for (auto& h : from) h.msg_hdr.msg_namelen = sizeof(sockaddr_in);
            const int n = ::recvmmsg(in, from.data(), batch, 0, nullptr);
            if (n > 0) got += n;
        }
    }
    ::close(in);
    ::close(out);
    count(state);
}

void by_weft(benchmark::State& state) {
    weft::run(
        [&] {
            weft::udp::socket in({.host = "127.0.0.1", .port = 0}), out({.host = "127.0.0.1", .port = 0});
            const std::vector<std::byte> data(static_cast<std::size_t>(state.range(0)));
            const std::vector<weft::udp::datagram> all(batch, {.data = data, .to = weft::udp::address(in.local())});
            weft::udp::batch room;
            for (auto _ : state) {
                out.send(all);
                for (std::size_t got = 0; got < batch;) got += in.receive(room).size();
            }
        },
        {.workers = 1});
    count(state);
}

BENCHMARK(by_calls)->Name("udp/recvmmsg")->Arg(64)->Arg(1200)->MeasureProcessCPUTime();
BENCHMARK(by_weft)->Name("udp/weft")->Arg(64)->Arg(1200)->MeasureProcessCPUTime();

}  // namespace
