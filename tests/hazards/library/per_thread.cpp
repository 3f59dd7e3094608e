// per_thread.cpp - a library that is opened late and has a thread_local object of its own, in the memory that
// the C library keeps for this in every thread that exists.
namespace {
__attribute__((tls_model("initial-exec"))) thread_local int value = 42;
}

extern "C" __attribute__((visibility("default"))) int* weft_per_thread_value() { return &value; }
