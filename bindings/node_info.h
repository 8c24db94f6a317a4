// NodeInfo: a node at one moment, as Python sees it: a copy, valid for ever.
#ifndef GPUSCHED_BINDINGS_NODE_INFO_H_
#define GPUSCHED_BINDINGS_NODE_INFO_H_

#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>
#include <vector>

#include "gpusched/base/resources.h"
#include "gpusched/state/cluster_state.h"

namespace gpusched::bindings {

namespace py = pybind11;

struct PyDeviceInfo {
  std::string model;
  DeviceLedger ledger;
  DeviceFree free;
  DeviceSpec spec;
};

struct PyNodeInfo {
  std::string name;
  Resources capacity, used, held, foreign, free;
  std::vector<PyDeviceInfo> devices;
  std::uint32_t tasks = 0;
  bool cordoned = false;
};

// The node of a live slot.
PyNodeInfo NodeInfoOf(const ClusterState& state, std::uint32_t slot);

void BindNodeInfo(py::module_& module);

}  // namespace gpusched::bindings

#endif  // GPUSCHED_BINDINGS_NODE_INFO_H_
