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
