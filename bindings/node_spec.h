// Device, and nodes as Python describes them in arguments.
#ifndef GPUSCHED_BINDINGS_NODE_SPEC_H_
#define GPUSCHED_BINDINGS_NODE_SPEC_H_

#include <pybind11/pybind11.h>

#include <string_view>
#include <vector>

#include "gpusched/spec/gpu_model.h"
#include "gpusched/spec/node_spec.h"

namespace gpusched::bindings {

namespace py = pybind11;

// Devices of a node as add_node takes them: a list of Device, or a number and a model.
std::vector<DeviceSpec> DeviceSpecs(py::handle gpus, py::handle model, py::handle gpu_mem_mib,
                                    py::handle devices, std::string_view where);

// A node as add_node takes it.
NodeSpec NodeSpecOf(py::handle name, py::handle cpu, py::handle cpu_milli, py::handle mem_mib,
                    py::handle gpus, py::handle model, py::handle gpu_mem_mib, py::handle devices);

// What others use on the node of this name; `prefix` stands before the names of the arguments.
ForeignUsage ForeignUsageOf(std::string_view node, py::handle cpu_milli, py::handle mem_mib,
                            py::handle device_milli, std::string_view prefix = "");

// The catalogue with names that are declared opaque; `where` names what is made.
ModelCatalog CatalogOf(py::handle opaque_models, std::string_view where);

void BindNodeSpec(py::module_& module);

}  // namespace gpusched::bindings

#endif  // GPUSCHED_BINDINGS_NODE_SPEC_H_
