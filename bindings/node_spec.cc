#include "node_spec.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "arguments.h"
#include "gpusched/base/device_mask.h"
#include "gpusched/spec/field_error.h"
#include "sharing.h"
#include "status.h"

namespace gpusched::bindings {
namespace {

DeviceSpec MakeDevice(py::handle model, py::handle gpu_milli, py::handle gpu_mem_mib,
                      py::handle reserved_mem_mib, py::handle sharing, py::handle replicas,
                      py::handle partitions, py::handle partition_on_demand) {
  DeviceSpec device{.model = Text(model, "device", "model"), .gpu_mem_mib = std::nullopt};
  device.gpu_milli = WholeNumber(gpu_milli, "device", "gpu_milli");
  if (!gpu_mem_mib.is_none()) {
    device.gpu_mem_mib = WholeNumber(gpu_mem_mib, "device", "gpu_mem_mib");
  }
  device.reserved_mem_mib = WholeNumber(reserved_mem_mib, "device", "reserved_mem_mib");
  device.sharing = SharingModeOf(sharing, "device", "sharing");
  device.replicas = WholeNumber(replicas, "device", "replicas");
  device.partitions = PartitionsOf(partitions, "device", "partitions");
  device.partition_on_demand = Flag(partition_on_demand, "device", "partition_on_demand");
  return device;
}

std::string DeviceText(const DeviceSpec& device) {
  std::string text = absl::StrCat("Device('", device.model, "'");
  if (device.gpu_milli != kMilli) absl::StrAppend(&text, ", gpu_milli=", device.gpu_milli);
  if (device.gpu_mem_mib) absl::StrAppend(&text, ", gpu_mem_mib=", *device.gpu_mem_mib);
  if (device.reserved_mem_mib != 0) {
    absl::StrAppend(&text, ", reserved_mem_mib=", device.reserved_mem_mib);
  }
  if (device.sharing != SharingMode::kFraction) {
    absl::StrAppend(&text, ", sharing='", std::string(SharingModeName(device.sharing)), "'");
  }
  if (device.replicas != 1) absl::StrAppend(&text, ", replicas=", device.replicas);
  if (!device.partitions.empty()) {
    absl::StrAppend(&text, ", partitions=[");
    for (std::size_t i = 0; i < device.partitions.size(); ++i) {
      absl::StrAppend(&text, i == 0 ? "('" : ", ('", device.partitions[i].profile, "', ",
                      device.partitions[i].start, ")");
    }
    absl::StrAppend(&text, "]");
  }
  if (device.partition_on_demand) absl::StrAppend(&text, ", partition_on_demand=True");
  return text + ")";
}

}  // namespace

std::vector<DeviceSpec> DeviceSpecs(py::handle gpus, py::handle model, py::handle gpu_mem_mib,
                                    py::handle devices, std::string_view where) {
  const std::string at(where);
  std::vector<DeviceSpec> specs;
  if (!devices.is_none()) {
    for (const auto& [value, field] : {std::pair<py::handle, const char*>{gpus, "gpus"},
                                       {model, "model"},
                                       {gpu_mem_mib, "gpu_mem_mib"}}) {
      if (value.is_none()) continue;
      Raise(InvalidField(at, field, Shown(value), "devices is given too; say it there"));
    }
    if (!py::isinstance<py::iterable>(devices)) {
      Raise(InvalidField(at, "devices", Shown(devices), "use a list of Device"));
    }
    for (const py::handle item : py::iter(devices)) {
      if (!py::isinstance<DeviceSpec>(item)) {
        Raise(InvalidField(at, absl::StrCat("devices[", specs.size(), "]"), Shown(item),
                           "use a Device"));
      }
      specs.push_back(item.cast<DeviceSpec>());
    }
    return specs;
  }
  const std::int64_t count = gpus.is_none() ? 0 : WholeNumber(gpus, at, "gpus");
  if (count < 0 || count > kMaxDevicesPerNode) {
    Raise(InvalidField(
        at, "gpus", absl::StrCat(count),
        absl::StrCat("use 0 to ", kMaxDevicesPerNode, ", or enter the machine as several nodes")));
  }
  if (count == 0) {
    if (!gpu_mem_mib.is_none()) {
      Raise(InvalidField(at, "gpu_mem_mib", Shown(gpu_mem_mib), "a node without GPUs has none"));
    }
    return specs;
  }
  if (model.is_none()) {
    Raise(InvalidField(at, "model", "None", "name the model of the node's GPUs"));
  }
  DeviceSpec device{.model = Text(model, at, "model"), .gpu_mem_mib = std::nullopt};
  if (!gpu_mem_mib.is_none()) device.gpu_mem_mib = WholeNumber(gpu_mem_mib, at, "gpu_mem_mib");
  specs.assign(static_cast<std::size_t>(count), device);
  return specs;
}

NodeSpec NodeSpecOf(py::handle name, py::handle cpu, py::handle cpu_milli, py::handle mem_mib,
                    py::handle gpus, py::handle model, py::handle gpu_mem_mib, py::handle devices) {
  NodeSpec spec{.name = Text(name, "node", "name"), .devices = {}};
  const std::string where = "node " + Quoted(spec.name);
  spec.cpu_milli = CpuMilli(cpu, cpu_milli, where);
  spec.mem_mib = WholeNumber(mem_mib, where, "mem_mib");
  spec.devices = DeviceSpecs(gpus, model, gpu_mem_mib, devices, where);
  return spec;
}

ForeignUsage ForeignUsageOf(std::string_view node, py::handle cpu_milli, py::handle mem_mib,
                            py::handle device_milli, std::string_view prefix) {
  const std::string where = "foreign usage of node " + Quoted(node);
  const std::string before(prefix);
  ForeignUsage usage;
  usage.cpu_milli = WholeNumber(cpu_milli, where, before + "cpu_milli");
  usage.mem_mib = WholeNumber(mem_mib, where, before + "mem_mib");
  const std::string field = before + "device_milli";
  if (py::isinstance<py::str>(device_milli) || !py::isinstance<py::iterable>(device_milli)) {
    Raise(InvalidField(where, field, Shown(device_milli), "use a list"));
  }
  for (const py::handle item : py::iter(device_milli)) {
    usage.device_milli.push_back(WholeNumber(item, where, field));
  }
  return usage;
}

ModelCatalog CatalogOf(py::handle opaque_models, std::string_view where) {
  ModelCatalog catalog;
  for (const std::string& name : Texts(opaque_models, where, "opaque_models")) {
    if (name.empty()) Raise(InvalidField(where, "opaque_models", "''", "name the model"));
    catalog.DeclareOpaque(name);
  }
  return catalog;
}

void BindNodeSpec(py::module_& module) {
  py::class_<DeviceSpec>(module, "Device", R"(One accelerator of a node. Immutable.

>>> import libgpusched as gs
>>> cluster = gs.Cluster()
>>> cluster.add_node("n1", cpu=64, mem_mib=262144, devices=[gs.Device("T4"), gs.Device("A10")]))")
      .def(py::init(&MakeDevice), py::arg("model"), py::kw_only(), py::arg("gpu_milli") = 1000,
           py::arg("gpu_mem_mib") = py::none(), py::arg("reserved_mem_mib") = 0,
           py::arg("sharing") = "fraction", py::arg("replicas") = 1,
           py::arg("partitions") = py::tuple(), py::arg("partition_on_demand") = false,
           R"(Describes a device.

model: a name of the catalogue (see models()), or one that the cluster declared opaque.
gpu_milli: what can be given out, in thousandths; 0 is a device that is out of service.
gpu_mem_mib: its memory in MiB; None: memory is not tracked and holds nobody back.
reserved_mem_mib: of that memory, kept back for the driver.
sharing: "exclusive", "fraction", "mps", "time_slicing" or "mig"; see docs/devices.md.
replicas: equal parts that mps or time_slicing offers.
partitions: MIG instances that exist, as (profile, start); with sharing "mig".
partition_on_demand: MIG instances may be made where slices are free.

Whether they go together is checked where the device joins a cluster.)")
      .def_readonly("model", &DeviceSpec::model, "The name of its model.")
      .def_readonly("gpu_milli", &DeviceSpec::gpu_milli, "What can be given out, in thousandths.")
      .def_property_readonly(
          "gpu_mem_mib",
          [](const DeviceSpec& d) -> py::object {
            return d.gpu_mem_mib ? py::object(py::int_(*d.gpu_mem_mib)) : py::none();
          },
          "Memory in MiB, or None if it is not tracked.")
      .def_readonly("reserved_mem_mib", &DeviceSpec::reserved_mem_mib,
                    "Of its memory, kept back for the driver, in MiB.")
      .def_property_readonly(
          "sharing", [](const DeviceSpec& d) { return std::string(SharingModeName(d.sharing)); },
          R"("exclusive", "fraction", "mps", "time_slicing" or "mig".)")
      .def_readonly("replicas", &DeviceSpec::replicas, "Equal parts that it offers.")
      .def_property_readonly(
          "partitions", [](const DeviceSpec& d) { return PartitionsTuple(d.partitions); },
          "MIG instances that exist, MigPartition.")
      .def_readonly("partition_on_demand", &DeviceSpec::partition_on_demand,
                    "Whether MIG instances may be made where slices are free.")
      .def("__repr__", &DeviceText);

  module.def(
      "models",
      [] {
        const auto models = ModelCatalog::BuiltIn();
        py::tuple names(models.size());
        for (std::size_t i = 0; i < models.size(); ++i)
          names[i] = py::str(std::string(models[i].name));
        return names;
      },
      R"(Names of the GPU models that every cluster knows.

>>> import libgpusched as gs
>>> "A100-SXM4-80GB" in gs.models()
True)");
}

}  // namespace gpusched::bindings
