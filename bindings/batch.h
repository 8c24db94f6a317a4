// Many tasks at once, as NumPy columns.
#ifndef GPUSCHED_BINDINGS_BATCH_H_
#define GPUSCHED_BINDINGS_BATCH_H_

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <span>
#include <vector>

#include "gpusched/base/id.h"
#include "gpusched/decision/decision.h"

namespace gpusched::bindings {

namespace py = pybind11;

// A column for each field, one entry a task; read-only for Python.
struct PyPlacements {
  py::array_t<std::uint64_t> tasks;    // handles; kNoTask: not placed
  py::array_t<std::int32_t> nodes;     // node numbers; −1: not placed
  py::array_t<std::uint64_t> devices;  // bit masks
  py::array_t<std::int32_t> scores;
  std::size_t placed = 0;
};

// A task's handle as a number, and back.
std::uint64_t TaskNumber(TaskId task);
TaskId TaskNumbered(std::uint64_t number);

// The shapes that were interned before, by number. Raises InvalidSpec for what is no column of
// whole numbers.
std::vector<ShapeId> ShapeColumn(const py::object& column);
std::vector<TaskId> TaskColumn(const py::object& column);

PyPlacements Columns(std::span<const BatchPlacement> placements);

void BindBatch(py::module_& module);

}  // namespace gpusched::bindings

#endif  // GPUSCHED_BINDINGS_BATCH_H_
