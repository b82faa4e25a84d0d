# Installs in components: `cleave`, the command; `dev`, the library for other programs; `shared`, the shared library, if
# it is built.
include(CMakePackageConfigHelpers)

# Installs the changelog and the licence in the folder of each package, and its lintian overrides.
function(install_documents package component)
    set(file ${PROJECT_BINARY_DIR}/changelog.gz)
    install(FILES ${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
    install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} RENAME copyright COMPONENT ${component})
    if(EXISTS ${PROJECT_SOURCE_DIR}/cmake/lintian/${package} AND NOT CLEAVE_PORTABLE)
        install(FILES cmake/lintian/${package} DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides
                COMPONENT ${component})
    endif()
endfunction()

set(made "")
function(add_compressed source name)
    add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/${name}.gz
                       COMMAND gzip -9nc ${source} > ${PROJECT_BINARY_DIR}/${name}.gz
                       DEPENDS ${source} VERBATIM)
    set(made ${made} ${PROJECT_BINARY_DIR}/${name}.gz PARENT_SCOPE)
endfunction()
add_compressed(${PROJECT_SOURCE_DIR}/cmake/changelog changelog)

# The command, its manual pages, and the completion scripts that it prints.
function(add_completion shell folder name)
    set(script ${PROJECT_BINARY_DIR}/completions/${shell}/${name})
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/completions/${shell})
    add_custom_command(OUTPUT ${script} COMMAND cleave --completion ${shell} > ${script} DEPENDS cleave VERBATIM)
    install(FILES ${script} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder} COMPONENT cleave)
    set(made ${made} ${script} PARENT_SCOPE)
endfunction()
if(CLEAVE_BUILD_COMMAND)
    foreach(page IN LISTS manual_pages)
        add_compressed(${PROJECT_BINARY_DIR}/man/${page} ${page})
        string(REGEX MATCH "[1-9]$" manual_section ${page})
        install(FILES ${PROJECT_BINARY_DIR}/${page}.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man${manual_section}
                COMPONENT cleave)
    endforeach()
    add_completion(bash bash-completion/completions cleave)
    add_completion(zsh zsh/vendor-completions _cleave)
    add_completion(fish fish/vendor_completions.d cleave.fish)
    install(TARGETS cleave RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT cleave)
    install_documents(cleave cleave)
endif()
add_custom_target(installed_files ALL DEPENDS ${made})

# The libraries: headers, the targets cleave::cleave, cleave::offload and cleave::shared, cleave.pc and
# cleave-offload.pc. The configuration files find the rest relative to themselves.
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/cleave)
set(module_folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH module_to_prefix /${module_folder} /)
string(REGEX REPLACE "/$" "" module_to_prefix ${module_to_prefix})
list(JOIN library_modules " " module_requirements)
# If there is a shared library, -lcleave links it, and it records its own dependencies.
set(plain_libraries "")
if(bz2 IN_LIST library_names)
    set(plain_libraries " -lbz2")
endif()
if(CLEAVE_BUILD_SHARED)
    set(private .private)
    set(plain_libraries "\nLibs.private:${plain_libraries}")
endif()
configure_file(cmake/cleave.pc.in cleave.pc @ONLY)
set(libraries libcleave)
set(modules ${PROJECT_BINARY_DIR}/cleave.pc)
if(TARGET cleave_offload)
    list(APPEND libraries cleave_offload)
    list(APPEND modules ${PROJECT_BINARY_DIR}/cleave-offload.pc)
    configure_file(cmake/cleave-offload.pc.in cleave-offload.pc @ONLY)
endif()
configure_file(cmake/cleaveConfig.cmake.in cleaveConfig.cmake @ONLY)
write_basic_package_version_file(cleaveConfigVersion.cmake COMPATIBILITY SameMinorVersion)

if(CLEAVE_BUILD_SHARED)
    install(TARGETS libcleave_shared EXPORT cleaveTargets
            LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT shared NAMELINK_COMPONENT dev
            INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
    install_documents(libcleave1 shared)
endif()
install(TARGETS ${libraries} EXPORT cleaveTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/cleave DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev FILES_MATCHING PATTERN *.h)
install(EXPORT cleaveTargets NAMESPACE cleave:: DESTINATION ${config_folder} COMPONENT dev)
install(FILES ${PROJECT_BINARY_DIR}/cleaveConfig.cmake ${PROJECT_BINARY_DIR}/cleaveConfigVersion.cmake
        cmake/FindBz2.cmake cmake/FindLibdeflate.cmake cmake/FindLz4.cmake cmake/FindLzma.cmake cmake/FindNettle.cmake
        cmake/FindUtf8proc.cmake
        DESTINATION ${config_folder} COMPONENT dev)
install(FILES ${modules} DESTINATION ${module_folder} COMPONENT dev)
install_documents(libcleave-dev dev)
