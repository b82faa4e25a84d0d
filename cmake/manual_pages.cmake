# The target manual_pages makes the pages of `manual_pages` in the folder man of the build.
file(GLOB manual_pages RELATIVE ${PROJECT_SOURCE_DIR}/man CONFIGURE_DEPENDS man/cleave*.[1-9])
set(page_script ${PROJECT_SOURCE_DIR}/cmake/manual_page.cmake)
set(page_options ${PROJECT_SOURCE_DIR}/src/cli/options.def)
set(made_pages "")
foreach(page IN LISTS manual_pages)
    set(made_page ${PROJECT_BINARY_DIR}/man/${page})
    add_custom_command(OUTPUT ${made_page}
                       COMMAND ${CMAKE_COMMAND} -D cleave=$<TARGET_FILE:cleave>
                               -D "emulator=${CMAKE_CROSSCOMPILING_EMULATOR}" -D options=${page_options} -D source=${PROJECT_SOURCE_DIR}/man/${page}
                               -D target=${made_page} -P ${page_script}
                       DEPENDS cleave man/${page} ${page_options} ${page_script} VERBATIM)
    list(APPEND made_pages ${made_page})
endforeach()
add_custom_target(manual_pages DEPENDS ${made_pages})
