#include "batch.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "arguments.h"
#include "gpusched/spec/field_error.h"
#include "status.h"

namespace gpusched::bindings {
namespace {

constexpr std::uint64_t kNoTask = std::numeric_limits<std::uint64_t>::max();

// One dimension of whole numbers; a list of them will do. Signed ones are checked: a number below 0
// is no handle.
py::array WholeColumn(const py::object& column, std::string_view field) {
  py::array array = py::array::ensure(column);
  if (!array) {
    PyErr_Clear();
    Raise(InvalidField("batch", field, Shown(column), "use an array of whole numbers"));
  }
  const char kind = array.dtype().kind();
  if (array.ndim() != 1 || (kind != 'i' && kind != 'u' && array.size() > 0)) {
    Raise(InvalidField("batch", field,
                       absl::StrCat("of ", array.ndim(), " dimensions and type ",
                                    py::str(array.dtype()).cast<std::string>()),
                       "use one dimension of whole numbers"));
  }
  return array;
}

template <class T>
py::array_t<T> ReadOnly(py::array_t<T> array) {
  array.attr("setflags")(py::arg("write") = false);
  return array;
}

}  // namespace

std::uint64_t TaskNumber(TaskId task) { return std::uint64_t{task.generation} << 32 | task.slot; }

TaskId TaskNumbered(std::uint64_t number) {
  return {.slot = static_cast<std::uint32_t>(number),
          .generation = static_cast<std::uint32_t>(number >> 32)};
}

std::vector<ShapeId> ShapeColumn(const py::object& column) {
  const py::array given = WholeColumn(column, "shapes");
  const py::array_t<std::int64_t, py::array::c_style | py::array::forcecast> numbers(given);
  constexpr std::int64_t kLast = ShapeId::kNoSlot - std::int64_t{1};
  std::vector<ShapeId> ids;
  ids.reserve(static_cast<std::size_t>(numbers.size()));
  for (const std::int64_t number :
       std::span(numbers.data(), static_cast<std::size_t>(numbers.size()))) {
    if (number < 0 || number > kLast) {
      // As it was given: one of 64 bits without sign is another number with one.
      const py::object value = given[py::int_(ids.size())];
      Raise(InvalidField("batch", "shapes", py::str(value).cast<std::string>(),
                         "use numbers that Cluster.intern gave"));
    }
    ids.push_back({.slot = static_cast<std::uint32_t>(number)});
  }
  return ids;
}

std::vector<TaskId> TaskColumn(const py::object& column) {
  const py::array_t<std::uint64_t, py::array::c_style | py::array::forcecast> numbers(
      WholeColumn(column, "tasks"));
  std::vector<TaskId> ids;
  ids.reserve(static_cast<std::size_t>(numbers.size()));
  for (const std::uint64_t number :
       std::span(numbers.data(), static_cast<std::size_t>(numbers.size()))) {
    ids.push_back(TaskNumbered(number));
  }
  return ids;
}

PyPlacements Columns(std::span<const BatchPlacement> placements) {
  const auto size = static_cast<py::ssize_t>(placements.size());
  PyPlacements columns{.tasks = py::array_t<std::uint64_t>(size),
                       .nodes = py::array_t<std::int32_t>(size),
                       .devices = py::array_t<std::uint64_t>(size),
                       .scores = py::array_t<std::int32_t>(size)};
  std::uint64_t* const tasks = columns.tasks.mutable_data();
  std::int32_t* const nodes = columns.nodes.mutable_data();
  std::uint64_t* const devices = columns.devices.mutable_data();
  std::int32_t* const scores = columns.scores.mutable_data();
  for (std::size_t i = 0; i < placements.size(); ++i) {
    const BatchPlacement& placement = placements[i];
    const bool placed = placement.kind == DecisionKind::kPlace;
    tasks[i] = placed ? TaskNumber(placement.task) : kNoTask;
    nodes[i] = placed ? static_cast<std::int32_t>(placement.node.slot) : -1;
    devices[i] = placed ? placement.devices.bits() : 0;
    scores[i] = placed ? placement.score : 0;
    columns.placed += placed ? 1 : 0;
  }
  columns.tasks = ReadOnly(std::move(columns.tasks));
  columns.nodes = ReadOnly(std::move(columns.nodes));
  columns.devices = ReadOnly(std::move(columns.devices));
  columns.scores = ReadOnly(std::move(columns.scores));
  return columns;
}

void BindBatch(py::module_& module) {
  py::class_<PyPlacements>(module, "Placements", R"(What became of the tasks of a batch.

NumPy columns with one entry a task, in the order in which they were asked for.)")
      .def_readonly("tasks", &PyPlacements::tasks,
                    "uint64: numbers to release them by; 2**64 - 1: not placed.")
      .def_readonly("nodes", &PyPlacements::nodes,
                    "int32: node numbers (Cluster.node_name); -1: not placed.")
      .def_readonly("devices", &PyPlacements::devices,
                    "uint64: the devices on it, device i as bit i.")
      .def_readonly("scores", &PyPlacements::scores,
                    "int32: scores of the places, on the policy's own scale.")
      .def_readonly("placed", &PyPlacements::placed, "How many found a place.")
      .def("__len__", [](const PyPlacements& p) { return p.tasks.size(); })
      .def("__repr__", [](const PyPlacements& p) {
        return absl::StrCat("<Placements: ", p.placed, " of ", p.tasks.size(), " placed>");
      });
}

}  // namespace gpusched::bindings
