// room.hpp - who is in the room, and how each hears the others.
#pragma once

#include <string>
#include <system_error>

#include <weft/weft.hpp>
#include <weft/ws.hpp>

/// A broadcast has what is said; each visitor has a receiver of it, and a fiber that sends what it receives. So a visitor with a
/// slow connection loses the oldest lines, and holds up nobody.
class room {
public:
    /// \parks  until the visitor leaves.
    void visit(const std::string& name, weft::ws::connection& c) {
        const auto lines = said_.subscribe({.capacity = 100, .overflow = weft::overflow::drop_oldest});
        const auto hearing = weft::spawn([&] { pass_on(lines, c); });
        said_.send(name + " comes in");
        try {
            while (const auto m = c.receive()) said_.send(name + ": " + m->data);
        } catch (const std::system_error&) {}  // the connection is lost
        said_.send(name + " leaves");
    }

private:
    static void pass_on(const weft::receiver<std::string>& lines, weft::ws::connection& to) {
        try {
            for (const std::string& line : lines) to.send(line);
        } catch (const std::system_error&) {}  // the visitor has left
    }

    weft::broadcast<std::string> said_;
};
