# An overlay port: it builds the tree that it lies in. Static or shared is what the triplet says.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS feature_options
    FEATURES
        http WEFT_HTTP
        nats WEFT_NATS
        redis WEFT_REDIS
        tls WEFT_TLS
        ws WEFT_WS
        etcd WEFT_ETCD
)
if("http" IN_LIST FEATURES OR "redis" IN_LIST FEATURES OR "tls" IN_LIST FEATURES OR "ws" IN_LIST FEATURES OR "nats" IN_LIST FEATURES OR "etcd" IN_LIST FEATURES)
    vcpkg_find_acquire_program(PKGCONFIG)
    list(APPEND feature_options "-DPKG_CONFIG_EXECUTABLE=${PKGCONFIG}")
endif()

vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        ${feature_options}
        -DWEFT_TESTS=OFF
        -DWEFT_EXAMPLES=OFF
        -DWEFT_BENCH=OFF
        -DWEFT_TOOLS=OFF
        -DWEFT_INSTALL=ON
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME weft CONFIG_PATH lib/cmake/weft)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
