# `cpack` makes the Debian packages of the components in install.cmake: libweft0 (libraries), libweft-dev (development), weft (command).
# The command is linked statically, so it needs neither of the others. What libraries of others a package needs dpkg-shlibdeps finds out.
set(WEFT_MAINTAINER "The weft project <weft@project.invalid>" CACHE STRING "Who is named as the maintainer in Debian packages")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "${WEFT_MAINTAINER}")
set(CPACK_PACKAGE_VENDOR "weft")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_PACKAGING_INSTALL_PREFIX "${CMAKE_INSTALL_PREFIX}")
set(CPACK_COMPONENTS_ALL libraries development command)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}")   # libweft_http.so needs libweft.so
# Before 1.0 two minor versions promise each other nothing: a package built against this one asks for exactly this one.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY "=")

set(CPACK_DEBIAN_LIBRARIES_PACKAGE_NAME libweft0)
set(CPACK_DEBIAN_LIBRARIES_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARIES_DESCRIPTION "The shared libraries: what a program needs that is linked with them.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libweft-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libweft0 (= ${PROJECT_VERSION}), libhiredis-dev, libssl-dev, zlib1g-dev, libzstd-dev")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "What programs are built with: headers, static libraries, and files for CMake, pkg-config and gdb.")

set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME weft)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_COMMAND_PACKAGE_DEPENDS "python3")
set(CPACK_DEBIAN_COMMAND_PACKAGE_RECOMMENDS "binutils, python3-capstone, python3-pyelftools")
set(CPACK_DEBIAN_COMMAND_PACKAGE_SUGGESTS "python3-matplotlib")
set(CPACK_DEBIAN_COMMAND_DESCRIPTION "The commands weft and weft-lint, which look into running programs, measure, and check compiled code.")

install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/libweft0" RENAME copyright COMPONENT libraries)
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/libweft-dev" RENAME copyright COMPONENT development)
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/weft" RENAME copyright COMPONENT command)
include(CPack)
