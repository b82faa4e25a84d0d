# Defines the target Lz4::lz4, with the static library if there is one, as FindNettle.cmake does.
find_path(Lz4_INCLUDE_DIR lz4frame.h)
find_library(Lz4_LIBRARY NAMES liblz4.a lz4)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Lz4 REQUIRED_VARS Lz4_LIBRARY Lz4_INCLUDE_DIR)
mark_as_advanced(Lz4_INCLUDE_DIR Lz4_LIBRARY)
if(Lz4_FOUND AND NOT TARGET Lz4::lz4)
    add_library(Lz4::lz4 UNKNOWN IMPORTED)
    set_target_properties(Lz4::lz4 PROPERTIES IMPORTED_LOCATION ${Lz4_LIBRARY}
                          INTERFACE_INCLUDE_DIRECTORIES ${Lz4_INCLUDE_DIR})
endif()
