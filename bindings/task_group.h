// TaskGroup as Python holds it, and lists of them as Job takes them.
#ifndef GPUSCHED_BINDINGS_TASK_GROUP_H_
#define GPUSCHED_BINDINGS_TASK_GROUP_H_

#include <pybind11/pybind11.h>

#include <string>
#include <string_view>
#include <vector>

#include "gpusched/spec/job_spec.h"

namespace gpusched::bindings {

namespace py = pybind11;

inline constexpr std::string_view kCountRemedy = "use a whole number, 0 to 1048576";

// A Shape, a TaskGroup, or any iterable of TaskGroup. Raises InvalidSpec.
std::vector<TaskGroupSpec> GroupsOf(py::handle value, const std::string& where,
                                    const std::string& field);
py::tuple GroupsTuple(const std::vector<TaskGroupSpec>& groups);
// As repr shows them: "[TaskGroup(…), …]".
std::string GroupsText(const std::vector<TaskGroupSpec>& groups);

void BindTaskGroup(py::module_& module);

}  // namespace gpusched::bindings

#endif  // GPUSCHED_BINDINGS_TASK_GROUP_H_
