# Finds what the library itself needs. Tests and benchmarks find theirs where they use it.

# Also what a consumer links: our headers include these, and so does gpusched.pc.
set(gpusched_absl_components
  btree flat_hash_map function_ref inlined_vector span status statusor str_format strings)
list(TRANSFORM gpusched_absl_components PREPEND "absl::" OUTPUT_VARIABLE gpusched_absl_targets)

if(TARGET absl::status)
  # The project that added us brings its own.
elseif(GPUSCHED_FETCH_DEPS)
  include(FetchContent)
  set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)  # so that the next two lines reach abseil's options
  set(ABSL_PROPAGATE_CXX_STD ON)
  set(ABSL_ENABLE_INSTALL ${GPUSCHED_INSTALL})
  set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME dev)  # what uses our library needs abseil beside it
  # Built for C++17, abseil would give its types other definitions than our C++20 code sees.
  set(CMAKE_CXX_STANDARD 20)
  # It may end up inside the Python module.
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  FetchContent_Declare(absl
    GIT_REPOSITORY https://github.com/abseil/abseil-cpp.git
    GIT_TAG 20240722.0
    GIT_SHALLOW ON
    SYSTEM)
  FetchContent_MakeAvailable(absl)
else()
  find_package(absl REQUIRED)
endif()

find_package(Eigen3 3.3 REQUIRED NO_MODULE)
