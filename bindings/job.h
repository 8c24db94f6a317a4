// Job as Python holds it: the library's own spec, made from what a caller passed.
#ifndef GPUSCHED_BINDINGS_JOB_H_
#define GPUSCHED_BINDINGS_JOB_H_

#include <pybind11/pybind11.h>

#include <string_view>

#include "gpusched/spec/job_spec.h"

namespace gpusched::bindings {

namespace py = pybind11;

inline constexpr std::string_view kTimeRemedy = "use whole microseconds, 0 to 1152921504606846976";
inline constexpr std::string_view kPriorityRemedy = "use a whole number, -2147483648 to 2147483647";

// "batch" or "service".
const char* JobKindName(JobKind kind);

void BindJob(py::module_& module);

}  // namespace gpusched::bindings

#endif  // GPUSCHED_BINDINGS_JOB_H_
