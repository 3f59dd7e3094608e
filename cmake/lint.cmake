# weft-lint: a script with its modules and lists, in bin/ and share/weft/lint/. It needs python3-capstone and python3-pyelftools when it runs.
set(lint_folder "${PROJECT_SOURCE_DIR}/tools/lint")
set(lint_program "${lint_folder}/weft-lint")
if(WEFT_INSTALL)
    include(GNUInstallDirs)
    install(PROGRAMS "${lint_program}" DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT command)
    install(DIRECTORY "${lint_folder}/weft_lint" DESTINATION "${CMAKE_INSTALL_DATADIR}/weft/lint" COMPONENT command FILES_MATCHING PATTERN "*.py")
    install(FILES "${lint_folder}/parks.txt" "${lint_folder}/allow.txt" DESTINATION "${CMAKE_INSTALL_DATADIR}/weft/lint" COMPONENT command)
endif()
