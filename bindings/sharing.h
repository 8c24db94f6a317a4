// How devices are shared, as Python says and sees it: modes, MIG partitions and instances, grants.
#ifndef GPUSCHED_BINDINGS_SHARING_H_
#define GPUSCHED_BINDINGS_SHARING_H_

#include <pybind11/pybind11.h>

#include <string>
#include <string_view>
#include <vector>

#include "gpusched/base/device_mask.h"
#include "gpusched/decision/device_grant.h"
#include "gpusched/spec/mig_instance.h"
#include "gpusched/spec/sharing_mode.h"

namespace gpusched::bindings {

namespace py = pybind11;

// A mode by its stable name.
SharingMode SharingModeOf(py::handle value, std::string_view where, std::string_view field);

// Any iterable of MigPartition or (profile, start).
std::vector<MigPartition> PartitionsOf(py::handle value, std::string_view where,
                                       std::string_view field);

// Any iterable of MigInstance or (device, profile, start), sorted; none for None.
std::vector<MigInstance> InstancesOf(py::handle value, std::string_view where);

py::tuple PartitionsTuple(const std::vector<MigPartition>& partitions);
py::tuple InstancesTuple(const std::vector<MigInstance>& instances);

// The devices of instances.
DeviceMask DevicesOf(const std::vector<MigInstance>& instances);

// " as 3g.20gb at 4 of device 0", " in mode mps": what a text says of a grant beyond its devices;
// empty for whole devices and shares.
std::string GrantText(const DeviceGrant& grant);

void BindSharing(py::module_& module);

}  // namespace gpusched::bindings

#endif  // GPUSCHED_BINDINGS_SHARING_H_
