# CPack runs this on the files to be packed, so that the same sources always give the same packages: folders get the
# same permissions as files, whatever the umask, and every time is SOURCE_DATE_EPOCH or the time of the newest changelog
# entry (https://reproducible-builds.org/specs/source-date-epoch/).
execute_process(COMMAND find ${CPACK_TEMPORARY_DIRECTORY} -type d -exec chmod 755 {} + COMMAND_ERROR_IS_FATAL ANY)
if(NOT DEFINED ENV{SOURCE_DATE_EPOCH})
    execute_process(COMMAND date -d ${CPACK_CHANGELOG_DATE} +%s OUTPUT_VARIABLE epoch OUTPUT_STRIP_TRAILING_WHITESPACE
                    COMMAND_ERROR_IS_FATAL ANY)
    set(ENV{SOURCE_DATE_EPOCH} ${epoch})
endif()
execute_process(COMMAND find ${CPACK_TEMPORARY_DIRECTORY} -exec touch -hcd @$ENV{SOURCE_DATE_EPOCH} {} +
                COMMAND_ERROR_IS_FATAL ANY)
