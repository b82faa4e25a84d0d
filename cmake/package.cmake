# Debian packages, one per component, and an archive of all components.
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_COMPONENTS_ALL cleave dev)
set(CPACK_PACKAGE_FILE_NAME cleave-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
# The maintainer and the time come from the newest changelog entry. As in Debian's tools, DEBFULLNAME and DEBEMAIL
# override the maintainer, and SOURCE_DATE_EPOCH the time.
set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS cmake/changelog)
file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/changelog signature REGEX "^ -- " LIMIT_COUNT 1)
string(REGEX MATCH "^ -- (.*>)  (.*)$" signature "${signature}")
set(maintainer "${CMAKE_MATCH_1}")
set(CPACK_CHANGELOG_DATE "${CMAKE_MATCH_2}")
if(DEFINED ENV{DEBFULLNAME} AND DEFINED ENV{DEBEMAIL})
    set(maintainer "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
endif()
set(CPACK_PACKAGE_VENDOR "the cleave authors")
set(CPACK_PACKAGE_CONTACT "${maintainer}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # it would precede the summaries of the components
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/normalise.cmake)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)

set(CPACK_DEBIAN_CLEAVE_PACKAGE_NAME cleave)
set(CPACK_DEBIAN_CLEAVE_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_CLEAVE_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_CLEAVE_DESCRIPTION "cuts CSV files at record boundaries
It cuts huge CSV files into pieces, never inside a quoted field and without
changing a byte, or prints where the pieces are for other programs.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libcleave-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
list(JOIN library_debian_packages ", " CPACK_DEBIAN_DEV_PACKAGE_DEPENDS)
set(CPACK_COMPONENT_DEV_DESCRIPTION "cuts CSV files at record boundaries (development files)
Headers and static library for programs that use the library of the command
cleave, with a CMake package and pkg-config files.")

if(CLEAVE_BUILD_SHARED)
    list(APPEND CPACK_COMPONENTS_ALL shared)
    set(CPACK_DEBIAN_SHARED_PACKAGE_NAME libcleave1)
    set(CPACK_DEBIAN_SHARED_PACKAGE_SECTION libs)
    set(CPACK_DEBIAN_SHARED_PACKAGE_SHLIBDEPS ON)
    set(CPACK_COMPONENT_SHARED_DESCRIPTION "cuts CSV files at record boundaries (shared library)
Programs that use the library of the command cleave need this package. The
command does not.")
    # libcleave-dev depends on libcleave1 of the same version.
    set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
    set(CPACK_COMPONENT_DEV_DEPENDS shared)
    # Makes packages of programs that use the library depend on the versions that share its ABI.
    math(EXPR next_minor "${PROJECT_VERSION_MINOR} + 1")
    file(CONFIGURE OUTPUT shlibs CONTENT "libcleave 1 libcleave1 (>= ${PROJECT_VERSION}), \
libcleave1 (<< ${PROJECT_VERSION_MAJOR}.${next_minor}~)\n")
    set(CPACK_DEBIAN_SHARED_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/shlibs
        ${PROJECT_SOURCE_DIR}/cmake/triggers)
endif()

include(CPack)
