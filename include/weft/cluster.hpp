// cluster.hpp - actors on many machines.
#pragma once

#include <weft/cluster/dead_work.hpp>
#include <weft/cluster/error.hpp>
#include <weft/cluster/group.hpp>
#include <weft/cluster/name_lease.hpp>
#include <weft/cluster/name_ref.hpp>
#include <weft/cluster/name_store.hpp>
#include <weft/cluster/node.hpp>
#include <weft/cluster/placed.hpp>
#include <weft/cluster/remote_ref.hpp>
#include <weft/cluster/topic.hpp>
#include <weft/cluster/transport.hpp>
#include <weft/cluster/wire.hpp>
#include <weft/cluster/work_options.hpp>
#include <weft/cluster/work_queue.hpp>
#include <weft/cluster/work_store.hpp>
#include <weft/detail/requirements.hpp>
