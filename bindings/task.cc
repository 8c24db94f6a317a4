#include "task.h"

#include <cstddef>
#include <cstdint>

#include "arguments.h"
#include "gpusched/decision/plan.h"
#include "gpusched/spec/field_error.h"
#include "status.h"

namespace gpusched::bindings {

py::object TaskOf(const TaskKey& key) {
  PYBIND11_CONSTINIT static py::gil_safe_call_once_and_store<py::object> type;
  return type
      .call_once_and_store_result(
          [] { return py::object(py::module_::import("libgpusched.task").attr("Task")); })
      .get_stored()(key.job, key.group, key.index, key.attempt);
}

py::tuple TasksOf(const std::vector<TaskKey>& keys) {
  py::tuple tasks(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) tasks[i] = TaskOf(keys[i]);
  return tasks;
}

TaskKey TaskKeyOf(py::handle task) {
  if (py::isinstance<Place>(task)) return task.cast<const Place&>().task;
  if (py::isinstance<Evict>(task)) return task.cast<const Evict&>().task;
  if (!py::isinstance<py::tuple>(task) || py::len(task) != 4) {
    Raise(InvalidField("", "task", Shown(task),
                       "use a Task, a Place or Evict, or (job, group, index, attempt)"));
  }
  const auto parts = py::reinterpret_borrow<py::tuple>(task);
  return {.job = Text(parts[0], "task", "job"),
          .group = Text(parts[1], "task", "group"),
          .index = WholeNumber(parts[2], "task", "index", "use a whole number, 0 or more"),
          .attempt = WholeNumber(parts[3], "task", "attempt", "use a whole number, 1 or more")};
}

}  // namespace gpusched::bindings
