#include "scheduler.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "arguments.h"
#include "batch.h"
#include "cluster.h"
#include "gpusched/engine/scheduler.h"
#include "gpusched/spec/field_error.h"
#include "policy.h"
#include "refusal.h"
#include "search_path.h"
#include "sharing.h"
#include "status.h"

namespace gpusched::bindings {
namespace {

// A decision, complete in itself, with the handles that Commit needs.
struct PyDecision {
  Decision decision;
  std::uint64_t cluster_serial = 0;
  ShapeSpec shape;
  std::string node;
  std::optional<PyRefusal> refusal;
};

const char* KindName(DecisionKind kind) {
  switch (kind) {
    case DecisionKind::kPlace:
      return "place";
    case DecisionKind::kWait:
      return "wait";
    case DecisionKind::kReject:
      break;
  }
  return "reject";
}

PyDecision Complete(const PyCluster& cluster, const PyShape& shape, const Decision& decision) {
  const ClusterState& state = cluster.state();
  PyDecision complete{.decision = decision,
                      .cluster_serial = cluster.serial(),
                      .shape = shape.spec,
                      .node = {},
                      .refusal = std::nullopt};
  if (decision.placed()) {
    complete.node = std::string(state.node_name(decision.placement.node));
    return complete;
  }
  complete.refusal = RefusalOf(state, decision.refusal, &state.shapes()[decision.shape]);
  return complete;
}

std::string DecisionText(const PyDecision& self) {
  if (self.refusal) return self.refusal->text;
  std::string text = absl::StrCat("placed on '", self.node, "'");
  const char* separator = self.decision.placement.devices.size() == 1 ? ", device " : ", devices ";
  for (DeviceMask rest = self.decision.placement.devices; !rest.empty(); rest.DropFirst()) {
    absl::StrAppend(&text, separator, rest.First());
    separator = ", ";
  }
  return text + GrantText(self.decision.grant);
}

class PyScheduler {
 public:
  PyScheduler(std::shared_ptr<PyCluster> cluster, py::object policy, const py::object& path)
      : cluster_(std::move(cluster)),
        policy_(std::move(policy)),
        scheduler_(Materialise(*cluster_, policy_, PathNamed(path, "scheduler"))) {}

  const std::shared_ptr<PyCluster>& cluster() const { return cluster_; }
  const py::object& policy() const { return policy_; }
  std::uint64_t sequence() const { return scheduler_.sequence(); }

  PyDecision Decide(const PyShape& shape) {
    const ShapeId id = cluster_->Intern(shape);
    const PyCluster::Deciding deciding(*cluster_);
    return Complete(*cluster_, shape, ValueOrRaise(scheduler_.Decide(id)));
  }

  PyDecision Place(const py::object& task, const PyShape& shape) {
    const std::string name = Text(task, "task", "name");
    cluster_->RequireWritable();
    const ShapeId id = cluster_->Intern(shape);
    const PyCluster::Deciding deciding(*cluster_);
    return Complete(*cluster_, shape, ValueOrRaise(scheduler_.Place(name, id)));
  }

  void Commit(const py::object& task, const PyDecision& decision) {
    const std::string name = Text(task, "task", "name");
    if (decision.cluster_serial != cluster_->serial()) {
      Raise(InvalidField("task " + Quoted(name), "decision", "of another cluster",
                         "commit it with a scheduler of the cluster it was made for"));
    }
    cluster_->RequireWritable();
    RaiseIfError(scheduler_.Commit(name, decision.decision).status());
  }

  PyPlacements PlaceMany(const py::object& shapes) {
    const std::vector<ShapeId> ids = ShapeColumn(shapes);
    cluster_->RequireWritable();
    const PyCluster::Deciding deciding(*cluster_);
    // What the batch before has left is used again.
    batch_.resize(ids.size());
    RaiseIfError(scheduler_.PlaceMany(ids, batch_));
    return Columns(batch_);
  }

  void ReleaseMany(const py::object& tasks) {
    const std::vector<TaskId> ids = TaskColumn(tasks);
    cluster_->RequireWritable();
    Transaction transaction(cluster_->mutable_state());
    for (const TaskId task : ids) {
      if (!cluster_->state().tasks().Has(task)) {
        Raise(FieldError(absl::StatusCode::kNotFound, "batch", "tasks",
                         absl::StrCat(TaskNumber(task)),
                         "no task of this number is running (any more); give those that run, each "
                         "once"));
      }
      RaiseIfError(transaction.Release(task));
    }
    transaction.Commit();
  }

  py::dict PathCountsOf() const { return PathDict(scheduler_.path_counts()); }

  void Release(const py::object& task) {
    const std::string name = Text(task, "task", "name");
    cluster_->RequireWritable();
    RaiseIfError(scheduler_.Release(cluster_->FindTask(name)));
  }

 private:
  static Scheduler Materialise(PyCluster& cluster, py::object& policy, SearchPath path) {
    policy = PolicyOf(policy);
    cluster.RequireIdle();
    return Scheduler(cluster.mutable_state(), BuildPolicy(policy, cluster.mutable_state()), {},
                     {.path = path});
  }

  std::shared_ptr<PyCluster> cluster_;  // outlives the scheduler below
  py::object policy_;
  Scheduler scheduler_;
  std::vector<BatchPlacement> batch_;
};

}  // namespace

void BindScheduler(py::module_& module) {
  py::class_<PyDecision>(module, "Decision", R"(The answer to "where does this task go, now?".

True if a place was found.)")
      .def("__bool__", [](const PyDecision& d) { return d.decision.placed(); })
      .def_property_readonly(
          "kind", [](const PyDecision& d) { return KindName(d.decision.kind); },
          "\"place\", \"wait\" (nothing free that fits) or \"reject\" (fits nowhere even when "
          "empty).")
      .def_property_readonly(
          "node",
          [](const PyDecision& d) -> py::object {
            return d.decision.placed() ? py::object(py::str(d.node)) : py::none();
          },
          "The node, or None.")
      .def_property_readonly(
          "devices", [](const PyDecision& d) { return DevicesTuple(d.decision.placement.devices); },
          "Indices of the devices on it; empty for a task without GPU.")
      .def_property_readonly(
          "grant",
          [](const PyDecision& d) -> py::object {
            return d.decision.placed() ? py::cast(d.decision.grant) : py::none();
          },
          "How the task would have them, a DeviceGrant, or None.")
      .def_property_readonly(
          "score",
          [](const PyDecision& d) -> py::object {
            return d.decision.placed() ? py::object(py::int_(d.decision.score)) : py::none();
          },
          "The score of the place, on the policy's own scale, or None.")
      .def_property_readonly(
          "reason",
          [](const PyDecision& d) -> py::object {
            return d.refusal ? py::cast(*d.refusal) : py::none();
          },
          "Why there is no place, or None.")
      .def_property_readonly(
          "shape", [](const PyDecision& d) { return ShapeOf(d.shape); }, "What was asked.")
      .def_property_readonly(
          "path",
          [](const PyDecision& d) { return std::string(DecisionPathName(d.decision.path)); },
          "How the answer was computed; all ways give the same answer.")
      .def_property_readonly("text", &DecisionText, "One line for people.")
      .def("__repr__", [](const PyDecision& d) {
        return absl::StrCat("<Decision ", KindName(d.decision.kind), ": ", DecisionText(d), ">");
      });

  py::class_<PyScheduler>(module, "Scheduler", R"(Decides where tasks go on one cluster.

>>> import libgpusched as gs
>>> cluster = gs.Cluster()
>>> cluster.add_node("n1", cpu=16, mem_mib=65536, gpus=2, model="T4")
>>> scheduler = gs.Scheduler(cluster, gs.BestFit())
>>> decision = scheduler.place("job-1", gs.Shape(cpu=4, mem_mib=8192, gpu=0.5))
>>> decision.node, decision.devices
('n1', (0,))
>>> print(scheduler.decide(gs.Shape(cpu=4, gpu=2)).reason)
0 of 1 nodes take it: 1 TooFewWholeDevices; nearest is 'n1': 2 whole devices asked, 1 free
>>> scheduler.release("job-1"))")
      .def(py::init<std::shared_ptr<PyCluster>, py::object, const py::object&>(),
           py::arg("cluster"), py::arg("policy"), py::kw_only(), py::arg("path") = "auto",
           R"(Schedules on `cluster` by `policy`: a Policy, or the name of one.

path: how places are looked for: "scan" (every node, each time), "index" (scores are kept from
    decision to decision, if the policy is one of this library's that depends on the node alone),
    "columns" (nodes that fit are found in narrow columns and scored), or "auto". Decisions are the
    same.

Raises InvalidSpec or NotFound for a policy that cannot be built for this cluster.)")
      .def("decide", &PyScheduler::Decide, py::arg("shape"), R"(Where would a task go, now?

Changes nothing, and may be asked while a transaction is open. Raises InvalidSpec (a model that the
cluster does not know), PreconditionFailed (GPU asked of a cluster without any), PolicyError, or
what a policy in Python raised.)")
      .def("place", &PyScheduler::Place, py::arg("task"), py::arg("shape"),
           R"(Decides and, if there is a place, gives the task its resources.

The decision is true if so; else its reason says why not, and nothing has changed. Raises
AlreadyExists for a running name, PreconditionFailed while a transaction is open, else as decide.)")
      .def("commit", &PyScheduler::Commit, py::arg("task"), py::arg("decision"),
           R"(Gives the task what was decided before.

Raises PreconditionFailed if it does not fit any more, NotFound if the node is gone, InvalidSpec for
a decision without a place.)")
      .def("place_many", &PyScheduler::PlaceMany, py::arg("shapes"),
           R"(Decides and places one task after the other, each seeing those before it.

shapes: numbers that Cluster.intern gave, as an array. The tasks have no names, but the numbers that
    come out; what finds no place is left out.

Raises as place; then none of them is placed.

>>> import libgpusched as gs
>>> cluster = gs.Cluster()
>>> cluster.add_node("n1", cpu=16, gpus=2, model="T4")
>>> scheduler = gs.Scheduler(cluster, "best_fit")
>>> half = cluster.intern(gs.Shape(cpu=1, gpu=0.5))
>>> batch = scheduler.place_many([half] * 5)
>>> batch.placed, batch.devices.tolist()
(4, [1, 1, 2, 2, 0])
>>> scheduler.release_many(batch.tasks[:batch.placed]))")
      .def("release_many", &PyScheduler::ReleaseMany, py::arg("tasks"),
           R"(Takes the resources of tasks without names back, by number: all of them, or none.

Raises NotFound if one is not running (any more), InvalidSpec for what is no array of numbers.)")
      .def_property_readonly("path_counts", &PyScheduler::PathCountsOf,
                             "How many decisions were computed in which way.")
      .def("release", &PyScheduler::Release, py::arg("task"),
           "Takes a task's resources back. Raises NotFound if it is not running (any more).")
      .def_property_readonly("cluster", &PyScheduler::cluster, "The cluster.")
      .def_property_readonly("policy", &PyScheduler::policy, "The policy.")
      .def_property_readonly("sequence", &PyScheduler::sequence,
                             "How many decisions place has made.")
      .def("__repr__", [](const PyScheduler& self) {
        return absl::StrCat("Scheduler(", PolicyText(self.policy()), ")");
      });
}

}  // namespace gpusched::bindings
