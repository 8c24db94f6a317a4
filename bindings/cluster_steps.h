// The steps that a cluster and a transaction share, defined once for both.
#ifndef GPUSCHED_BINDINGS_CLUSTER_STEPS_H_
#define GPUSCHED_BINDINGS_CLUSTER_STEPS_H_

#include <pybind11/pybind11.h>

#include <string>

#include "arguments.h"
#include "cluster.h"
#include "gpusched/spec/field_error.h"
#include "node_spec.h"
#include "sharing.h"
#include "spec.h"
#include "transaction.h"

namespace gpusched::bindings {

inline PyCluster& ClusterOf(PyCluster& cluster) { return cluster; }
inline PyCluster& ClusterOf(PyTransaction& transaction) { return transaction.cluster(); }

template <class Class>
void DefineSteps(Class& type) {
  using Self = typename Class::type;
  type.def(
          "add_node",
          [](Self& self, const py::object& name, const py::object& cpu, const py::object& cpu_milli,
             const py::object& mem_mib, const py::object& gpus, const py::object& model,
             const py::object& gpu_mem_mib, const py::object& devices) {
            const NodeSpec spec =
                NodeSpecOf(name, cpu, cpu_milli, mem_mib, gpus, model, gpu_mem_mib, devices);
            self.Step([&](Transaction& tx) { return tx.AddNode(spec).status(); });
          },
          py::arg("name"), py::kw_only(), py::arg("cpu") = py::none(),
          py::arg("cpu_milli") = py::none(), py::arg("mem_mib") = 0, py::arg("gpus") = py::none(),
          py::arg("model") = py::none(), py::arg("gpu_mem_mib") = py::none(),
          py::arg("devices") = py::none(), R"(Adds a node at the end of the node order.

cpu: CPU in cores, or cpu_milli: in thousandths of a core.
mem_mib: memory in MiB.
gpus, model, gpu_mem_mib: how many equal GPUs of which model, each with how much memory in MiB
    (None: memory is not tracked). Or devices: a list of Device, for a node with unequal ones.

Raises InvalidSpec, AlreadyExists, or LimitExceeded (65th model, cluster too large).)")
      .def(
          "remove_node",
          [](Self& self, const py::object& name) {
            const std::string node = Text(name, "node", "name");
            self.Step(
                [&](Transaction& tx) { return tx.RemoveNode(ClusterOf(self).FindNode(node)); });
          },
          py::arg("name"),
          "Removes a node that runs no task. Raises NotFound, or PreconditionFailed while tasks "
          "run.")
      .def(
          "set_foreign",
          [](Self& self, const py::object& node, const py::object& cpu_milli,
             const py::object& mem_mib, const py::object& device_milli) {
            const std::string name = Text(node, "node", "name");
            const ForeignUsage usage = ForeignUsageOf(name, cpu_milli, mem_mib, device_milli);
            self.Step([&](Transaction& tx) {
              return tx.SetForeign(ClusterOf(self).FindNode(name), usage);
            });
          },
          py::arg("node"), py::kw_only(), py::arg("cpu_milli") = 0, py::arg("mem_mib") = 0,
          py::arg("device_milli") = py::tuple(),
          R"(Says what others than this scheduler use on a node: daemons, another scheduler.

It replaces what was said before; what is left out is 0. It may exceed what is there: then nothing
is free. device_milli: thousandths by device index. Raises NotFound or InvalidSpec.)")
      .def(
          "place",
          [](Self& self, const py::object& task, const PyShape& shape, const py::object& node,
             const py::object& devices, const py::object& instances) {
            const std::string name = Text(task, "task", "name");
            const std::string where = "task " + Quoted(name);
            const std::string node_name = Text(node, where, "node");
            const std::vector<MigInstance> parts = InstancesOf(instances, where);
            const DeviceMask mask = parts.empty() ? Devices(devices, where) : DevicesOf(parts);
            self.Step([&](Transaction& tx) {
              PyCluster& cluster = ClusterOf(self);
              const Placement there{
                  .node = cluster.FindNode(node_name), .devices = mask, .instances = parts};
              return tx.Place(name, cluster.Intern(shape), there).status();
            });
          },
          py::arg("task"), py::arg("shape"), py::kw_only(), py::arg("node"),
          py::arg("devices") = py::tuple(), py::arg("instances") = py::none(),
          R"(Gives a task its resources at a place that you name.

devices: indices on the node; one for a share, as many as asked for whole ones, none without GPU.
instances: instead of devices, MIG instances: (device, profile, start).

Raises AlreadyExists for a running name, NotFound for an unknown node, InvalidSpec, or
PreconditionFailed if it does not fit there exactly.)")
      .def(
          "release",
          [](Self& self, const py::object& task) {
            const std::string name = Text(task, "task", "name");
            self.Step([&](Transaction& tx) { return tx.Release(ClusterOf(self).FindTask(name)); });
          },
          py::arg("task"),
          "Takes a task's resources back. Raises NotFound if it is not running (any more).");
}

}  // namespace gpusched::bindings

#endif  // GPUSCHED_BINDINGS_CLUSTER_STEPS_H_
