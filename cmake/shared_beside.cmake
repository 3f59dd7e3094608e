# The shared libraries of a static build, linked of the same objects, which are all position-independent. WEFT_SHARED_BESIDE installs them;
# the tests look at the names that they export and try what becomes of two copies in one process.
if(BUILD_SHARED_LIBS OR WEFT_SANITIZE OR CMAKE_CROSSCOMPILING OR NOT (WEFT_SHARED_BESIDE OR WEFT_TESTS))
    return()
endif()

# weft_shared_beside(target): the library <target>_shared. Users know both by one name, because an installation gives them one or the other.
function(weft_shared_beside target)
    set(beside ${target}_shared)
    add_library(${beside} SHARED $<TARGET_OBJECTS:${target}>)
    foreach(property IN ITEMS EXPORT_NAME VERSION SOVERSION INTERFACE_COMPILE_OPTIONS INTERFACE_COMPILE_FEATURES INTERFACE_INCLUDE_DIRECTORIES)
        get_target_property(value ${target} ${property})
        if(value)
            set_target_properties(${beside} PROPERTIES ${property} "${value}")
        endif()
    endforeach()
    set_target_properties(${beside} PROPERTIES OUTPUT_NAME ${target} LINKER_LANGUAGE CXX)
    get_target_property(linked ${target} LINK_LIBRARIES)
    get_target_property(passed_on ${target} INTERFACE_LINK_LIBRARIES)
    list(FILTER passed_on EXCLUDE REGEX "LINK_ONLY")   # a shared library has linked it
    list(TRANSFORM linked REPLACE "^weft$" "weft_shared")
    list(TRANSFORM passed_on REPLACE "^weft$" "weft_shared")
    target_link_libraries(${beside} PRIVATE ${linked} INTERFACE ${passed_on})
    weft_limit_exports(${beside} ${target})
    if(NOT WEFT_SHARED_BESIDE)   # for the tests alone: small and quickly linked
        target_link_options(${beside} PRIVATE LINKER:--strip-debug)
    endif()
endfunction()

foreach(target IN ITEMS weft weft_http weft_redis weft_tls weft_ws weft_nats weft_etcd weft_prefork weft_cluster weft_reductions)
    if(TARGET ${target})
        weft_shared_beside(${target})
    endif()
endforeach()
