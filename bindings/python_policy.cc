#include "python_policy.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "arguments.h"
#include "gpusched/policy/erased/any_score.h"
#include "gpusched/spec/field_error.h"
#include "gpusched/state/state_view.h"
#include "policy.h"
#include "reference.h"
#include "spec.h"
#include "status.h"

namespace gpusched::bindings {
namespace {

// The base that users derive from; everything it has to say is on the Python object.
class PyScorePolicy : public PyPolicy {
 public:
  absl::StatusOr<AnyScore> Build(py::handle self, ClusterState& state) const override;
  std::string Text(py::handle self) const override {
    const py::type type = py::type::of(self);
    // What the user's class says of itself tells its objects apart.
    if (!type.attr("__repr__").is(py::type::of<PyPolicy>().attr("__repr__"))) {
      return py::repr(self).cast<std::string>();
    }
    return absl::StrCat(type.attr("__name__").cast<std::string>(), "()");
  }
};

// Columns of a batch, in the order of its rows in memory.
enum class Column : std::uint8_t {
  kNode,
  kCpuFree,
  kMemFree,
  kGpuFreeMilli,
  kCpuCapacity,
  kMemCapacity,
  kGpuCapacityMilli,
  kDevices,
  kWholeFree,
  kTasks,
  kDevice,
  kDeviceLeftMilli,
  kModel,
};
constexpr py::ssize_t kColumns = 13;

// All candidates of one decision, copied: it stays valid when the cluster moves on.
struct PyBatch {
  py::array_t<std::int64_t> table;  // kColumns rows, one column a candidate; read-only
  ShapeSpec shape;
  std::uint64_t sequence = 0;
  std::vector<std::string> models;

  py::object Row(Column column) const { return table[py::int_(static_cast<int>(column))]; }
};

void FillCandidate(const Batch& batch, const Candidate& candidate, std::int64_t position,
                   py::ssize_t i, py::detail::unchecked_mutable_reference<std::int64_t, 2>& out) {
  const NodeView node = batch.view.node(candidate.slot);
  const auto set = [&](Column column, std::int64_t value) {
    out(static_cast<py::ssize_t>(column), i) = value;
  };
  set(Column::kNode, position);
  set(Column::kCpuFree, node.cpu_free());
  set(Column::kMemFree, node.mem_free());
  set(Column::kGpuFreeMilli, node.gpu_free_milli());
  set(Column::kCpuCapacity, node.capacity()[ResourceKind::kCpuMilli]);
  set(Column::kMemCapacity, node.capacity()[ResourceKind::kMemMib]);
  set(Column::kGpuCapacityMilli, node.capacity()[ResourceKind::kGpuMilli]);
  set(Column::kDevices, static_cast<std::int64_t>(node.devices().size()));
  set(Column::kWholeFree, node.whole_free());
  std::int64_t tasks = 0;
  for (std::size_t kind = 0; kind < kTaskKinds; ++kind) {
    tasks += node.tasks(static_cast<TaskKind>(kind));
  }
  set(Column::kTasks, tasks);
  const bool any = !candidate.devices.empty();
  set(Column::kDevice, any ? candidate.devices.First() : -1);
  set(Column::kModel,
      any ? static_cast<std::int64_t>(
                node.devices()[static_cast<std::size_t>(candidate.devices.First())].model)
          : -1);
  std::int64_t left = 0;
  for (DeviceMask rest = candidate.devices; !rest.empty(); rest.DropFirst()) {
    left +=
        node.devices()[static_cast<std::size_t>(rest.First())].gpu_milli - batch.shape.gpu_milli;
  }
  set(Column::kDeviceLeftMilli, left);
}

// Calls score(batch) of a Python object, once a decision, and believes nothing it says.
class PythonScore {
 public:
  PythonScore(py::handle self, std::string name, ScoreRange range, bool by_device,
              DeviceOrder order)
      : self_(KeepAlive(self)),
        name_(std::move(name)),
        range_(range),
        by_device_(by_device),
        order_(order) {}

  ScoreRange range() const { return range_; }
  Reads reads() const {
    const Reads all = Reads::kNode | Reads::kCluster | Reads::kSequence;
    return by_device_ ? all | Reads::kDevice : all;
  }
  DeviceOrder device_order() const { return order_; }

  void ScoreBatch(const Batch& batch, std::span<Score> out) const {
    if (out.empty()) return;
    const py::gil_scoped_acquire gil;
    const py::object answer = py::handle(self_.get()).attr("score")(MakeBatch(batch));
    Read(answer, batch, out);
  }

 private:
  PyBatch MakeBatch(const Batch& batch) const {
    // Taken from the batch each time: an engine that moves or forks takes its score along.
    const ClusterState& state = batch.view.state();
    const auto count = static_cast<py::ssize_t>(batch.candidates.size());
    PyBatch copy{.table = py::array_t<std::int64_t>({kColumns, count}),
                 .shape = SpecOf(state, batch.shape),
                 .sequence = batch.sequence,
                 .models = {}};
    auto rows = copy.table.mutable_unchecked<2>();
    const auto order = batch.view.node_order();
    std::size_t position = 0;  // candidates come in node order
    for (py::ssize_t i = 0; i < count; ++i) {
      const Candidate& candidate = batch.candidates[static_cast<std::size_t>(i)];
      while (order[position] != candidate.slot) ++position;
      FillCandidate(batch, candidate, static_cast<std::int64_t>(position), i, rows);
    }
    copy.table.attr("setflags")(py::arg("write") = false);
    for (std::uint32_t i = 0; i < state.models().size(); ++i) {
      copy.models.emplace_back(state.models().name(i));
    }
    return copy;
  }

  [[noreturn]] void Broken(const std::string& what, const std::string& remedy) const {
    RaisePolicyError(absl::StrCat("policy '", name_, "': score() ", what, "; ", remedy));
  }

  void Read(const py::object& answer, const Batch& batch, std::span<Score> out) const {
    const py::array scores = py::array::ensure(answer);
    if (!scores) {
      PyErr_Clear();
      Broken(absl::StrCat("returned ", Shown(answer)), "return an array of integers");
    }
    const char kind = scores.dtype().kind();
    if (kind != 'i' && kind != 'u') {
      Broken(absl::StrCat("returned an array of ", py::str(scores.dtype()).cast<std::string>()),
             "return integers, e.g. numpy.rint(scores).astype(numpy.int64); NaN is no score");
    }
    if (scores.ndim() != 1 || scores.shape(0) != static_cast<py::ssize_t>(out.size())) {
      Broken(absl::StrCat("returned an array of shape ",
                          py::str(scores.attr("shape")).cast<std::string>()),
             absl::StrCat("return one score a candidate, here ", out.size()));
    }
    using Signed = py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>;
    const auto values = Signed::ensure(scores);
    const auto read = values.unchecked<1>();
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::int64_t value = read(static_cast<py::ssize_t>(i));
      // Unsigned values beyond 63 bits have turned negative.
      const bool wrapped = kind == 'u' && value < 0;
      if (wrapped || value < range_.lo || value > range_.hi) {
        const std::string shown = wrapped ? std::string("beyond 2**63") : absl::StrCat(value);
        const auto id = batch.view.nodes().id(batch.candidates[i].slot);
        Broken(absl::StrCat("is ", shown, " for node '",
                            std::string(batch.view.state().node_name(id)), "'"),
               absl::StrCat("its declared range is ", range_.lo, " to ", range_.hi));
      }
      out[i] = static_cast<Score>(value);
    }
  }

  std::shared_ptr<PyObject> self_;
  std::string name_;
  ScoreRange range_;
  bool by_device_;
  DeviceOrder order_;
};

ScoreRange DeclaredRange(py::handle self, const std::string& where) {
  constexpr const char* kRemedy =
      "declare range = (lo, hi), two whole numbers within -32768 to 32767";
  const py::object range = self.attr("range");
  if (!py::isinstance<py::sequence>(range) || py::isinstance<py::str>(range) ||
      py::len(range) != 2) {
    Raise(InvalidField(where, "range", Shown(range), kRemedy));
  }
  const auto bound = [&](int i) {
    return WholeNumber(range[py::int_(i)], where, "range", kRemedy);
  };
  const std::int64_t lo = bound(0);
  const std::int64_t hi = bound(1);
  if (lo > hi || lo < std::numeric_limits<std::int16_t>::min() ||
      hi > std::numeric_limits<std::int16_t>::max()) {
    Raise(InvalidField(where, "range", Shown(range), kRemedy));
  }
  return {.lo = static_cast<Score>(lo), .hi = static_cast<Score>(hi)};
}

absl::StatusOr<AnyScore> PyScorePolicy::Build(py::handle self, ClusterState&) const {
  const auto name = py::type::of(self).attr("__name__").cast<std::string>();
  const std::string where = "policy " + Quoted(name);
  const py::object by_device = self.attr("by_device");
  if (!py::isinstance<py::bool_>(by_device)) {
    Raise(InvalidField(where, "by_device", Shown(by_device), "use True or False"));
  }
  const py::object order = self.attr("device_order");
  const bool lowest = order.equal(py::str("lowest_index"));
  if (!lowest && !order.equal(py::str("fullest_first"))) {
    Raise(
        InvalidField(where, "device_order", Shown(order), "use 'fullest_first' or 'lowest_index'"));
  }
  return AnyScore(PythonScore(self, name, DeclaredRange(self, where), by_device.cast<bool>(),
                              lowest ? DeviceOrder::kLowestIndex : DeviceOrder::kFullestFirst));
}

void BindBatch(py::module_& module) {
  py::class_<PyBatch> batch(module, "Batch", R"(All ways to serve one task, as NumPy columns.

An entry is a candidate: a node that the task fits, in node order, with the devices it would take.
If the policy has by_device = True and the task asks a share of a device, a node has one candidate a
device with room. Arrays are int64, read-only, stay valid for ever, and are len(batch) long.)");
  batch
      .def_property_readonly(
          "shape", [](const PyBatch& b) { return ShapeOf(b.shape); }, "What the task asks.")
      .def_readonly("sequence", &PyBatch::sequence,
                    "How many decisions the scheduler made before this one.")
      .def_property_readonly(
          "models", [](const PyBatch& b) { return py::tuple(py::cast(b.models)); },
          "Names of the GPU models; the column model holds indices into it.")
      .def("__len__", [](const PyBatch& b) { return b.table.shape(1); });
  const auto column = [&](const char* name, Column which, const char* doc) {
    batch.def_property_readonly(
        name, [which](const PyBatch& b) { return b.Row(which); }, doc);
  };
  column("node", Column::kNode, "Position of the node in Cluster.nodes().");
  column("cpu_free", Column::kCpuFree, "Free CPU of the node in thousandths of a core.");
  column("mem_free", Column::kMemFree, "Free memory of the node in MiB.");
  column("gpu_free_milli", Column::kGpuFreeMilli,
         "Free GPU of the node in thousandths, summed over its devices.");
  column("cpu_capacity", Column::kCpuCapacity, "CPU of the node in thousandths of a core.");
  column("mem_capacity", Column::kMemCapacity, "Memory of the node in MiB.");
  column("gpu_capacity_milli", Column::kGpuCapacityMilli, "GPU of the node in thousandths.");
  column("devices", Column::kDevices, "How many devices the node has.");
  column("whole_free", Column::kWholeFree, "How many of its devices are wholly free.");
  column("tasks", Column::kTasks, "How many of our tasks run on the node.");
  column("device", Column::kDevice, "The lowest index of the devices to take; -1 without GPU.");
  column("device_left_milli", Column::kDeviceLeftMilli,
         "What would be left of the devices to take, in thousandths.");
  column("model", Column::kModel, "Model of that device, as an index into models; -1 without GPU.");
}

}  // namespace

void BindPythonPolicy(py::module_& module) {
  BindBatch(module);

  py::class_<PyScorePolicy, PyPolicy> score(module, "ScorePolicy",
                                            R"(Base of policies that are written in Python.

Derive, declare range, and define score(batch), which returns one integer a candidate, higher is
better. It is called once a search with all candidates (see Batch), and must answer the same for
the same arguments: no clock, no hidden random source. Exceptions that it raises reach the caller of
decide or place, and nothing has changed. It may not use the scheduler or engine that asks it.

range: (lo, hi), the bounds of the scores, both included, within -32768 to 32767.
by_device: True to choose among the devices of a node too, for shares of a device.
device_order: which device is taken among equals: "fullest_first" or "lowest_index".

>>> import libgpusched as gs
>>> class MostMemoryLeft(gs.ScorePolicy):
...     range = (0, 1000)
...     def score(self, batch):
...         return 1000 * batch.mem_free // batch.mem_capacity.clip(min=1)
>>> cluster = gs.Cluster()
>>> cluster.add_node("small", cpu=8, mem_mib=1000)
>>> cluster.add_node("large", cpu=8, mem_mib=9000)
>>> cluster.place("first", gs.Shape(mem_mib=500), node="small")
>>> gs.Scheduler(cluster, MostMemoryLeft()).decide(gs.Shape(mem_mib=100)).node
'large')");
  score.def(py::init<>())
      .def(
          "score",
          [](const py::object& self, const py::object&) -> py::object {
            PyErr_Format(PyExc_NotImplementedError, "%s must define score(self, batch)",
                         Py_TYPE(self.ptr())->tp_name);
            throw py::error_already_set();
          },
          py::arg("batch"), "Returns one integer a candidate, within range. To be defined.");
  score.attr("range") = py::make_tuple(0, 100);
  score.attr("by_device") = false;
  score.attr("device_order") = "fullest_first";
}

}  // namespace gpusched::bindings
