// unix_socket.cpp - a server at a path gives a client a descriptor, and knows who asks.
#include <weft/weft.hpp>

#include <unistd.h>

#include <array>
#include <filesystem>
#include <iostream>
#include <span>
#include <string>

int main() {
    weft::run([] {
        const auto path = std::filesystem::temp_directory_path() / ("weft-guide-" + std::to_string(getpid()));
        weft::unix_socket::listener listener({.path = path}, {.mode = 0600});
        auto server = weft::spawn([&] {
            auto peer = listener.accept();
            std::cout << "asked by " << (peer.credentials().user == getuid() ? "this user" : "another user") << "\n";
            weft::io::pipe p;
            const int ends[] = {p.reader.native_handle()};
            peer.send(std::as_bytes(std::span("take")), ends);
            p.writer.write_all("through the pipe");
        });

        auto client = weft::unix_socket::stream::connect({.path = path});
        std::array<std::byte, 16> bytes;
        auto got = client.receive(bytes, 1);  // closed with the object, unless it is released
        server.join();
        auto pipe = weft::io::descriptor::adopt(got.descriptors.front().release());
        const std::size_t n = pipe.read_some(bytes);
        std::cout << std::string(reinterpret_cast<const char*>(bytes.data()), n) << "\n";
        listener.close();
        std::cout << (std::filesystem::exists(path) ? "the path is there" : "the path is gone") << "\n";
    });
}
