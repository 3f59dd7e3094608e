# The users service in the variants that the seeds compare (bench/service/README.md): build/<preset>/bench/users_variants.
# It looks into the library: one variant has weft's I/O engine without its fibers.
file(GLOB_RECURSE variants_sources CONFIGURE_DEPENDS "bench/service/variants/*.cpp")
weft_buildable(users_variants "${variants_sources}" users_service CLI11::CLI11)
if(WEFT_BUILD_users_variants)
    add_executable(users_variants ${variants_sources})
    weft_compile_options(users_variants)
    set_target_properties(users_variants PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench")
    target_include_directories(users_variants PRIVATE bench/service/variants src)
    target_link_libraries(users_variants PRIVATE users_service CLI11::CLI11)
endif()
