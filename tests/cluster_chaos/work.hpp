// work.hpp - a node sends jobs to a queue in JetStream, and handles those of all nodes.
#pragma once

#include <memory>

#include <weft/cluster.hpp>

#include "options.hpp"
#include "records.hpp"

namespace chaos {

/// Sends and handles jobs until the fiber is stopped. It records
///
///     accepted ID          the queue has the job
///     unsure ID WHY        send() has thrown
///     handled ID ATTEMPT   before the job is acknowledged
///     buried ID WHY        read from the dead letters, before that is acknowledged
///     trouble WHERE WHY    what else was thrown
///
/// A job whose ID ends in "!" is one that nobody can handle.
void work(const std::shared_ptr<weft::cluster::work_store>&, const options&, records&);

}  // namespace chaos
