# gpusched_target_defaults(<target>): what every target of this project is compiled with. Set on the
# target and never globally, so that a project that adds us as a subdirectory keeps its own flags.
function(gpusched_target_defaults target)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow
    $<$<BOOL:${GPUSCHED_WERROR}>:-Werror>
    # A fused multiply-add rounds once where two operations round twice: without this, compilers and
    # optimisation levels could disagree about a decision.
    -ffp-contract=off)
endfunction()

# gpusched_library(<target> ALIAS <name> HEADERS <files>...): makes <target> one of the libraries that
# are installed, for others to link as gpusched::<name>.
function(gpusched_library target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "ALIAS" "HEADERS")
  gpusched_target_defaults(${target})
  add_library(gpusched::${arg_ALIAS} ALIAS ${target})
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${arg_ALIAS}
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    # Also when static: it ends up inside the Python module, and inside users' shared objects.
    POSITION_INDEPENDENT_CODE ON
    # Adds the target all_verify_interface_header_sets, which compiles every public header alone.
    VERIFY_INTERFACE_HEADER_SETS ON)
  target_sources(${target} PUBLIC
    FILE_SET HEADERS
    BASE_DIRS "${PROJECT_SOURCE_DIR}/include" "${gpusched_generated}"
    FILES ${arg_HEADERS})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_compile_definitions(${target} PRIVATE GPUSCHED_VERSION="${PROJECT_VERSION}")
  target_compile_features(${target} PUBLIC cxx_std_20)
endfunction()
