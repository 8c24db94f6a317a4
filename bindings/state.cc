#include "state.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <atomic>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "arguments.h"
#include "gpusched/spec/field_error.h"
#include "gpusched/state/audit.h"
#include "gpusched/state/state_hash.h"

namespace gpusched::bindings {
namespace {

std::uint64_t NextSerial() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

// --- what Python sees of a cluster: copies, valid for ever ------------------------------------

struct PyDeviceInfo {
  std::string model;
  DeviceLedger ledger;
  DeviceFree free;
};

struct PyNodeInfo {
  std::string name;
  Resources capacity, used, foreign, free;
  std::vector<PyDeviceInfo> devices;
  std::uint32_t tasks = 0;
};

struct PyTaskInfo {
  std::string name;
  std::string node;
  DeviceMask devices;
  ShapeSpec shape;
};

PyNodeInfo NodeInfo(const ClusterState& state, std::uint32_t slot) {
  const NodeTable& nodes = state.nodes();
  PyNodeInfo info{.name = std::string(state.node_name(nodes.id(slot))),
                  .capacity = nodes.capacity(slot),
                  .used = nodes.used(slot),
                  .foreign = nodes.foreign(slot),
                  .free = nodes.free(slot),
                  .devices = {}};
  for (std::size_t i = 0; i < nodes.devices(slot).size(); ++i) {
    const DeviceFree& free = nodes.device_free(slot)[i];
    info.devices.push_back({.model = std::string(state.models().name(free.model)),
                            .ledger = nodes.devices(slot)[i],
                            .free = free});
  }
  for (std::size_t kind = 0; kind < kTaskKinds; ++kind) {
    info.tasks += nodes.tasks(slot, static_cast<TaskKind>(kind));
  }
  return info;
}

PyTaskInfo TaskInfo(const ClusterState& state, std::uint32_t slot) {
  const TaskRow& row = state.tasks()[slot];
  return {.name = std::string(state.task_name(state.tasks().id(slot))),
          .node = std::string(state.node_name(row.placement.node)),
          .devices = row.placement.devices,
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

std::string ResourcesText(const Resources& r) {
  return absl::StrCat("Resources(cpu_milli=", r[ResourceKind::kCpuMilli],
                      ", mem_mib=", r[ResourceKind::kMemMib],
                      ", gpu_milli=", r[ResourceKind::kGpuMilli],
                      ", gpu_mem_mib=", r[ResourceKind::kGpuMemMib], ")");
}

// --- the steps that a cluster and a transaction share -----------------------------------------

PyCluster& ClusterOf(PyCluster& cluster) { return cluster; }
PyCluster& ClusterOf(PyTransaction& transaction) { return transaction.cluster(); }

template <class Class>
void DefineSteps(Class& type) {
  using Self = typename Class::type;
  type.def(
          "add_node",
          [](Self& self, const py::object& name, const py::object& cpu, const py::object& cpu_milli,
             const py::object& mem_mib, const py::object& gpus, const py::object& model,
             const py::object& gpu_mem_mib, const py::object& devices) {
            NodeSpec spec{.name = Text(name, "node", "name"), .devices = {}};
            const std::string where = "node " + Quoted(spec.name);
            spec.cpu_milli = CpuMilli(cpu, cpu_milli, where);
            spec.mem_mib = WholeNumber(mem_mib, where, "mem_mib");
            spec.devices = DeviceSpecs(gpus, model, gpu_mem_mib, devices, where);
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
            const std::string where = "foreign usage of node " + Quoted(name);
            ForeignUsage usage{.cpu_milli = WholeNumber(cpu_milli, where, "cpu_milli"),
                               .mem_mib = WholeNumber(mem_mib, where, "mem_mib"),
                               .device_milli = {}};
            if (py::isinstance<py::str>(device_milli) ||
                !py::isinstance<py::iterable>(device_milli)) {
              Raise(InvalidField(where, "device_milli", Shown(device_milli), "use a list"));
            }
            for (const py::handle item : py::iter(device_milli)) {
              usage.device_milli.push_back(WholeNumber(item, where, "device_milli"));
            }
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
             const py::object& devices) {
            const std::string name = Text(task, "task", "name");
            const std::string where = "task " + Quoted(name);
            const std::string node_name = Text(node, where, "node");
            const DeviceMask mask = Devices(devices, where);
            self.Step([&](Transaction& tx) {
              PyCluster& cluster = ClusterOf(self);
              const NodeId id = cluster.FindNode(node_name);
              return tx.Place(name, cluster.Intern(shape), {.node = id, .devices = mask}).status();
            });
          },
          py::arg("task"), py::arg("shape"), py::kw_only(), py::arg("node"),
          py::arg("devices") = py::tuple(),
          R"(Gives a task its resources at a place that you name.

devices: indices on the node; one for a share, as many as asked for whole ones, none without GPU.

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

void BindInfo(py::module_& module) {
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
      .def("__repr__", [](const Info& d) {
        return absl::StrCat("DeviceInfo('", d.model, "', free_milli=", d.free.gpu_milli, " of ",
                            d.ledger.capacity.gpu_milli, ")");
      });

  py::class_<PyNodeInfo>(module, "NodeInfo", "A node at one moment. A copy: it does not change.")
      .def_readonly("name", &PyNodeInfo::name, "Its name.")
      .def_readonly("capacity", &PyNodeInfo::capacity, "What it has.")
      .def_readonly("used", &PyNodeInfo::used, "What our tasks hold.")
      .def_readonly("foreign", &PyNodeInfo::foreign, "What others use (see set_foreign).")
      .def_readonly("free", &PyNodeInfo::free, "What can be given out now; never negative.")
      .def_property_readonly(
          "devices", [](const PyNodeInfo& n) { return py::tuple(py::cast(n.devices)); },
          "Its devices by index.")
      .def_readonly("task_count", &PyNodeInfo::tasks, "How many of our tasks run on it.")
      .def("__repr__", [](const PyNodeInfo& n) {
        return absl::StrCat("NodeInfo('", n.name, "', ", n.devices.size(), " devices, ", n.tasks,
                            " tasks, free=", ResourcesText(n.free), ")");
      });

  py::class_<PyTaskInfo>(module, "TaskInfo", "A running task. A copy: it does not change.")
      .def_readonly("name", &PyTaskInfo::name, "Its name.")
      .def_readonly("node", &PyTaskInfo::node, "The node it runs on.")
      .def_property_readonly(
          "devices", [](const PyTaskInfo& t) { return DevicesTuple(t.devices); },
          "Indices of the devices it holds.")
      .def_property_readonly(
          "shape", [](const PyTaskInfo& t) { return ShapeOf(t.shape); }, "What it asked.")
      .def("__repr__", [](const PyTaskInfo& t) {
        return absl::StrCat("TaskInfo('", t.name, "', node='", t.node, "', ", ShapeText(t.shape),
                            ")");
      });
}

}  // namespace

// --- PyCluster --------------------------------------------------------------------------------

PyCluster::PyCluster(ModelCatalog catalog) : state_(std::move(catalog)), serial_(NextSerial()) {}

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

// --- PyTransaction ----------------------------------------------------------------------------

PyTransaction::PyTransaction(std::shared_ptr<PyCluster> cluster)
    : cluster_(std::move(cluster)), serial_(NextSerial()) {}

PyTransaction::~PyTransaction() { End(); }

void PyTransaction::End() {
  if (!transaction_) return;
  transaction_.reset();
  cluster_->transaction_open_ = false;
}

void PyTransaction::Enter() {
  if (entered_) {
    Raise(absl::FailedPreconditionError(
        "this transaction was used before; begin a new one with cluster.transaction()"));
  }
  cluster_->RequireWritable();
  transaction_.emplace(cluster_->state_);
  cluster_->transaction_open_ = true;
  entered_ = true;
}

void PyTransaction::Exit(bool commit) {
  if (!transaction_) return;  // rolled back by hand
  cluster_->RequireIdle();
  if (commit) transaction_->Commit();
  End();
}

Transaction& PyTransaction::RequireOpen() {
  if (!transaction_) {
    Raise(absl::FailedPreconditionError(
        entered_ ? "this transaction is over; begin a new one with cluster.transaction()"
                 : "this transaction has not begun; use it as `with cluster.transaction() as tx`"));
  }
  cluster_->RequireIdle();
  return *transaction_;
}

PyMark PyTransaction::Mark() {
  const Transaction::Mark mark = RequireOpen().mark();
  marks_.emplace_back(++next_mark_, mark);
  return {.transaction = serial_, .number = next_mark_};
}

void PyTransaction::RollbackTo(const PyMark& mark) {
  Transaction& transaction = RequireOpen();
  const auto found = std::find_if(marks_.begin(), marks_.end(),
                                  [&](const auto& m) { return m.first == mark.number; });
  if (mark.transaction != serial_ || found == marks_.end()) {
    Raise(absl::FailedPreconditionError(
        "this mark is of another transaction, or was taken back itself; use a mark of this one"));
  }
  transaction.RollbackTo(found->second);
  marks_.erase(found + 1, marks_.end());
}

void PyTransaction::Rollback() {
  RequireOpen().RollbackTo(0);
  End();
}

// --- the module -------------------------------------------------------------------------------

void BindState(py::module_& module) {
  BindInfo(module);

  const py::class_<PyMark> mark(module, "Mark", "A point of a transaction to go back to.");

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
      .def(py::init([](const py::object& opaque_models) {
             ModelCatalog catalog;
             for (const std::string& name : Texts(opaque_models, "cluster", "opaque_models")) {
               if (name.empty()) {
                 Raise(InvalidField("cluster", "opaque_models", "''", "name the model"));
               }
               catalog.DeclareOpaque(name);
             }
             return std::make_shared<PyCluster>(std::move(catalog));
           }),
           py::kw_only(), py::arg("opaque_models") = py::tuple(),
           R"(An empty cluster.

opaque_models: names of GPU models beyond the catalogue (see models()), such as a trace's anonymised
    "G2". They are compared for equality and nothing else.)")
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
            return NodeInfo(self.state(), self.FindNode(Text(name, "node", "name")).slot);
          },
          py::arg("name"), "A node as it is now. Raises NotFound.")
      .def(
          "nodes",
          [](const PyCluster& self) {
            py::list nodes;
            for (const std::uint32_t slot : self.state().nodes().order()) {
              nodes.append(NodeInfo(self.state(), slot));
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
            std::sort(tasks.begin(), tasks.end(),
                      [](const PyTaskInfo& a, const PyTaskInfo& b) { return a.name < b.name; });
            return tasks;
          },
          "All running tasks, sorted by name.")
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

  py::class_<PyTransaction> transaction(module, "Transaction",
                                        R"(Changes that are kept together or taken back together.

Comes from Cluster.transaction(). A step that is refused raises and changes nothing; catch it and
the transaction goes on. One may be open at a time on a cluster.)");
  transaction
      .def(
          "__enter__",
          [](PyTransaction& self) -> PyTransaction& {
            self.Enter();
            return self;
          },
          py::return_value_policy::reference)
      .def(
          "__exit__",
          [](PyTransaction& self, const py::object& type, const py::object&, const py::object&) {
            self.Exit(type.is_none());
          },
          py::arg("exc_type"), py::arg("exc_value"), py::arg("traceback"))
      .def("mark", &PyTransaction::Mark, "A point to go back to.")
      .def("rollback_to", &PyTransaction::RollbackTo, py::arg("mark"),
           "Takes back what was done after the mark; the transaction goes on. Raises "
           "PreconditionFailed for a mark of another transaction, or one that was taken back.")
      .def("rollback", &PyTransaction::Rollback,
           "Takes everything back. The transaction is over; the with block may go on.");
  DefineSteps(transaction);
}

}  // namespace gpusched::bindings
