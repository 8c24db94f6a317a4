# gpusched_compile_fail_test(<source>): compiles one source twice. As it is, it must compile; with
# -DMUST_NOT_COMPILE it must fail, and the compiler's output must match the regular expression in
# the source's own line
#   // MUST_NOT_COMPILE: <regular expression>
# The first half shows that nothing but the forbidden lines is wrong, the expression that they are
# refused for the right reason.
function(gpusched_compile_fail_test source)
  cmake_path(GET source STEM name)
  file(STRINGS "${source}" expected REGEX "^// MUST_NOT_COMPILE: ")
  list(LENGTH expected count)
  if(NOT count EQUAL 1)
    message(FATAL_ERROR "${source} needs exactly one line '// MUST_NOT_COMPILE: <expression>'")
  endif()
  string(REGEX REPLACE "^// MUST_NOT_COMPILE: " "" expected "${expected}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")

  # Never built: it collects the include folders and definitions that a user of the library has.
  set(usage compile_fail_usage)
  if(NOT TARGET ${usage})
    add_library(${usage} OBJECT EXCLUDE_FROM_ALL "${source}")
    target_link_libraries(${usage} PRIVATE gpusched::gpusched)
  endif()
  set(includes "$<TARGET_PROPERTY:${usage},INCLUDE_DIRECTORIES>")
  set(definitions "$<TARGET_PROPERTY:${usage},COMPILE_DEFINITIONS>")
  set(compile
    "${CMAKE_CXX_COMPILER}" -std=c++20 -fsyntax-only
    "$<$<BOOL:${includes}>:-I$<JOIN:${includes},$<SEMICOLON>-I>>"
    "$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},$<SEMICOLON>-D>>"
    "${source}")

  add_test(NAME compile_fail.${name}.accepts COMMAND ${compile} COMMAND_EXPAND_LISTS)
  add_test(NAME compile_fail.${name}.rejects
    COMMAND "${CMAKE_COMMAND}" "-DEXPECTED=${expected}"
      -P "${PROJECT_SOURCE_DIR}/cmake/must_not_compile.cmake"
      -- ${compile} -DMUST_NOT_COMPILE
    COMMAND_EXPAND_LISTS)
  set_tests_properties(compile_fail.${name}.accepts compile_fail.${name}.rejects
    PROPERTIES LABELS compile_fail)
endfunction()
