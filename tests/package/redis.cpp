// redis.cpp - an outside user of weft::redis: nothing listens on the port, so the client must answer with an error.
#include <weft/redis/client.hpp>
#include <weft/weft.hpp>

int main() {
    return weft::run([] {
        weft::redis::client db("redis://127.0.0.1:1");
        try {
            db.get("key");
        } catch (weft::redis::error const&) {
            return 0;
        }
        return 1;
    });
}
