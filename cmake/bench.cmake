# All bench/*_bench.cpp are one program on Google Benchmark: select with --benchmark_filter=.
file(GLOB bench_sources CONFIGURE_DEPENDS "bench/*_bench.cpp")
weft_buildable(bench "${bench_sources}" benchmark::benchmark_main)
if(WEFT_BUILD_bench)
    add_executable(weft_bench_micro ${bench_sources})
    weft_compile_options(weft_bench_micro LENIENT)
    target_include_directories(weft_bench_micro PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/bench")
    target_link_libraries(weft_bench_micro PRIVATE weft benchmark::benchmark_main benchmark::benchmark)
endif()

# bench/uring compares epoll with io_uring by liburing, which nothing else uses: `make bench-uring` builds it, and no other target does.
file(GLOB uring_sources CONFIGURE_DEPENDS "bench/uring/*.cpp")
weft_buildable(bench_uring "${uring_sources}" PkgConfig::liburing CLI11::CLI11 nlohmann_json::nlohmann_json)
if(WEFT_BUILD_bench_uring)
    add_executable(weft_bench_uring EXCLUDE_FROM_ALL ${uring_sources} tools/weft/bench/machine.cpp tools/weft/bench/result.cpp)
    weft_compile_options(weft_bench_uring)
    target_include_directories(weft_bench_uring PRIVATE "${PROJECT_SOURCE_DIR}/tools/weft/bench")
    target_link_libraries(weft_bench_uring PRIVATE PkgConfig::liburing CLI11::CLI11 nlohmann_json::nlohmann_json Threads::Threads)
else()
    add_custom_target(weft_bench_uring VERBATIM
        COMMAND ${CMAKE_COMMAND} -E echo "weft_bench_uring needs liburing-dev (2.3 or later), libcli11-dev and nlohmann-json3-dev: make setup setup-uring"
        COMMAND ${CMAKE_COMMAND} -E false)
endif()

# bench/hooks compares ways to use a client library that blocks: bench/hooks/run, or `weft bench hooks`.
set(hooks_bench_sources bench/hooks/rounds.cpp)
weft_buildable(bench_hooks "${hooks_bench_sources}" weft_hooks weft_redis PkgConfig::hiredis CLI11::CLI11)
if(WEFT_BUILD_bench_hooks)
    add_executable(weft_bench_hooks ${hooks_bench_sources})
    weft_compile_options(weft_bench_hooks)
    target_link_libraries(weft_bench_hooks PRIVATE weft_redis weft_hooks PkgConfig::hiredis CLI11::CLI11)
endif()
weft_buildable(bench_hooks_service bench/hooks/service.cpp client_stores CLI11::CLI11)
if(WEFT_BUILD_bench_hooks_service)
    add_executable(weft_bench_hooks_service bench/hooks/service.cpp)
    weft_compile_options(weft_bench_hooks_service)
    target_link_libraries(weft_bench_hooks_service PRIVATE client_stores CLI11::CLI11)
endif()

# bench/http_client compares HTTP clients: bench/http_client/run.
weft_buildable(bench_http_client bench/http_client/client.cpp weft_http)
if(WEFT_BUILD_bench_http_client)
    add_executable(weft_bench_http_client EXCLUDE_FROM_ALL bench/http_client/client.cpp)
    weft_compile_options(weft_bench_http_client)
    target_link_libraries(weft_bench_http_client PRIVATE weft_http)
endif()

# bench/nats compares NATS clients: bench/nats/run.
weft_buildable(bench_nats bench/nats/bench.cpp weft_nats)
if(WEFT_BUILD_bench_nats)
    add_executable(weft_bench_nats EXCLUDE_FROM_ALL bench/nats/bench.cpp)
    weft_compile_options(weft_bench_nats)
    target_link_libraries(weft_bench_nats PRIVATE weft_nats)
endif()

# What the nodes of weft::cluster add to a NATS request: weft_bench_cluster nats://127.0.0.1:4222.
weft_buildable(bench_cluster bench/cluster/bench.cpp weft_cluster weft_nats nlohmann_json::nlohmann_json)
if(WEFT_BUILD_bench_cluster)
    add_executable(weft_bench_cluster EXCLUDE_FROM_ALL bench/cluster/bench.cpp)
    weft_compile_options(weft_bench_cluster)
    target_link_libraries(weft_bench_cluster PRIVATE weft_cluster weft_nats nlohmann_json::nlohmann_json)
endif()

# bench/ws compares WebSocket servers: bench/ws/run.
weft_buildable(bench_ws bench/ws/bench.cpp weft_ws)
if(WEFT_BUILD_bench_ws)
    add_executable(weft_bench_ws EXCLUDE_FROM_ALL bench/ws/bench.cpp)
    weft_compile_options(weft_bench_ws)
    target_link_libraries(weft_bench_ws PRIVATE weft_ws)
endif()

# bench/tls compares an HTTPS server of weft with others: bench/tls/run.
file(GLOB tls_bench_sources CONFIGURE_DEPENDS "bench/tls/*.cpp")
weft_buildable(bench_tls "${tls_bench_sources}" weft_http weft_tls)
if(WEFT_BUILD_bench_tls)
    add_executable(weft_bench_tls EXCLUDE_FROM_ALL ${tls_bench_sources})
    weft_compile_options(weft_bench_tls)
    target_link_libraries(weft_bench_tls PRIVATE weft_http weft_tls)
endif()
