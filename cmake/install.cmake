# What is installed, in two components: `cleave`, the command, and `dev`, the library for other programs.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The command, with what the built command and gzip make of it.
set(made ${PROJECT_BINARY_DIR}/cleave.1.gz)
add_custom_command(OUTPUT ${made} COMMAND gzip -9nc ${PROJECT_SOURCE_DIR}/man/cleave.1 > ${made}
                   DEPENDS man/cleave.1 VERBATIM)
function(add_completion shell folder name)
    set(script ${PROJECT_BINARY_DIR}/completions/${shell}/${name})
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/completions/${shell})
    add_custom_command(OUTPUT ${script} COMMAND cleave --completion ${shell} > ${script} DEPENDS cleave VERBATIM)
    install(FILES ${script} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder} COMPONENT cleave)
    set(made ${made} ${script} PARENT_SCOPE)
endfunction()
add_completion(bash bash-completion/completions cleave)
add_completion(zsh zsh/vendor-completions _cleave)
add_completion(fish fish/vendor_completions.d cleave.fish)
add_custom_target(installed_files ALL DEPENDS ${made})

install(TARGETS cleave RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT cleave)
install(FILES ${PROJECT_BINARY_DIR}/cleave.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT cleave)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/cleave RENAME copyright COMPONENT cleave)

# The library: headers, the target cleave::cleave, cleave.pc. The configuration files find the rest from where they are,
# wherever that is.
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/cleave)
set(module_folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH module_to_prefix /${module_folder} /)
string(REGEX REPLACE "/$" "" module_to_prefix ${module_to_prefix})
list(JOIN library_modules " " module_requirements)
configure_file(cmake/cleave.pc.in cleave.pc @ONLY)
configure_file(cmake/cleaveConfig.cmake.in cleaveConfig.cmake @ONLY)
write_basic_package_version_file(cleaveConfigVersion.cmake COMPATIBILITY SameMinorVersion)

install(TARGETS libcleave EXPORT cleaveTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/cleave DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev FILES_MATCHING PATTERN *.h)
install(EXPORT cleaveTargets NAMESPACE cleave:: DESTINATION ${config_folder} COMPONENT dev)
install(FILES ${PROJECT_BINARY_DIR}/cleaveConfig.cmake ${PROJECT_BINARY_DIR}/cleaveConfigVersion.cmake
        DESTINATION ${config_folder} COMPONENT dev)
install(FILES ${PROJECT_BINARY_DIR}/cleave.pc DESTINATION ${module_folder} COMPONENT dev)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libcleave-dev RENAME copyright COMPONENT dev)
