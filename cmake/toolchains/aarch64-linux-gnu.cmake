# Builds for aarch64 on another processor, and runs tests under qemu-user: `make arm64`. Packages: scripts/setup arm64.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)

# Libraries and headers of that processor only: what the host has is none of it. scripts/arm64-libraries unpacks some.
set(weft_arm64_libraries "${CMAKE_CURRENT_LIST_DIR}/../../build/arm64-libraries")
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
if(EXISTS "${weft_arm64_libraries}/complete")
    list(APPEND CMAKE_FIND_ROOT_PATH "${weft_arm64_libraries}")
    set(ENV{PKG_CONFIG_SYSROOT_DIR} "${weft_arm64_libraries}")
endif()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} "$ENV{PKG_CONFIG_SYSROOT_DIR}/usr/lib/aarch64-linux-gnu/pkgconfig")
