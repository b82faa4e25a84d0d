# The port of the library:
#
#   vcpkg install cleave --overlay-ports=packaging/vcpkg/ports
#
# At a release a person has to fill in the address of the published source archive and its SHA-512. The address here
# does not exist.
vcpkg_download_distfile(archive
    URLS "https://cleave.invalid/releases/${VERSION}/cleave-${VERSION}.tar.gz"
    FILENAME "cleave-${VERSION}.tar.gz"
    SHA512 0
)
vcpkg_extract_source_archive(source ARCHIVE "${archive}")

string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" static static)  # before the next line changes the linkage
vcpkg_check_linkage(ONLY_STATIC_LIBRARY)
vcpkg_check_features(OUT_FEATURE_OPTIONS feature_options FEATURES command CLEAVE_BUILD_COMMAND)
vcpkg_cmake_configure(
    SOURCE_PATH "${source}"
    OPTIONS
        ${feature_options}
        -DBUILD_TESTING=OFF
        -DCLEAVE_STATIC_DEPENDENCIES=${static}
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/cleave)
vcpkg_fixup_pkgconfig()
if("command" IN_LIST FEATURES)
    vcpkg_copy_tools(TOOL_NAMES cleave AUTO_CLEAN)
endif()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/share/doc")
vcpkg_install_copyright(FILE_LIST "${source}/LICENSE")
