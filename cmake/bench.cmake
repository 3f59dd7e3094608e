# All bench/*_bench.cpp are one program on Google Benchmark: select with --benchmark_filter=.
file(GLOB bench_sources CONFIGURE_DEPENDS "bench/*_bench.cpp")
weft_buildable(bench "${bench_sources}" benchmark::benchmark_main)
if(WEFT_BUILD_bench)
    add_executable(weft_bench_micro ${bench_sources})
    weft_compile_options(weft_bench_micro LENIENT)
    target_include_directories(weft_bench_micro PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/bench")
    target_link_libraries(weft_bench_micro PRIVATE weft benchmark::benchmark_main benchmark::benchmark)
endif()
