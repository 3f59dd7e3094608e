// ws.hpp - WebSockets, from weft::ws.
#pragma once

#include <weft/ws/accept.hpp>
#include <weft/ws/connect.hpp>
#include <weft/ws/connection.hpp>
#include <weft/ws/error.hpp>
#include <weft/ws/message.hpp>
#include <weft/ws/options.hpp>
