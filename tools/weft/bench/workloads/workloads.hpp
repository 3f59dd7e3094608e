// workloads.hpp - the functions behind the names in registry.cpp. Each is a program that any user of weft could write.
#pragma once

namespace bench {

class session;

void channel_workload(session&);
void choice_workload(session&);
void feed_workload(session&);
void fibonacci_workload(session&);
void forkjoin_workload(session&);
void hooks_workload(session&);
void http_workload(session&);
void mutex_workload(session&);
void parked_workload(session&);
void preempt_workload(session&);
void ring_workload(session&);
void skynet_workload(session&);
void spawn_workload(session&);
void switch_workload(session&);
void timers_workload(session&);
void users_workload(session&);

}  // namespace bench
