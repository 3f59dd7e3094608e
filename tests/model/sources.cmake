# What tests/CMakeLists.txt needs to know of the model tests.
#
# The sources they judge, besides headers. base/futex and base/panic have modelled versions here.
set(WEFT_MODEL_SOURCES
    src/fiber/waiter.cpp)

# The checker itself takes nearly all the time and touches no memory of the tests, so sanitizers leave it alone (measured:
# five times faster); the tests and the code under test are instrumented as everywhere.
set_source_files_properties(
    model/choices.cpp model/execution.cpp model/history.cpp model/memory.cpp model/scheduler.cpp model/trace.cpp
    PROPERTIES COMPILE_OPTIONS -fno-sanitize=all SKIP_PRECOMPILE_HEADERS ON)
