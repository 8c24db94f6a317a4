// libgpusched.task.Task, the named tuple, from and to TaskKey.
#ifndef GPUSCHED_BINDINGS_TASK_H_
#define GPUSCHED_BINDINGS_TASK_H_

#include <pybind11/pybind11.h>

#include <vector>

#include "gpusched/spec/task_key.h"

namespace gpusched::bindings {

namespace py = pybind11;

// As Python sees it.
py::object TaskOf(const TaskKey& key);
py::tuple TasksOf(const std::vector<TaskKey>& keys);

// What a caller says that news is about: a Task, a step of a plan that has one, or the four parts.
// Raises InvalidSpec.
TaskKey TaskKeyOf(py::handle task);

}  // namespace gpusched::bindings

#endif  // GPUSCHED_BINDINGS_TASK_H_
