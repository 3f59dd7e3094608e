// An echo server on uWebSockets: server PORT.
#include <App.h>

#include <cstdlib>
#include <string_view>

int main(int, char** argv) {
    struct nothing {};
    uWS::App()
        .ws<nothing>("/*", {.compression = uWS::DISABLED,
                            .maxPayloadLength = 1 << 20,
                            .message = [](auto* connection, std::string_view message,
                                          uWS::OpCode kind) { connection->send(message, kind); }})
        .listen("127.0.0.1", std::atoi(argv[1]),
                [](auto* listening) {
                    if (!listening) std::exit(1);
                })
        .run();
}
