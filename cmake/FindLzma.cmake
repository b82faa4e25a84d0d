# Defines the target Lzma::lzma, with the static library if there is one, as FindNettle.cmake does.
find_path(Lzma_INCLUDE_DIR lzma.h)
find_library(Lzma_LIBRARY NAMES liblzma.a lzma)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Lzma REQUIRED_VARS Lzma_LIBRARY Lzma_INCLUDE_DIR)
mark_as_advanced(Lzma_INCLUDE_DIR Lzma_LIBRARY)
if(Lzma_FOUND AND NOT TARGET Lzma::lzma)
    add_library(Lzma::lzma UNKNOWN IMPORTED)
    set_target_properties(Lzma::lzma PROPERTIES IMPORTED_LOCATION ${Lzma_LIBRARY}
                          INTERFACE_INCLUDE_DIRECTORIES ${Lzma_INCLUDE_DIR})
endif()
