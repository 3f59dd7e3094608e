# The sources that the model tests judge, besides headers. base/futex and base/panic have modelled versions here.
set(WEFT_MODEL_SOURCES
    src/fiber/waiter.cpp)
