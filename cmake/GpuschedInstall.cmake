# Install rules. Component `dev` is everything here; component `python` is in bindings/.
include(CMakePackageConfigHelpers)

set(gpusched_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/gpusched")

install(TARGETS gpusched gpusched_sim EXPORT gpusched-targets
  RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT dev
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT dev
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT dev
  FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT dev)
install(EXPORT gpusched-targets
  NAMESPACE gpusched::
  DESTINATION "${gpusched_cmake_dir}" COMPONENT dev)

configure_package_config_file(
  "${CMAKE_CURRENT_LIST_DIR}/gpusched-config.cmake.in"
  "${PROJECT_BINARY_DIR}/gpusched-config.cmake"
  INSTALL_DESTINATION "${gpusched_cmake_dir}")
# Before 1.0 a minor version may break callers.
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/gpusched-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/gpusched-config.cmake"
  "${PROJECT_BINARY_DIR}/gpusched-config-version.cmake"
  DESTINATION "${gpusched_cmake_dir}" COMPONENT dev)

list(TRANSFORM gpusched_absl_components PREPEND "absl_" OUTPUT_VARIABLE gpusched_pc_requires)
list(JOIN gpusched_pc_requires ", " gpusched_pc_requires)
if(BUILD_SHARED_LIBS)
  set(gpusched_pc_cflags "")
else()
  set(gpusched_pc_cflags " -DGPUSCHED_STATIC_DEFINE")
endif()
# Relative folders are found from the .pc file's own place, so that an installed tree can be moved.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(gpusched_pc_prefix "${CMAKE_INSTALL_PREFIX}")
else()
  file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  string(REGEX REPLACE "/$" "" up "${up}")
  set(gpusched_pc_prefix "\${pcfiledir}/${up}")
endif()
foreach(dir IN ITEMS INCLUDEDIR LIBDIR)
  set(gpusched_pc_${dir} "\${prefix}")
  cmake_path(APPEND gpusched_pc_${dir} "${CMAKE_INSTALL_${dir}}")
endforeach()
configure_file("${CMAKE_CURRENT_LIST_DIR}/gpusched.pc.in" "${PROJECT_BINARY_DIR}/gpusched.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/gpusched.pc"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT dev)

install(FILES "${PROJECT_SOURCE_DIR}/LICENSE"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT dev)
