#include "task_group.h"

#include <pybind11/stl.h>

#include "absl/strings/str_cat.h"
#include "arguments.h"
#include "gpusched/spec/field_error.h"
#include "spec.h"
#include "status.h"

namespace gpusched::bindings {
namespace {

TaskGroupSpec MakeGroup(py::handle name, const PyShape& shape, py::handle count,
                        py::handle min_available, py::handle max_tasks_per_node) {
  TaskGroupSpec group;
  group.name = Text(name, "group", "name");
  group.shape = shape.spec;
  const std::string where = "group " + Quoted(group.name);
  group.count = WholeNumber(count, where, "count", kCountRemedy);
  group.min_available = NumberIf(min_available, where, "min_available", kCountRemedy);
  group.max_tasks_per_node =
      NumberIf(max_tasks_per_node, where, "max_tasks_per_node", "use a whole number, 1 or more");
  return group;
}

std::string GroupText(const TaskGroupSpec& group) {
  std::string text = absl::StrCat("TaskGroup(", NameText(group.name), ", ", ShapeText(group.shape));
  if (group.count != 1) absl::StrAppend(&text, ", count=", group.count);
  if (group.min_available) absl::StrAppend(&text, ", min_available=", *group.min_available);
  if (group.max_tasks_per_node) {
    absl::StrAppend(&text, ", max_tasks_per_node=", *group.max_tasks_per_node);
  }
  return text + ")";
}

}  // namespace

std::vector<TaskGroupSpec> GroupsOf(py::handle value, const std::string& where,
                                    const std::string& field) {
  if (py::isinstance<PyShape>(value)) {
    TaskGroupSpec group;
    group.name = "main";
    group.shape = value.cast<const PyShape&>().spec;
    return {group};
  }
  if (py::isinstance<TaskGroupSpec>(value)) return {value.cast<const TaskGroupSpec&>()};
  if (py::isinstance<py::str>(value) || !py::isinstance<py::iterable>(value)) {
    Raise(InvalidField(where, field, Shown(value), "use a Shape, a TaskGroup, or a list of them"));
  }
  std::vector<TaskGroupSpec> groups;
  for (const py::handle item : py::iter(value)) {
    if (!py::isinstance<TaskGroupSpec>(item)) {
      Raise(InvalidField(where, absl::StrCat(field, "[", groups.size(), "]"), Shown(item),
                         "use a TaskGroup"));
    }
    groups.push_back(item.cast<const TaskGroupSpec&>());
  }
  return groups;
}

py::tuple GroupsTuple(const std::vector<TaskGroupSpec>& groups) {
  return py::tuple(py::cast(groups));
}

std::string GroupsText(const std::vector<TaskGroupSpec>& groups) {
  std::string text;
  for (const TaskGroupSpec& group : groups) {
    absl::StrAppend(&text, text.empty() ? "[" : ", ", GroupText(group));
  }
  return text + "]";
}

void BindTaskGroup(py::module_& module) {
  using Group = TaskGroupSpec;
  py::class_<Group>(module, "TaskGroup", R"(Identical tasks of a job, numbered from 0. Immutable.

>>> import libgpusched as gs
>>> gs.TaskGroup("workers", gs.Shape(cpu=8, gpu=1), 4, min_available=3)
TaskGroup('workers', Shape(cpu_milli=8000, gpu_count=1), count=4, min_available=3))")
      .def(py::init(&MakeGroup), py::arg("name"), py::arg("shape"), py::arg("count") = 1,
           py::kw_only(), py::arg("min_available") = py::none(),
           py::arg("max_tasks_per_node") = py::none(), R"(Describes a group.

name: unique in its job; no "/".
shape: what each task asks. count: how many tasks; 0 asks nothing.
min_available: so many start together or not at all. None: all of a batch job, one of a service.
max_tasks_per_node: None: no limit.

Ranges are checked when a Job is made of it. Raises InvalidSpec.)")
      .def_readonly("name", &Group::name, "Its name.")
      .def_property_readonly(
          "shape", [](const Group& g) { return ShapeOf(g.shape); }, "What each task asks.")
      .def_readonly("count", &Group::count, "How many tasks it has.")
      .def_property_readonly(
          "min_available", [](const Group& g) { return IntOrNone(g.min_available); },
          "How many start together; None: what the kind of the job says.")
      .def_property_readonly(
          "max_tasks_per_node", [](const Group& g) { return IntOrNone(g.max_tasks_per_node); },
          "How many may run on one node, or None.")
      .def("__eq__", &IsEqual<Group>)
      .def("__hash__",
           [](const Group& g) {
             return py::hash(py::make_tuple(g.name, ShapeOf(g.shape), g.count,
                                            IntOrNone(g.min_available),
                                            IntOrNone(g.max_tasks_per_node)));
           })
      .def("__repr__", &GroupText)
      .def(py::pickle(
          [](const Group& g) {
            return py::make_tuple(g.name, ShapeOf(g.shape), g.count, IntOrNone(g.min_available),
                                  IntOrNone(g.max_tasks_per_node));
          },
          [](const py::tuple& state) {
            return MakeGroup(state[0], state[1].cast<PyShape>(), state[2], state[3], state[4]);
          }));
}

}  // namespace gpusched::bindings
