# Defines the target Libdeflate::libdeflate, with the static library if there is one, as FindNettle.cmake does. Not
# every distribution has libdeflate's CMake package.
find_path(Libdeflate_INCLUDE_DIR libdeflate.h)
find_library(Libdeflate_LIBRARY NAMES libdeflate.a deflate)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libdeflate REQUIRED_VARS Libdeflate_LIBRARY Libdeflate_INCLUDE_DIR)
mark_as_advanced(Libdeflate_INCLUDE_DIR Libdeflate_LIBRARY)
if(Libdeflate_FOUND AND NOT TARGET Libdeflate::libdeflate)
    add_library(Libdeflate::libdeflate UNKNOWN IMPORTED)
    set_target_properties(Libdeflate::libdeflate PROPERTIES IMPORTED_LOCATION ${Libdeflate_LIBRARY}
                          INTERFACE_INCLUDE_DIRECTORIES ${Libdeflate_INCLUDE_DIR})
endif()
