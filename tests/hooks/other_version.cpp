// other_version.cpp - stands for a libweft_hooks.so that was built for another version of weft.
extern "C" [[gnu::visibility("default")]] const void* weft_take_hooks(unsigned, const void*) noexcept { return nullptr; }
