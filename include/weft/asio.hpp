// asio.hpp - weft and Boost.Asio in one program: operations of Asio that park, and weft's streams for code
// that was written for Asio's.
//
// It needs the headers of Boost (1.74 or later) and nothing to link. See docs/guide/4-tcp.md.
#pragma once

#include <weft/asio/loop.hpp>
#include <weft/asio/sync_stream.hpp>
#include <weft/asio/use_fiber.hpp>
