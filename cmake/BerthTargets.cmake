# A folder is a target: its .cc files form the library, its *_test.cc files one test binary.
include(GoogleTest)

add_library(berth_pch OBJECT ${CMAKE_SOURCE_DIR}/cmake/pch.cc)
target_link_libraries(berth_pch PRIVATE berth_options fmt::fmt tl::expected)
target_precompile_headers(berth_pch PRIVATE <algorithm> <array> <chrono> <cstdint> <functional> <map> <memory> <optional>
  <set> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector> <fmt/format.h> <tl/expected.hpp>)
if(BERTH_TESTS)
  add_library(berth_test_pch OBJECT ${CMAKE_SOURCE_DIR}/cmake/pch.cc)
  target_link_libraries(berth_test_pch PRIVATE berth_options fmt::fmt tl::expected GTest::gmock)
  target_precompile_headers(berth_test_pch PRIVATE <algorithm> <array> <chrono> <cstdint> <functional> <map> <memory> <optional>
    <set> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector> <fmt/format.h> <tl/expected.hpp> <gmock/gmock.h> <gtest/gtest.h>)
endif()

# berth_library(NAME [DEPENDS folder...] [LIBS third-party...] [EXCLUDE file...] [SUBFOLDERS])
# SUBFOLDERS: the folders directly below belong to the same target.
function(berth_library name)
  cmake_parse_arguments(arg "SUBFOLDERS" "" "DEPENDS;LIBS;EXCLUDE" ${ARGN})
  set(below)
  if(arg_SUBFOLDERS)
    set(below /*)
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc ${CMAKE_CURRENT_SOURCE_DIR}${below}/*.cc)
  file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cc ${CMAKE_CURRENT_SOURCE_DIR}${below}/*_test.cc)
  if(tests)
    list(REMOVE_ITEM sources ${tests})
  endif()
  foreach(file ${arg_EXCLUDE})
    list(REMOVE_ITEM sources ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  endforeach()
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC berth_options fmt::fmt tl::expected ${arg_DEPENDS} PRIVATE ${arg_LIBS})
  target_precompile_headers(${name} REUSE_FROM berth_pch)
  if(BERTH_TESTS AND tests)
    berth_test(${name}_test SOURCES ${tests} DEPENDS ${name} ${arg_LIBS})
  endif()
endfunction()

# berth_embed_texts(TARGET HEADER header NAMESPACE ns VARIABLE name FILES file...): the binary carries the files' texts, as
# the span of (name, text) that the header declares.
function(berth_embed_texts target)
  cmake_parse_arguments(arg "" "HEADER;NAMESPACE;VARIABLE" "FILES" ${ARGN})
  set(rows "")
  foreach(file ${arg_FILES})
    file(READ ${file} text)
    get_filename_component(name ${file} NAME)
    string(APPEND rows "    {\"${name}\", R\"YAML(${text})YAML\"},\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${arg_VARIABLE}.cc @ONLY CONTENT [=[
#include "@arg_HEADER@"
namespace @arg_NAMESPACE@ {
namespace {
constexpr std::pair<std::string_view, std::string_view> kRows[] = {
@rows@};
}
const std::span<const std::pair<std::string_view, std::string_view>> @arg_VARIABLE@ = kRows;
}  // namespace @arg_NAMESPACE@
]=])
  target_sources(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/${arg_VARIABLE}.cc)
endfunction()

# Each TEST() of a binary is a ctest test; parameters show the names that they were given, not their bytes.
function(berth_discover_tests name label seconds)
  gtest_discover_tests(${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES
    PROPERTIES LABELS ${label} TIMEOUT ${seconds})
endfunction()

# berth_test(NAME SOURCES file... DEPENDS target... [LABEL quick|real|nightly] [WHOLE] [TIMEOUT seconds])
# WHOLE registers the binary as one ctest test; otherwise each TEST() is one.
function(berth_test name)
  cmake_parse_arguments(arg "WHOLE" "LABEL;TIMEOUT" "SOURCES;DEPENDS" ${ARGN})
  if(NOT arg_LABEL)
    set(arg_LABEL quick)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE berth_options ${arg_DEPENDS} GTest::gmock_main)
  target_precompile_headers(${name} REUSE_FROM berth_test_pch)
  if(arg_WHOLE)
    add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(${name} PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT})
  else()
    berth_discover_tests(${name} ${arg_LABEL} ${arg_TIMEOUT})
  endif()
endfunction()
