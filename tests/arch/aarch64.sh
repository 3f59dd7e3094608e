#!/usr/bin/env bash
# Cross-builds the switch, the stacks and the coroutines with their tests for aarch64 and runs them under emulation.
#   tests/arch/aarch64.sh BUILD_DIRECTORY
# Needs g++-aarch64-linux-gnu, qemu-user and libgtest-dev. Not in the default suite: the emulator's memory order is the host's.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:?usage: $0 BUILD_DIRECTORY}
compiler=${AARCH64_CXX:-aarch64-linux-gnu-g++}
emulator=(${AARCH64_RUN:-qemu-aarch64 -L /usr/aarch64-linux-gnu})
googletest=${GOOGLETEST:-/usr/src/googletest}
common=(-std=c++20 -g1 -pthread -fstack-clash-protection -I"$root/src" -I"$root/include" -I"$root/tests")
gtest=(-I"$googletest/googletest" -I"$googletest/googletest/include" -I"$googletest/googlemock" -I"$googletest/googlemock/include")
mkdir -p "$build"

if [[ ! -e $build/libgtest.a ]]; then
    for part in googletest/src/gtest-all googlemock/src/gmock-all googletest/src/gtest_main; do
        "$compiler" -std=c++17 -O1 -pthread "${gtest[@]}" -c "$googletest/$part.cc" -o "$build/${part##*/}.o"
    done
    ar rcs "$build/libgtest.a" "$build"/gtest-all.o "$build"/gmock-all.o "$build"/gtest_main.o
fi

library=("$root"/src/arch/*.cpp "$root"/src/arch/aarch64/context.S "$root"/src/base/panic.cpp "$root"/src/stack/*.cpp
         "$root"/src/flow/coroutine*.cpp)

# compile VARIANT SOURCES...: as many at once as there are processors
compile() {
    local variant=$1 running=0 source
    for source in "${@:2}"; do
        if (( ++running > $(nproc) )); then wait -n; fi
        # shellcheck disable=SC2086  # a variant is several words
        "$compiler" $variant "${common[@]}" "${gtest[@]}" -c "$source" -o "$objects/$(basename "$source").o" &
    done
    for (( ; running > 0; --running )); do wait -n || [[ $? == 127 ]]; done
}

for variant in "-O0" "-O2" "-O2 -mbranch-protection=standard"; do
    for folder in arch stack flow; do
        echo "aarch64: $folder $variant"
        objects=$build/$folder${variant//[ =]/_}
        mkdir -p "$objects"
        rm -f "$objects"/*.o
        tests=("$root/tests/$folder"/*_test.cpp)
        [[ $folder != flow ]] || tests=("$root"/tests/flow/{coroutine,two_way_coroutine}_test.cpp)   # the others need a runtime
        compile "$variant" "${library[@]}" "${tests[@]}"
        "$compiler" -pthread "$objects"/*.o "$build/libgtest.a" -o "$objects/test"
        "${emulator[@]}" "$objects/test" --gtest_brief=1 "${@:2}"
    done
done
