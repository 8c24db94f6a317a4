// Shape as Python holds it.
#ifndef GPUSCHED_BINDINGS_SPEC_H_
#define GPUSCHED_BINDINGS_SPEC_H_

#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>

#include "gpusched/base/id.h"
#include "gpusched/spec/shape_spec.h"
#include "gpusched/state/cluster_state.h"

namespace gpusched::bindings {

namespace py = pybind11;

// A request that belongs to no cluster. It remembers its handle in the cluster that it was used
// with last, so that a shape used many times is checked once.
struct PyShape {
  ShapeSpec spec;  // models sorted, each once
  mutable std::uint64_t cluster_serial = 0;
  mutable ShapeId id;
};

// A request that was checked elsewhere, in the form that equal ones share.
PyShape ShapeOf(ShapeSpec spec);

// A request back from the form that the state keeps.
ShapeSpec SpecOf(const ClusterState& state, const Shape& shape);

std::string ShapeText(const ShapeSpec& spec);

void BindSpec(py::module_& module);

}  // namespace gpusched::bindings

#endif  // GPUSCHED_BINDINGS_SPEC_H_
