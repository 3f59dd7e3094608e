# What `cmake --install` puts where: libraries, the headers of the libraries that were built, the weft command, and the
# two ways to find them again: find_package(weft) and pkg-config. The components are those of the Debian packages (deb.cmake):
# `libraries` is what a program needs that runs, `development` what is needed to build one, `command` the programs of weft.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/weft")

# weft_install_library(target): with an export set of its own, so that a user without hiredis or zstd can still use the others.
function(weft_install_library target)
    install(TARGETS ${target} EXPORT ${target}
            ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development
            LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT libraries NAMELINK_COMPONENT development)
    install(EXPORT ${target} NAMESPACE weft:: FILE ${target}-targets.cmake DESTINATION "${package_dir}" COMPONENT development)
endfunction()

# weft_install(target name description [required modules...]): the library, the shared one beside it if that is wanted, and a pkg-config
# module.
function(weft_install target name description)
    weft_install_library(${target})
    if(WEFT_SHARED_BESIDE AND TARGET ${target}_shared)
        weft_install_library(${target}_shared)
    endif()
    weft_install_module(${target} "${description}" ${ARGN})
endfunction()

# weft_install_module(target description [required modules...]): a module for pkg-config. Paths are relative: the prefix is known only when
# installing.
function(weft_install_module target description)
    string(REPLACE "_" "-" module ${target})
    set(pc_cflags "")
    if(WEFT_HAS_STACK_CLASH_PROTECTION)
        set(pc_cflags " -fstack-clash-protection")
    endif()
    if(target STREQUAL "weft_reductions")
        string(APPEND pc_cflags " -finstrument-functions")
    endif()
    set(pc_link "")
    set(pc_after "")
    if(target STREQUAL "weft_hooks")   # programs name none of its functions
        set(pc_link "-Wl,--no-as-needed ")
    elseif(target STREQUAL "weft_hooks_static")
        get_target_property(pc_link ${target} INTERFACE_LINK_OPTIONS)
        list(JOIN pc_link " " pc_link)
        string(APPEND pc_link " ")
        set(pc_after " -lstdc++")   # for programs in C
    endif()
    set(pc_description "${description}")
    set(pc_requires "${ARGN}")
    set(pc_requires_private "")
    if(WEFT_SHARED_BESIDE)   # pkg-config takes the shared library, unless it is asked for the static one
        set(pc_requires_private "${pc_requires}")
        list(FILTER pc_requires INCLUDE REGEX "^weft")
        list(FILTER pc_requires_private EXCLUDE REGEX "^weft")
    endif()
    string(REPLACE ";" " " pc_requires "${pc_requires}")
    string(REPLACE ";" " " pc_requires_private "${pc_requires_private}")
    file(RELATIVE_PATH pc_to_include "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
    configure_file("${PROJECT_SOURCE_DIR}/cmake/weft.pc.in" "${PROJECT_BINARY_DIR}/${module}.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/${module}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)
endfunction()

# A static library hands what it needs on to the program that links it.
set(http_requires weft)
set(redis_requires weft)
set(tls_requires weft)
set(ws_requires weft-http)
set(etcd_requires weft-http)
set(nats_requires weft)
set(WEFT_STATIC ON)
if(BUILD_SHARED_LIBS)
    set(WEFT_STATIC OFF)
else()
    list(APPEND http_requires zlib libzstd)
    list(APPEND redis_requires hiredis)
    list(APPEND tls_requires openssl)
    list(APPEND ws_requires zlib)
    if(WEFT_NATS_NEEDS)
        list(APPEND nats_requires openssl)
    endif()
endif()

weft_install(weft weft "${PROJECT_DESCRIPTION}")
weft_install(weft_reductions reductions "Counts calls and gives way after a budget of them" weft)
weft_install(weft_prefork prefork "One program as several processes that share their ports" weft)
weft_install(weft_cluster cluster "Actors of many processes and machines" weft)
weft_install(weft_c c "Fibers for C, and for languages that call C")
set(WEFT_WITHOUT_lockcheck "")
if(TARGET weft_lockcheck)
    weft_install(weft_lockcheck lockcheck "Names fibers that park with a std::mutex held")
else()
    set(WEFT_WITHOUT_lockcheck "a sanitizer stands in its place")
endif()
set(WEFT_WITHOUT_hooks "")
if(TARGET weft_hooks)
    install(TARGETS weft_hooks_static EXPORT weft_hooks ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
    weft_install(weft_hooks hooks "Lets calls of unmodified libraries park in fibers instead of blocking")
    weft_install_module(weft_hooks_static "The hooks for programs that are linked statically")
else()
    set(WEFT_WITHOUT_hooks "with a sanitizer no fiber has an identity")
endif()
set(unbuilt)
if(WEFT_BUILD_http)
    weft_install(weft_http http "HTTP server and client on weft's fibers" ${http_requires})
else()
    list(APPEND unbuilt PATTERN http EXCLUDE)
endif()
if(WEFT_BUILD_redis)
    weft_install(weft_redis redis "Redis client on weft's fibers" ${redis_requires})
else()
    list(APPEND unbuilt PATTERN redis EXCLUDE)
endif()

if(WEFT_BUILD_tls)
    weft_install(weft_tls tls "TLS on weft's fibers" ${tls_requires})
else()
    list(APPEND unbuilt PATTERN tls EXCLUDE PATTERN net/tls.hpp EXCLUDE)
endif()

if(WEFT_BUILD_ws)
    weft_install(weft_ws ws "WebSockets on weft's fibers" ${ws_requires})
else()
    list(APPEND unbuilt PATTERN ws EXCLUDE PATTERN ws.hpp EXCLUDE)
endif()

if(WEFT_BUILD_etcd)
    weft_install(weft_etcd etcd "etcd client on weft's fibers" ${etcd_requires})
else()
    list(APPEND unbuilt PATTERN etcd EXCLUDE)
endif()

if(WEFT_BUILD_nats)
    weft_install(weft_nats nats "NATS client on weft's fibers" ${nats_requires})
else()
    list(APPEND unbuilt PATTERN nats EXCLUDE PATTERN nats.hpp EXCLUDE)
endif()

install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT command)
install(DIRECTORY include/weft DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h" ${unbuilt})

# gdb's commands, for people to source; and where gdb itself looks for them beside a library whose own copy has been stripped away.
install(FILES tools/gdb/weft.py DESTINATION "${CMAKE_INSTALL_DATADIR}/weft/gdb" COMPONENT development)
if(BUILD_SHARED_LIBS OR WEFT_SHARED_BESIDE)
    install(FILES tools/gdb/weft.py DESTINATION "${CMAKE_INSTALL_DATADIR}/gdb/auto-load${CMAKE_INSTALL_FULL_LIBDIR}" COMPONENT libraries
            RENAME "libweft.so.${PROJECT_VERSION}-gdb.py")
endif()

if(TARGET weft_cli)
    install(TARGETS weft_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT command)
    if(BUILD_SHARED_LIBS)
        file(RELATIVE_PATH to_libraries "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
        set_target_properties(weft_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${to_libraries}")
    endif()
endif()

configure_package_config_file(cmake/weft-config.cmake.in "${PROJECT_BINARY_DIR}/weft-config.cmake"
                              INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/weft-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/weft-config.cmake" "${PROJECT_BINARY_DIR}/weft-config-version.cmake"
        DESTINATION "${package_dir}" COMPONENT development)
