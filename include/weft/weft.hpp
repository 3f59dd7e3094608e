// weft.hpp - includes the whole core: fibers, channels, actors, coroutines, TCP.
//
// Left out (the test check.umbrella finds whatever is neither here nor included):
//   asio.hpp                   needs the headers of Boost
//   asio/                      needs them, too
//   explore.hpp                runs a program under many seeds, in tests
//   net/simulated_network.hpp  a network in memory, for tests
//   prefork.hpp                belongs to the library weft::prefork
//   cluster/                   belongs to the library weft::cluster
//   cluster.hpp                includes cluster/
//   reductions.hpp             belongs to the library weft::reductions
//   http/                      belongs to the library weft::http
//   etcd/                      belongs to the library weft::etcd
//   nats/                      belongs to the library weft::nats
//   nats.hpp                   includes nats/
//   redis/                     belongs to the library weft::redis
//   tls/                       belongs to the library weft::tls
//   net/tls.hpp                includes tls/
//   ws/                        belongs to the library weft::ws
//   ws.hpp                     includes ws/
#pragma once

#include <weft/actor.hpp>
#include <weft/actor_attributes.hpp>
#include <weft/at_limit.hpp>
#include <weft/barrier.hpp>
#include <weft/blocking.hpp>
#include <weft/broadcast.hpp>
#include <weft/cell.hpp>
#include <weft/channel.hpp>
#include <weft/channel_op.hpp>
#include <weft/child_process.hpp>
#include <weft/condition_variable.hpp>
#include <weft/coroutine.hpp>
#include <weft/coroutine_options.hpp>
#include <weft/dataflow_cycle.hpp>
#include <weft/dead_letter.hpp>
#include <weft/deadline.hpp>
#include <weft/deadlock.hpp>
#include <weft/dump.hpp>
#include <weft/event.hpp>
#include <weft/event_source.hpp>
#include <weft/exit_reason.hpp>
#include <weft/fiber.hpp>
#include <weft/generator.hpp>
#include <weft/hooks.hpp>
#include <weft/io/buffered_reader.hpp>
#include <weft/io/byte_listener.hpp>
#include <weft/io/byte_stream.hpp>
#include <weft/io/copy.hpp>
#include <weft/io/descriptor.hpp>
#include <weft/io/directory.hpp>
#include <weft/io/duplex.hpp>
#include <weft/io/file.hpp>
#include <weft/io/limits.hpp>
#include <weft/io/pipe.hpp>
#include <weft/io/process.hpp>
#include <weft/io/signal.hpp>
#include <weft/io/stream.hpp>
#include <weft/io/stream_layer.hpp>
#include <weft/ivar.hpp>
#include <weft/latch.hpp>
#include <weft/linked_exit.hpp>
#include <weft/local.hpp>
#include <weft/mailbox.hpp>
#include <weft/migrate.hpp>
#include <weft/movable_deadline.hpp>
#include <weft/mutex.hpp>
#include <weft/net/endpoint.hpp>
#include <weft/net/resolve.hpp>
#include <weft/net/resolver.hpp>
#include <weft/net/sessions.hpp>
#include <weft/net/tcp.hpp>
#include <weft/net/udp.hpp>
#include <weft/net/unix.hpp>
#include <weft/no_limit.hpp>
#include <weft/once.hpp>
#include <weft/overflow.hpp>
#include <weft/pool.hpp>
#include <weft/priority.hpp>
#include <weft/rate_limiter.hpp>
#include <weft/resumable.hpp>
#include <weft/retry.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>
#include <weft/select.hpp>
#include <weft/semaphore.hpp>
#include <weft/shared_mutex.hpp>
#include <weft/simulation.hpp>
#include <weft/state_machine.hpp>
#include <weft/stop.hpp>
#include <weft/supervisor.hpp>
#include <weft/thread_safety.hpp>
#include <weft/ticker.hpp>
#include <weft/transform.hpp>
#include <weft/wait_group.hpp>
