# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# vcpkg install lathwork --overlay-ports=packaging/vcpkg: from the source tree around this file.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

# the library is made in both forms; CMake's targets lathwork::lathwork (static) and lathwork::shared choose
set(VCPKG_POLICY_DLLS_IN_STATIC_LIBRARY enabled)
vcpkg_find_acquire_program(PKGCONFIG)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DLATH_CLI=OFF -DLATH_BENCH=OFF -DLATH_TESTS=OFF -DLATH_VALKEY=OFF "-DPKG_CONFIG_EXECUTABLE=${PKGCONFIG}"
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/lathwork)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE" "${SOURCE_PATH}/LICENSES/MIT.txt" "${SOURCE_PATH}/LICENSES/GPL-2.0-only.txt")
