// Shape and Device as Python holds them.
#ifndef GPUSCHED_BINDINGS_SPEC_H_
#define GPUSCHED_BINDINGS_SPEC_H_

#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>

#include "gpusched/base/id.h"
#include "gpusched/spec/node_spec.h"
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

// Devices of a node as add_node takes them: a list of Device, or a number and a model.
std::vector<DeviceSpec> DeviceSpecs(py::handle gpus, py::handle model, py::handle gpu_mem_mib,
                                    py::handle devices, std::string_view where);

void BindSpec(py::module_& module);

}  // namespace gpusched::bindings

#endif  // GPUSCHED_BINDINGS_SPEC_H_
