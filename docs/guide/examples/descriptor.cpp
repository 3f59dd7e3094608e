// descriptor.cpp - waits for what weft has not made: a timer of the kernel's, and a UDP socket that other code reads.
#include <weft/weft.hpp>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cstdint>
#include <iostream>
#include <span>

int main() {
    weft::run([] {
        auto timer = weft::io::descriptor::adopt(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));  // closed with the object
        const itimerspec in_a_millisecond{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = 1'000'000}};
        timerfd_settime(timer.native_handle(), 0, &in_a_millisecond, nullptr);
        std::uint64_t times = 0;
        timer.read_some(std::as_writable_bytes(std::span(&times, 1)));
        std::cout << "rang " << times << " time\n";

        const int fd = socket(AF_INET, SOCK_DGRAM, 0);
        sockaddr_in here{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
        socklen_t size = sizeof here;
        bind(fd, reinterpret_cast<sockaddr*>(&here), size);
        getsockname(fd, reinterpret_cast<sockaddr*>(&here), &size);
        auto arrivals = weft::io::descriptor::borrow(fd);  // stays whose it is
        auto sender = weft::spawn([&] { sendto(fd, "hello", 5, 0, reinterpret_cast<const sockaddr*>(&here), size); });
        weft::select(weft::on_readable(arrivals,
                                       [&] {
                                           char datagram[16];
                                           std::cout << recv(fd, datagram, sizeof datagram, MSG_DONTWAIT) << " bytes have come\n";
                                       }),
                     weft::on_timeout(std::chrono::seconds(10), [] { std::cout << "nothing came\n"; }));
        close(fd);
    });
}
