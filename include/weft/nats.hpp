// nats.hpp - a NATS client, from weft::nats.
#pragma once

#include <weft/nats/client.hpp>
#include <weft/nats/error.hpp>
#include <weft/nats/jetstream.hpp>
#include <weft/nats/message.hpp>
