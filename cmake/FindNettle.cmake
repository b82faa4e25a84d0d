# Defines the target Nettle::nettle. It prefers the static library, because a run of a few milliseconds would spend part
# of them relocating the shared one. Nettle has no CMake package.
find_path(Nettle_INCLUDE_DIR nettle/hmac.h)
find_library(Nettle_LIBRARY NAMES libnettle.a nettle)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Nettle REQUIRED_VARS Nettle_LIBRARY Nettle_INCLUDE_DIR)
mark_as_advanced(Nettle_INCLUDE_DIR Nettle_LIBRARY)
if(Nettle_FOUND AND NOT TARGET Nettle::nettle)
    add_library(Nettle::nettle UNKNOWN IMPORTED)
    set_target_properties(Nettle::nettle PROPERTIES IMPORTED_LOCATION ${Nettle_LIBRARY}
                          INTERFACE_INCLUDE_DIRECTORIES ${Nettle_INCLUDE_DIR})
endif()
