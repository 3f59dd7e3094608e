// watching.hpp - a node lets actors live and die, and watches those of the other nodes.
#pragma once

#include <memory>

#include <weft/cluster.hpp>

#include "options.hpp"
#include "records.hpp"

namespace chaos {

/// Runs the actors and their watchers until the fiber is stopped. An actor is NODE.LIFE.SERIAL. It records
///
///     incarnation N              of the node, when it changes
///     born ACTOR, died ACTOR     actors of this node; one dies with its process, too, and nothing says so then
///     watch M monitor|link ACTOR INCARNATION    before anything is told to it; M is unique in the process
///     told M WHY                 each time
///     closed M                   the receiver of a monitor has ended
///     trouble WHERE WHY          what else was thrown
void watch(const std::shared_ptr<weft::cluster::transport>&, const std::shared_ptr<weft::cluster::name_store>&, const options&,
           records&);

}  // namespace chaos
