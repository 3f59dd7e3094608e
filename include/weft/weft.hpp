// weft.hpp - everything of the core: fibers, waiting, channels, coroutines, generators, TCP. Not http, not redis.
#pragma once

#include <weft/barrier.hpp>
#include <weft/blocking.hpp>
#include <weft/channel.hpp>
#include <weft/condition_variable.hpp>
#include <weft/coroutine.hpp>
#include <weft/deadline.hpp>
#include <weft/event.hpp>
#include <weft/fiber.hpp>
#include <weft/generator.hpp>
#include <weft/io/signal.hpp>
#include <weft/latch.hpp>
#include <weft/mutex.hpp>
#include <weft/net/endpoint.hpp>
#include <weft/net/resolve.hpp>
#include <weft/net/tcp.hpp>
#include <weft/once.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>
#include <weft/select.hpp>
#include <weft/semaphore.hpp>
#include <weft/shared_mutex.hpp>
#include <weft/stop.hpp>
#include <weft/wait_group.hpp>
