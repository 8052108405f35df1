# Builds the web page in ui/ with npm, in the build tree, and makes its files into something to link.
option(BERTH_UI "Build the web page into the binary (needs Node 18 or later and npm)" ON)
set(BERTH_UI_BUILT OFF)
set(BERTH_UI_WHY "-DBERTH_UI=OFF")
if(BERTH_UI)
  find_program(BERTH_NPM npm)
  if(BERTH_NPM)
    set(BERTH_UI_BUILT ON)
  else()
    set(BERTH_UI_WHY "there is no npm: apt-get install nodejs npm, then configure again")
    message(STATUS "The web page is left out: ${BERTH_UI_WHY} (-DBERTH_UI=OFF leaves it out on purpose)")
  endif()
endif()

set(BERTH_UI_DIR ${CMAKE_BINARY_DIR}/ui)
set(BERTH_UI_FILES index.html berth.js berth.css)

# One custom command a step, each with a stamp: packages when the lock changed, the page when a source did.
function(berth_ui_build)
  set(source ${CMAKE_SOURCE_DIR}/ui)
  set(top package.json package-lock.json .npmrc index.html svelte.config.js tsconfig.json vite.config.ts)
  list(TRANSFORM top PREPEND ${source}/)
  file(GLOB_RECURSE parts CONFIGURE_DEPENDS ${source}/src/* ${source}/fixtures/*)
  add_custom_command(OUTPUT ${BERTH_UI_DIR}/packages.stamp
    COMMAND ${CMAKE_COMMAND} -E make_directory ${BERTH_UI_DIR}
    COMMAND ${CMAKE_COMMAND} -E copy ${source}/package.json ${source}/package-lock.json ${source}/.npmrc ${BERTH_UI_DIR}
    COMMAND sh -c "cd '${BERTH_UI_DIR}' && '${BERTH_NPM}' ci --loglevel=error --prefer-offline || { echo 'npm could not fetch the packages of the web page; -DBERTH_UI=OFF builds without it'; exit 1; }"
    COMMAND ${CMAKE_COMMAND} -E touch ${BERTH_UI_DIR}/packages.stamp
    DEPENDS ${source}/package.json ${source}/package-lock.json ${source}/.npmrc
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR} COMMENT "Fetching the packages of the web page" VERBATIM)
  set(packed)
  set(commands)
  foreach(file ${BERTH_UI_FILES})
    list(APPEND packed ${BERTH_UI_DIR}/packed/${file}.gz)
    list(APPEND commands COMMAND sh -c "gzip -9nc dist/${file} > packed/${file}.gz")
  endforeach()
  add_custom_command(OUTPUT ${packed}
    COMMAND ${CMAKE_COMMAND} -E rm -rf src fixtures dist packed
    COMMAND ${CMAKE_COMMAND} -E make_directory packed
    COMMAND ${CMAKE_COMMAND} -E copy_directory ${source}/src src
    COMMAND ${CMAKE_COMMAND} -E copy_directory ${source}/fixtures fixtures
    COMMAND ${CMAKE_COMMAND} -E copy ${top} .
    COMMAND ${BERTH_NPM} run --silent build -- --logLevel warn
    ${commands}
    DEPENDS ${BERTH_UI_DIR}/packages.stamp ${top} ${parts}
    WORKING_DIRECTORY ${BERTH_UI_DIR} COMMENT "Building the web page" VERBATIM)
  set(BERTH_UI_PACKED ${packed} PARENT_SCOPE)
endfunction()

# npm's own tests as ctest entries; without npm they are skipped and say why.
function(berth_ui_test name)
  if(BERTH_UI_BUILT)
    add_test(NAME ${name} COMMAND ${BERTH_NPM} run --silent ${ARGN} WORKING_DIRECTORY ${BERTH_UI_DIR})
  else()
    add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "skipped: ${BERTH_UI_WHY}")
    set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: ")
  endif()
  set_tests_properties(${name} PROPERTIES LABELS quick TIMEOUT 300)
endfunction()
