#include "sharing.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "arguments.h"
#include "gpusched/spec/field_error.h"
#include "gpusched/spec/mig_geometry.h"
#include "status.h"

namespace gpusched::bindings {
namespace {

// The items of an iterable that is no text.
std::vector<py::object> ItemsOf(py::handle value, std::string_view where, std::string_view field,
                                std::string_view remedy) {
  if (py::isinstance<py::str>(value) || !py::isinstance<py::iterable>(value)) {
    Raise(InvalidField(where, field, Shown(value), remedy));
  }
  std::vector<py::object> items;
  for (const py::handle item : py::iter(value)) {
    items.push_back(py::reinterpret_borrow<py::object>(item));
  }
  return items;
}

// The parts of a tuple or list of so many.
py::tuple Parts(const py::object& item, std::size_t count, std::string_view where,
                std::string_view field, std::string_view remedy) {
  const bool sequence = py::isinstance<py::tuple>(item) || py::isinstance<py::list>(item);
  if (!sequence || py::len(item) != count) Raise(InvalidField(where, field, Shown(item), remedy));
  return py::tuple(item);
}

std::int32_t SmallNumber(py::handle value, std::string_view where, const std::string& field,
                         std::int32_t most) {
  const std::string remedy = absl::StrCat("use 0 to ", most);
  const std::int64_t number = WholeNumber(value, where, field, remedy);
  if (number < 0 || number > most) Raise(InvalidField(where, field, Shown(value), remedy));
  return static_cast<std::int32_t>(number);
}

MigInstance MakeInstance(py::handle device, py::handle profile, py::handle start,
                         std::string_view where, const std::string& field) {
  return {.device = SmallNumber(device, where, field + "device", kMaxDevicesPerNode - 1),
          .profile = Text(profile, where, field + "profile"),
          .start = SmallNumber(start, where, field + "start", kMaxMigSlices - 1)};
}

}  // namespace

SharingMode SharingModeOf(py::handle value, std::string_view where, std::string_view field) {
  const std::string name = Text(value, where, field);
  for (std::size_t i = 0; i < kSharingModes; ++i) {
    if (name == SharingModeName(static_cast<SharingMode>(i))) return static_cast<SharingMode>(i);
  }
  Raise(InvalidField(where, field, Quoted(name),
                     "use 'exclusive', 'fraction', 'mps', 'time_slicing' or 'mig'"));
}

std::vector<MigPartition> PartitionsOf(py::handle value, std::string_view where,
                                       std::string_view field) {
  constexpr std::string_view kRemedy = "use a list of (profile, start)";
  std::vector<MigPartition> partitions;
  for (const py::object& item : ItemsOf(value, where, field, kRemedy)) {
    if (py::isinstance<MigPartition>(item)) {
      partitions.push_back(item.cast<MigPartition>());
      continue;
    }
    const std::string entry = absl::StrCat(std::string(field), "[", partitions.size(), "]");
    const py::tuple parts = Parts(item, 2, where, entry, kRemedy);
    partitions.push_back(
        {.profile = Text(parts[0], where, entry + ".profile"),
         .start = SmallNumber(parts[1], where, entry + ".start", kMaxMigSlices - 1)});
  }
  return partitions;
}

std::vector<MigInstance> InstancesOf(py::handle value, std::string_view where) {
  constexpr std::string_view kRemedy = "use a list of (device, profile, start)";
  std::vector<MigInstance> instances;
  if (value.is_none()) return instances;
  for (const py::object& item : ItemsOf(value, where, "instances", kRemedy)) {
    if (py::isinstance<MigInstance>(item)) {
      instances.push_back(item.cast<MigInstance>());
      continue;
    }
    const std::string entry = absl::StrCat("instances[", instances.size(), "]");
    const py::tuple parts = Parts(item, 3, where, entry, kRemedy);
    instances.push_back(MakeInstance(parts[0], parts[1], parts[2], where, entry + "."));
  }
  std::sort(instances.begin(), instances.end(), Before);
  return instances;
}

namespace {

template <class T>
py::tuple TupleOf(const std::vector<T>& list) {
  py::tuple tuple(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) tuple[i] = py::cast(list[i]);
  return tuple;
}

}  // namespace

py::tuple PartitionsTuple(const std::vector<MigPartition>& partitions) {
  return TupleOf(partitions);
}

py::tuple InstancesTuple(const std::vector<MigInstance>& instances) { return TupleOf(instances); }

DeviceMask DevicesOf(const std::vector<MigInstance>& instances) {
  DeviceMask devices;
  for (const MigInstance& instance : instances) devices.Insert(instance.device);
  return devices;
}

std::string GrantText(const DeviceGrant& grant) {
  std::string text;
  for (const MigInstance& instance : grant.instances) {
    absl::StrAppend(&text, text.empty() ? " as " : ", ", instance.profile, " at ", instance.start,
                    " of device ", instance.device);
  }
  if (SharesWithoutIsolation(grant.mode)) {
    absl::StrAppend(&text, " by ", std::string(SharingModeName(grant.mode)),
                    ", not isolated from others there");
  }
  return text;
}

void BindSharing(py::module_& module) {
  py::class_<MigPartition>(module, "MigPartition", R"(A MIG instance that exists on a device.

>>> import libgpusched as gs
>>> gs.MigPartition("3g.20gb", 4)
MigPartition('3g.20gb', 4))")
      .def(py::init([](const py::object& profile, const py::object& start) {
             return MigPartition{
                 .profile = Text(profile, "partition", "profile"),
                 .start = SmallNumber(start, "partition", "start", kMaxMigSlices - 1)};
           }),
           py::arg("profile"), py::arg("start"),
           "profile: its name; start: its first memory slice.")
      .def_readonly("profile", &MigPartition::profile, "The name of its profile.")
      .def_readonly("start", &MigPartition::start, "Its first memory slice.")
      .def("__eq__", &IsEqual<MigPartition>)
      .def("__hash__",
           [](const MigPartition& p) { return py::hash(py::make_tuple(p.profile, p.start)); })
      .def("__repr__", [](const MigPartition& p) {
        return absl::StrCat("MigPartition(", NameText(p.profile), ", ", p.start, ")");
      });

  py::class_<MigInstance>(module, "MigInstance", R"(A MIG instance on one device of a node.

>>> import libgpusched as gs
>>> gs.MigInstance(0, "3g.20gb", 4)
MigInstance(0, '3g.20gb', 4))")
      .def(py::init(
               [](const py::object& device, const py::object& profile, const py::object& start) {
                 return MakeInstance(device, profile, start, "instance", "");
               }),
           py::arg("device"), py::arg("profile"), py::arg("start"),
           "device: its index; profile: a name; start: the first memory slice.")
      .def_readonly("device", &MigInstance::device, "The index of the device.")
      .def_readonly("profile", &MigInstance::profile, "The name of its profile.")
      .def_readonly("start", &MigInstance::start, "Its first memory slice.")
      .def("__eq__", &IsEqual<MigInstance>)
      .def("__hash__",
           [](const MigInstance& i) {
             return py::hash(py::make_tuple(i.device, i.profile, i.start));
           })
      .def("__repr__", [](const MigInstance& i) {
        return absl::StrCat("MigInstance(", i.device, ", ", NameText(i.profile), ", ", i.start,
                            ")");
      });

  py::class_<DeviceGrant>(module, "DeviceGrant", R"(How a task has the devices that it is given.

The amounts are those of each device, or of each MIG instance.)")
      .def_property_readonly(
          "mode", [](const DeviceGrant& g) { return std::string(SharingModeName(g.mode)); },
          R"("exclusive", "fraction", "mps", "time_slicing" or "mig".)")
      .def_readonly("gpu_milli", &DeviceGrant::gpu_milli,
                    "Thousandths of a device; of replicas and instances, rounded down.")
      .def_readonly("gpu_mem_mib", &DeviceGrant::gpu_mem_mib,
                    "Memory in MiB: what is claimed, or what the instance has.")
      .def_property_readonly(
          "instances", [](const DeviceGrant& g) { return InstancesTuple(g.instances); },
          "The MIG instances, by device and start; empty in other modes.")
      .def_property_readonly(
          "isolated", [](const DeviceGrant& g) { return !SharesWithoutIsolation(g.mode); },
          "Whether the device keeps others from harming it; False for mps and time_slicing.")
      .def("__eq__", &IsEqual<DeviceGrant>)
      .def("__hash__",
           [](const DeviceGrant& g) {
             return py::hash(py::make_tuple(static_cast<int>(g.mode), g.gpu_milli, g.gpu_mem_mib,
                                            GrantText(g)));
           })
      .def("__repr__", [](const DeviceGrant& g) {
        return absl::StrCat("<DeviceGrant ", std::string(SharingModeName(g.mode)),
                            ", gpu_milli=", g.gpu_milli, ", gpu_mem_mib=", g.gpu_mem_mib,
                            GrantText(g), ">");
      });
}

}  // namespace gpusched::bindings
