# The node of tests/cluster_chaos/run, which `make cluster-test` runs: it needs namespaces of the network, and minutes.
file(GLOB chaos_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_LIST_DIR}/cluster_chaos/*.cpp")
weft_buildable(chaos_node "${chaos_sources}" bank_nodes CLI11::CLI11)
if(WEFT_BUILD_chaos_node)
    add_executable(chaos_node EXCLUDE_FROM_ALL ${chaos_sources})
    weft_compile_options(chaos_node LENIENT)
    target_include_directories(chaos_node PRIVATE "${CMAKE_CURRENT_LIST_DIR}/cluster_chaos")
    target_link_libraries(chaos_node PRIVATE bank_nodes CLI11::CLI11)
endif()
