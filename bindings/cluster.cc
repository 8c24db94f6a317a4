#include "cluster.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <atomic>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "arguments.h"
#include "catalog.h"
#include "cluster_steps.h"
#include "gpusched/engine/account.h"
#include "gpusched/spec/field_error.h"
#include "gpusched/state/audit.h"
#include "gpusched/state/state_hash.h"
#include "node_info.h"
#include "transaction.h"

namespace gpusched::bindings {
namespace {

struct PyTaskInfo {
  std::string name;
  std::string node;
  DeviceMask devices;
  DeviceGrant grant;
  ShapeSpec shape;
};

PyTaskInfo TaskInfo(const ClusterState& state, std::uint32_t slot) {
  const TaskRow& row = state.tasks()[slot];
  return {.name = std::string(state.task_name(state.tasks().id(slot))),
          .node = std::string(state.node_name(row.placement.node)),
          .devices = row.placement.devices,
          .grant = GrantOf(state, state.shapes()[row.shape], row.placement),
          .shape = SpecOf(state, state.shapes()[row.shape])};
}

Resources Sum(const ClusterState& state,
              const Resources& (NodeTable::*column)(std::uint32_t) const) {
  std::vector<Resources> rows;
  rows.reserve(state.node_count());
  for (const std::uint32_t slot : state.nodes().order()) {
    rows.push_back((state.nodes().*column)(slot));
  }
  return SumRows(rows);
}

void BindTaskInfo(py::module_& module) {
  py::class_<PyTaskInfo>(module, "TaskInfo", "A running task. A copy: it does not change.")
      .def_readonly("name", &PyTaskInfo::name, "Its name.")
      .def_readonly("node", &PyTaskInfo::node, "The node it runs on.")
      .def_property_readonly(
          "devices", [](const PyTaskInfo& t) { return DevicesTuple(t.devices); },
          "Indices of the devices it holds.")
      .def_readonly("grant", &PyTaskInfo::grant, "How it has them, a DeviceGrant.")
      .def_property_readonly(
          "shape", [](const PyTaskInfo& t) { return ShapeOf(t.shape); }, "What it asked.")
      .def("__repr__", [](const PyTaskInfo& t) {
        return absl::StrCat("TaskInfo('", t.name, "', node='", t.node, "', ", ShapeText(t.shape),
                            ")");
      });
}

}  // namespace

std::uint64_t NewSerial() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

PyCluster::PyCluster(ModelCatalog catalog) : state_(std::move(catalog)), serial_(NewSerial()) {}

ShapeId PyCluster::Intern(const PyShape& shape) {
  if (shape.cluster_serial == serial_) return shape.id;
  RequireIdle();
  shape.id = ValueOrRaise(state_.Intern(shape.spec));
  shape.cluster_serial = serial_;
  return shape.id;
}

NodeId PyCluster::FindNode(const std::string& name) const {
  if (const auto id = state_.FindNode(name)) return *id;
  Raise(FieldError(absl::StatusCode::kNotFound, "", "node", Quoted(name),
                   "no node of this name is in the cluster"));
}

TaskId PyCluster::FindTask(const std::string& name) const {
  if (const auto id = state_.FindTask(name)) return *id;
  Raise(FieldError(absl::StatusCode::kNotFound, "", "task", Quoted(name),
                   "no task of this name is running"));
}

void PyCluster::RequireIdle() const {
  if (!deciding_) return;
  Raise(absl::FailedPreconditionError(
      "the cluster is in the middle of a decision; a policy may not use or change it, and threads "
      "must take turns"));
}

void PyCluster::RequireWritable() const {
  RequireIdle();
  if (!transaction_open_) return;
  Raise(absl::FailedPreconditionError(
      "a transaction is open on this cluster; make the change through it, or finish its with block "
      "first"));
}

void BindCluster(py::module_& module) {
  BindTaskInfo(module);

  py::class_<PyCluster, std::shared_ptr<PyCluster>> cluster(
      module, "Cluster", R"(The one ledger: nodes, devices, and the tasks that hold them.

Every change is exact and whole: one that is refused raises and leaves the state_hash as it was. A
cluster is not thread-safe; threads that share one must take turns.

>>> import libgpusched as gs
>>> cluster = gs.Cluster()
>>> cluster.add_node("n1", cpu=64, mem_mib=262144, gpus=8, model="A100-SXM4-80GB")
>>> cluster.capacity.gpu_milli
8000)");
  cluster
      .def(py::init([](const py::object& opaque_models, const py::object& catalog) {
             return std::make_shared<PyCluster>(CatalogOf(catalog, opaque_models, "cluster"));
           }),
           py::kw_only(), py::arg("opaque_models") = py::tuple(), py::arg("catalog") = py::none(),
           R"(An empty cluster.

opaque_models: names of GPU models beyond the catalogue (see models()), such as a trace's anonymised
    "G2". They are compared for equality and nothing else.
catalog: a Catalog, with models and MIG geometries of your own.)")
      .def(
          "transaction",
          [](const std::shared_ptr<PyCluster>& self) {
            return std::make_unique<PyTransaction>(self);
          },
          R"(Several changes as one: all of them, or none.

Use it in a with block: what was done is kept at the end, and taken back if an exception leaves it.

>>> import libgpusched as gs
>>> cluster = gs.Cluster()
>>> with cluster.transaction() as tx:
...     tx.add_node("n1", cpu=64, mem_mib=262144, gpus=4, model="T4")
...     tx.place("job-1", gs.Shape(cpu=8, gpu=2), node="n1", devices=[0, 1])
>>> cluster.node("n1").free.gpu_milli
2000)")
      .def(
          "node",
          [](const PyCluster& self, const py::object& name) {
            return NodeInfoOf(self.state(), self.FindNode(Text(name, "node", "name")).slot);
          },
          py::arg("name"), "A node as it is now. Raises NotFound.")
      .def(
          "nodes",
          [](const PyCluster& self) {
            py::list nodes;
            for (const std::uint32_t slot : self.state().nodes().order()) {
              nodes.append(NodeInfoOf(self.state(), slot));
            }
            return nodes;
          },
          "All nodes in node order, which is the order of joining; ties between nodes break by it.")
      .def(
          "node_names",
          [](const PyCluster& self) {
            py::list names;
            const ClusterState& state = self.state();
            for (const std::uint32_t slot : state.nodes().order()) {
              names.append(py::str(std::string(state.node_name(state.nodes().id(slot)))));
            }
            return names;
          },
          "Names of all nodes in node order.")
      .def(
          "intern", [](PyCluster& self, const PyShape& shape) { return self.Intern(shape).slot; },
          py::arg("shape"), R"(The number of a shape in this cluster, for Scheduler.place_many.

Equal shapes have one number, for the life of the cluster. Raises InvalidSpec as place does.)")
      .def(
          "node_name",
          [](const PyCluster& self, const py::object& number) {
            const NodeTable& nodes = self.state().nodes();
            const std::int64_t slot = WholeNumber(number, "node", "number");
            if (slot < 0 || slot >= nodes.slots() ||
                !nodes.live(static_cast<std::uint32_t>(slot))) {
              Raise(FieldError(absl::StatusCode::kNotFound, "node", "number", absl::StrCat(slot),
                               "no node of this number is in the cluster"));
            }
            const NodeId id = nodes.id(static_cast<std::uint32_t>(slot));
            return std::string(self.state().node_name(id));
          },
          py::arg("number"),
          "The name of the node of this number, as in Placements.nodes. Raises NotFound.")
      .def(
          "task",
          [](const PyCluster& self, const py::object& name) {
            return TaskInfo(self.state(), self.FindTask(Text(name, "task", "name")).slot);
          },
          py::arg("name"), "A running task. Raises NotFound.")
      .def(
          "tasks",
          [](const PyCluster& self) {
            std::vector<PyTaskInfo> tasks;
            for (std::uint32_t slot = 0; slot < self.state().tasks().slots(); ++slot) {
              if (self.state().tasks().live(slot)) tasks.push_back(TaskInfo(self.state(), slot));
            }
            std::stable_sort(
                tasks.begin(), tasks.end(),
                [](const PyTaskInfo& a, const PyTaskInfo& b) { return a.name < b.name; });
            return tasks;
          },
          "All running tasks, sorted by name; those of batches have none.")
      .def_property_readonly(
          "node_count", [](const PyCluster& self) { return self.state().node_count(); },
          "How many nodes there are.")
      .def_property_readonly(
          "task_count", [](const PyCluster& self) { return self.state().tasks().size(); },
          "How many tasks run.")
      .def_property_readonly(
          "capacity", [](const PyCluster& self) { return self.state().capacity(); },
          "Sums over all nodes of what they have.")
      .def_property_readonly(
          "used", [](const PyCluster& self) { return Sum(self.state(), &NodeTable::used); },
          "Sums over all nodes of what our tasks hold.")
      .def_property_readonly(
          "free", [](const PyCluster& self) { return Sum(self.state(), &NodeTable::free); },
          "Sums over all nodes of what is free. A sum of small rests is no device with room.")
      .def(
          "state_hash",
          [](const PyCluster& self) { return absl::StrFormat("%016x", StateHash(self.state())); },
          R"(16 hex digits for what is true now, whatever the way it came about.

It covers nodes, devices, foreign usage and tasks by name. O(nodes + tasks).)")
      .def(
          "audit", [](const PyCluster& self) { RaiseIfError(Audit(self.state())); },
          "Recounts the ledger from the tasks. Raises InternalError at the first difference.")
      .def("__repr__", [](const PyCluster& self) {
        return absl::StrCat("Cluster(", self.state().node_count(), " nodes, ",
                            self.state().tasks().size(), " tasks)");
      });
  DefineSteps(cluster);
}

}  // namespace gpusched::bindings
