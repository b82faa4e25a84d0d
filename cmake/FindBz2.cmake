# Defines the target Bz2::bz2, with the static library if there is one, as FindNettle.cmake does.
find_path(Bz2_INCLUDE_DIR bzlib.h)
set(Bz2_names libbz2.a bz2)
if(CLEAVE_BUILD_PYTHON)  # the static library of Debian is not position-independent, so no module can contain it
    set(Bz2_names bz2 libbz2.a)
    find_library(Bz2_PROGRAM_LIBRARY NAMES libbz2.a bz2)  # the command can: auditwheel leaves it as it is then
endif()
find_library(Bz2_LIBRARY NAMES ${Bz2_names})
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Bz2 REQUIRED_VARS Bz2_LIBRARY Bz2_INCLUDE_DIR)
mark_as_advanced(Bz2_INCLUDE_DIR Bz2_LIBRARY Bz2_PROGRAM_LIBRARY)
if(Bz2_FOUND AND NOT TARGET Bz2::bz2)
    set(Bz2_linked ${Bz2_LIBRARY})
    if(Bz2_PROGRAM_LIBRARY)
        set(Bz2_linked $<IF:$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>,${Bz2_PROGRAM_LIBRARY},${Bz2_LIBRARY}>)
    endif()
    add_library(Bz2::bz2 INTERFACE IMPORTED)
    set_target_properties(Bz2::bz2 PROPERTIES INTERFACE_LINK_LIBRARIES "${Bz2_linked}"
                          INTERFACE_INCLUDE_DIRECTORIES ${Bz2_INCLUDE_DIR})
endif()
