#include "fragmentation.h"

#include <pybind11/stl.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "arguments.h"
#include "cluster.h"
#include "gpusched/policy/score/fragmentation_report.h"
#include "gpusched/spec/field_error.h"
#include "policy.h"
#include "status.h"

namespace gpusched::bindings {
namespace {

FragmentationReport Measure(PyCluster& cluster, const py::object& target) {
  if (!py::isinstance<PyTarget>(target)) {
    Raise(InvalidField("fragmentation", "target", Shown(target), "use a TargetWorkload"));
  }
  cluster.RequireIdle();
  const FragmentTable table = ValueOrRaise(
      FragmentTable::Build(target.cast<const PyTarget&>().target, cluster.mutable_state()));
  return MeasureFragmentation(cluster.state(), table);
}

py::dict ByName(const std::vector<Fragmentation>& list) {
  py::dict dict;
  for (const Fragmentation& entry : list) dict[py::str(entry.name)] = py::cast(entry);
  return dict;
}

}  // namespace

void BindFragmentation(py::module_& module) {
  py::class_<Fragmentation>(module, "Fragmentation",
                            "Idle GPU that the expected tasks can't use, over some devices.")
      .def_readonly("capacity_milli", &Fragmentation::capacity_milli,
                    "What the devices have, in thousandths.")
      .def_readonly("idle_milli", &Fragmentation::idle_milli, "What of it is free, in thousandths.")
      .def_property_readonly("gpus", &Fragmentation::gpus,
                             "What of that the expected tasks can't use, in GPUs.")
      .def_property_readonly("of_capacity", &Fragmentation::of_capacity,
                             "The same as a share of capacity; None without any.")
      .def_property_readonly(
          "of_idle", &Fragmentation::of_idle,
          "The same as a share of what is idle; None while under a tenth of the capacity is.")
      .def("__repr__", [](const Fragmentation& f) {
        return absl::StrCat("<Fragmentation ", f.gpus(), " of ", f.idle_milli, " idle milli>");
      });
  py::class_<FragmentationReport>(module, "FragmentationReport",
                                  "Fragmentation of a cluster, its models and its nodes.")
      .def_readonly("cluster", &FragmentationReport::cluster, "Over all devices.")
      .def_property_readonly(
          "models", [](const FragmentationReport& r) { return ByName(r.models); },
          "A dict from model to Fragmentation.")
      .def_property_readonly(
          "nodes", [](const FragmentationReport& r) { return ByName(r.nodes); },
          "A dict from node to Fragmentation, in node order.")
      .def("__repr__", [](const FragmentationReport& r) {
        return absl::StrCat("<FragmentationReport of ", r.nodes.size(), " nodes, ",
                            r.cluster.gpus(), " GPUs>");
      });
  module.def("fragmentation", &Measure, py::arg("cluster"), py::arg("target"),
             R"(Measures how much idle GPU the tasks of a TargetWorkload can't use.

A device that can't take a task, for want of share, memory or a legal MIG start, is a fragment to it
with all that is idle there (Weng et al., ATC 2023, generalised to memory and MIG slices).

>>> import libgpusched as gs
>>> cluster = gs.Cluster()
>>> cluster.add_node("n1", cpu=8, gpus=1, model="T4")
>>> cluster.place("half", gs.Shape(gpu=0.7), node="n1", devices=[0])
>>> target = gs.TargetWorkload.from_counts({gs.Shape(gpu=0.5): 1, gs.Shape(gpu=0.2): 1})
>>> gs.fragmentation(cluster, target).cluster.of_idle
0.5)");
}

}  // namespace gpusched::bindings
