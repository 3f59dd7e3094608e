# What tests/CMakeLists.txt needs to know of the model tests.
#
# The sources they judge, besides headers. base/futex, base/panic and fiber/interrupts have modelled versions here, and headers in
# stand_in/ go before those of the same name.
set(WEFT_MODEL_SOURCES
    src/fiber/waiter.cpp src/sched/timer_heap.cpp src/sync/barrier.cpp src/sync/channel.cpp src/sync/channel_life.cpp
    src/sync/condition_variable.cpp src/sync/countdown.cpp src/sync/event.cpp src/sync/one_time.cpp src/sync/semaphore.cpp
    src/sync/shared_mutex.cpp src/sync/waiting_room.cpp)
set(WEFT_MODEL_MUTATED src/actor/mailbox.cpp src/actor/mailbox_receive.cpp src/sync/cell.cpp
    src/sync/cell_graph.cpp src/sync/cell_read.cpp src/sync/channel_core.cpp src/sync/dataflow.cpp
    src/sync/mutex.cpp src/sync/parking_lot.cpp src/sync/select.cpp python/src/weft/_gate.h)

# The checker itself takes nearly all the time and touches no memory of the tests, so sanitizers leave it alone (measured:
# five times faster); the tests and the code under test are instrumented as everywhere.
set_source_files_properties(
    model/choices.cpp model/execution.cpp model/history.cpp model/memory.cpp model/scheduler.cpp model/trace.cpp
    PROPERTIES COMPILE_OPTIONS -fno-sanitize=all SKIP_PRECOMPILE_HEADERS ON)
