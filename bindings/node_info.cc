#include "node_info.h"

#include <pybind11/stl.h>

#include "absl/strings/str_cat.h"

namespace gpusched::bindings {
namespace {

std::string ResourcesText(const Resources& r) {
  return absl::StrCat("Resources(cpu_milli=", r[ResourceKind::kCpuMilli],
                      ", mem_mib=", r[ResourceKind::kMemMib],
                      ", gpu_milli=", r[ResourceKind::kGpuMilli],
                      ", gpu_mem_mib=", r[ResourceKind::kGpuMemMib], ")");
}

}  // namespace

PyNodeInfo NodeInfoOf(const ClusterState& state, std::uint32_t slot) {
  const NodeTable& nodes = state.nodes();
  PyNodeInfo info{.name = std::string(state.node_name(nodes.id(slot))),
                  .capacity = nodes.capacity(slot),
                  .used = nodes.used(slot),
                  .held = nodes.held(slot),
                  .foreign = nodes.foreign(slot),
                  .free = nodes.free(slot),
                  .devices = {},
                  .cordoned = nodes.cordoned(slot)};
  for (std::size_t i = 0; i < nodes.devices(slot).size(); ++i) {
    const DeviceFree& free = nodes.device_free(slot)[i];
    info.devices.push_back({.model = std::string(state.models().name(free.model)),
                            .ledger = nodes.devices(slot)[i],
                            .free = free,
                            .spec = SpecOf(nodes.devices(slot)[i], nodes.mig().geometry(free.model),
                                           state.models().name(free.model))});
  }
  for (std::size_t kind = 0; kind < kTaskKinds; ++kind) {
    info.tasks += nodes.tasks(slot, static_cast<TaskKind>(kind));
  }
  return info;
}

void BindNodeInfo(py::module_& module) {
  const auto amount = [](ResourceKind kind) {
    return py::cpp_function([kind](const Resources& r) { return r[kind]; });
  };
  py::class_<Resources>(module, "Resources", "Amounts by resource. GPU columns sum over devices.")
      .def_property_readonly("cpu_milli", amount(ResourceKind::kCpuMilli),
                             "CPU in thousandths of a core.")
      .def_property_readonly("mem_mib", amount(ResourceKind::kMemMib), "Memory in MiB.")
      .def_property_readonly("gpu_milli", amount(ResourceKind::kGpuMilli),
                             "GPU in thousandths of a device.")
      .def_property_readonly("gpu_mem_mib", amount(ResourceKind::kGpuMemMib),
                             "Memory of devices in MiB, where it is tracked.")
      .def("__eq__",
           [](const Resources& a, const py::object& other) -> py::object {
             if (!py::isinstance<Resources>(other)) {
               return py::reinterpret_borrow<py::object>(Py_NotImplemented);
             }
             return py::bool_(a == other.cast<const Resources&>());
           })
      .def("__hash__", [](const Resources& r) { return py::hash(py::tuple(py::cast(r.amount))); })
      .def("__repr__", &ResourcesText);

  using Info = PyDeviceInfo;
  const auto memory = [](const Info& d, std::int64_t mib) -> py::object {
    return d.ledger.mem_tracked ? py::object(py::int_(mib)) : py::none();
  };
  py::class_<Info>(module, "DeviceInfo",
                   "A device of a node at one moment, in thousandths and MiB. Memory is None if it "
                   "is not tracked.")
      .def_readonly("model", &Info::model, "The name of its model.")
      .def_property_readonly("capacity_milli",
                             [](const Info& d) { return d.ledger.capacity.gpu_milli; })
      .def_property_readonly("used_milli", [](const Info& d) { return d.ledger.used.gpu_milli; })
      .def_property_readonly("held_milli", [](const Info& d) { return d.ledger.held.gpu_milli; })
      .def_property_readonly("foreign_milli",
                             [](const Info& d) { return d.ledger.foreign.gpu_milli; })
      .def_property_readonly("free_milli", [](const Info& d) { return d.free.gpu_milli; })
      .def_property_readonly(
          "mem_capacity_mib",
          [memory](const Info& d) { return memory(d, d.ledger.capacity.mem_mib); })
      .def_property_readonly("mem_used_mib",
                             [memory](const Info& d) { return memory(d, d.ledger.used.mem_mib); })
      .def_property_readonly("mem_free_mib",
                             [memory](const Info& d) { return memory(d, d.free.mem_mib); })
      .def_readonly("spec", &Info::spec, "What it was described as, a Device.")
      .def_property_readonly(
          "used_parts", [](const Info& d) { return d.ledger.used_by.parts; },
          "Replicas, or compute slices, that our tasks have.")
      .def_property_readonly(
          "used_slices",
          [](const Info& d) {
            py::list slices;
            for (std::size_t i = 0; i < d.ledger.used_by.slices.size(); ++i) {
              if (d.ledger.used_by.slices[i] > 0) slices.append(i);
            }
            return py::tuple(slices);
          },
          "Memory slices that MIG instances of our tasks have.")
      .def("__repr__", [](const Info& d) {
        return absl::StrCat("DeviceInfo('", d.model, "', free_milli=", d.free.gpu_milli, " of ",
                            d.ledger.capacity.gpu_milli, ")");
      });

  py::class_<PyNodeInfo>(module, "NodeInfo", "A node at one moment. A copy: it does not change.")
      .def_readonly("name", &PyNodeInfo::name, "Its name.")
      .def_readonly("capacity", &PyNodeInfo::capacity, "What it has.")
      .def_readonly("used", &PyNodeInfo::used, "What our tasks hold.")
      .def_readonly("held", &PyNodeInfo::held, "What holds keep for a job; 0 on a Cluster.")
      .def_readonly("foreign", &PyNodeInfo::foreign,
                    "What others than this scheduler use: daemons, another scheduler.")
      .def_readonly("free", &PyNodeInfo::free, "What can be given out now; never negative.")
      .def_property_readonly(
          "devices", [](const PyNodeInfo& n) { return py::tuple(py::cast(n.devices)); },
          "Its devices by index.")
      .def_readonly("task_count", &PyNodeInfo::tasks, "How many of our tasks run on it.")
      .def_readonly("cordoned", &PyNodeInfo::cordoned,
                    "Whether nothing new may come to it; never on a Cluster.")
      .def("__repr__", [](const PyNodeInfo& n) {
        return absl::StrCat("NodeInfo('", n.name, "', ", n.devices.size(), " devices, ", n.tasks,
                            " tasks, free=", ResourcesText(n.free), ")");
      });
}

}  // namespace gpusched::bindings
