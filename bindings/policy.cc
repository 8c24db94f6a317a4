#include "policy.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "arguments.h"
#include "gpusched/policy/erased/registry.h"
#include "gpusched/policy/score/best_fit.h"
#include "gpusched/policy/score/blend.h"
#include "gpusched/policy/score/dot_product.h"
#include "gpusched/policy/score/fgd.h"
#include "gpusched/policy/score/first_fit.h"
#include "gpusched/policy/score/gpu_clustering.h"
#include "gpusched/policy/score/gpu_packing.h"
#include "gpusched/policy/score/random.h"
#include "gpusched/policy/score/worst_fit.h"
#include "gpusched/spec/field_error.h"
#include "spec.h"
#include "status.h"

namespace gpusched::bindings {
namespace {

// --- policies written in C++ --------------------------------------------------------------------

// A policy that is the same for every state.
template <class P>
class PlainPolicy : public PyPolicy {
 public:
  PlainPolicy(P policy, std::string text) : policy_(std::move(policy)), text_(std::move(text)) {}
  absl::StatusOr<AnyScore> Build(py::handle, ClusterState&) const override {
    return AnyScore(policy_);
  }
  std::string Text(py::handle) const override { return text_; }

 private:
  P policy_;
  std::string text_;
};

class FgdPolicy : public PyPolicy {
 public:
  explicit FgdPolicy(TargetWorkload target) : target_(std::move(target)) {}
  absl::StatusOr<AnyScore> Build(py::handle, ClusterState& state) const override {
    auto fgd = Fgd::Build(target_, state);
    if (!fgd.ok()) return fgd.status();
    return AnyScore(*std::move(fgd));
  }
  std::string Text(py::handle) const override {
    return absl::StrCat("Fgd(<target of ", target_.shapes().size(), " shapes>)");
  }

 private:
  TargetWorkload target_;
};

ScoreNorms Norms(const char* policy, py::handle cpu_norm_milli, py::handle gpu_norm_milli) {
  const std::string where = absl::StrCat("policy ", policy);
  const ScoreNorms norms{
      .cpu_milli = WholeNumber(cpu_norm_milli, where, "cpu_norm_milli", "use 1 to 16777216"),
      .gpu_milli = WholeNumber(gpu_norm_milli, where, "gpu_norm_milli", "use 1 to 131072")};
  if (norms.cpu_milli < 1 || norms.cpu_milli > ScoreNorms::kMaxCpuMilli) {
    Raise(InvalidField(where, "cpu_norm_milli", absl::StrCat(norms.cpu_milli),
                       absl::StrCat("use 1 to ", ScoreNorms::kMaxCpuMilli)));
  }
  if (norms.gpu_milli < 1 || norms.gpu_milli > ScoreNorms::kMaxGpuMilli) {
    Raise(InvalidField(where, "gpu_norm_milli", absl::StrCat(norms.gpu_milli),
                       absl::StrCat("use 1 to ", ScoreNorms::kMaxGpuMilli)));
  }
  return norms;
}

std::string NormsText(const char* policy, const ScoreNorms& norms) {
  const ScoreNorms usual;
  std::vector<std::string> parts;
  if (norms.cpu_milli != usual.cpu_milli) {
    parts.push_back(absl::StrCat("cpu_norm_milli=", norms.cpu_milli));
  }
  if (norms.gpu_milli != usual.gpu_milli) {
    parts.push_back(absl::StrCat("gpu_norm_milli=", norms.gpu_milli));
  }
  return absl::StrCat(policy, "(", absl::StrJoin(parts, ", "), ")");
}

// --- policies written in Python -----------------------------------------------------------------

// The base that users derive from; everything it has to say is on the Python object.
class PyScorePolicy : public PyPolicy {
 public:
  absl::StatusOr<AnyScore> Build(py::handle self, ClusterState& state) const override;
  std::string Text(py::handle self) const override {
    return absl::StrCat(py::type::of(self).attr("__name__").cast<std::string>(), "()");
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
              DeviceOrder order, const ClusterState& state)
      // The last owner may let go without the GIL, at the end of a long simulation.
      : self_(self.inc_ref().ptr(),
              [](PyObject* object) {
                const py::gil_scoped_acquire gil;
                Py_DECREF(object);
              }),
        name_(std::move(name)),
        range_(range),
        by_device_(by_device),
        order_(order),
        state_(&state) {}

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
    const auto count = static_cast<py::ssize_t>(batch.candidates.size());
    PyBatch copy{.table = py::array_t<std::int64_t>({kColumns, count}),
                 .shape = SpecOf(*state_, batch.shape),
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
    for (std::uint32_t i = 0; i < state_->models().size(); ++i) {
      copy.models.emplace_back(state_->models().name(i));
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
        Broken(absl::StrCat("is ", shown, " for node '", std::string(state_->node_name(id)), "'"),
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
  const ClusterState* state_;
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

absl::StatusOr<AnyScore> PyScorePolicy::Build(py::handle self, ClusterState& state) const {
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
                              lowest ? DeviceOrder::kLowestIndex : DeviceOrder::kFullestFirst,
                              state));
}

// --- sums ---------------------------------------------------------------------------------------

class WeightedPolicy : public PyPolicy {
 public:
  struct Term {
    std::int64_t weight_milli;
    py::object policy;
  };

  explicit WeightedPolicy(std::vector<Term> terms) : terms_(std::move(terms)) {}

  const std::vector<Term>& terms() const { return terms_; }

  absl::StatusOr<AnyScore> Build(py::handle, ClusterState& state) const override {
    std::vector<WeightedScore> scores;
    for (const Term& term : terms_) {
      scores.push_back(
          {.weight_milli = term.weight_milli, .score = BuildPolicy(term.policy, state)});
    }
    return AnyScore(WeightedSum(std::move(scores)));
  }

  std::string Text(py::handle) const override {
    std::vector<std::string> parts;
    for (const Term& term : terms_) {
      parts.push_back(absl::StrFormat("%g * %s", static_cast<double>(term.weight_milli) / 1000,
                                      PolicyText(term.policy)));
    }
    return absl::StrJoin(parts, " + ");
  }

 private:
  std::vector<Term> terms_;
};

// Any policy as the terms of a sum.
std::vector<WeightedPolicy::Term> Terms(const py::object& policy) {
  if (py::isinstance<WeightedPolicy>(policy)) {
    return policy.cast<const WeightedPolicy&>().terms();
  }
  return {{.weight_milli = kMilli, .policy = policy}};
}

// The rule of operator* in policy/score/weighted.h, but a weight that is none raises at once.
py::object Scale(const py::object& policy, const py::object& weight) {
  if (!LooksLikeNumber(weight)) return py::reinterpret_borrow<py::object>(Py_NotImplemented);
  const std::int64_t scale = Blend::WeightMilli(RealNumber(weight, "policy", "weight"));
  if (const auto problem = Blend::Problem(scale); !problem.empty()) {
    Raise(InvalidField("policy", "weight", Shown(weight), problem));
  }
  auto terms = Terms(policy);
  for (WeightedPolicy::Term& term : terms) {
    term.weight_milli = (term.weight_milli * scale + kMilli / 2) / kMilli;
    if (const auto problem = Blend::Problem(term.weight_milli); !problem.empty()) {
      Raise(InvalidField(
          "policy", absl::StrCat("weight of ", PolicyText(term.policy)),
          absl::StrFormat("%g when multiplied out", static_cast<double>(term.weight_milli) / 1000),
          problem));
    }
  }
  return py::cast(std::make_unique<WeightedPolicy>(std::move(terms)));
}

py::object Add(const py::object& a, const py::object& b) {
  if (!py::isinstance<PyPolicy>(b)) return py::reinterpret_borrow<py::object>(Py_NotImplemented);
  auto terms = Terms(a);
  for (WeightedPolicy::Term& term : Terms(b)) terms.push_back(std::move(term));
  return py::cast(std::make_unique<WeightedPolicy>(std::move(terms)));
}

// --- targets ------------------------------------------------------------------------------------

const PyShape& ShapeItem(py::handle item, const std::string& field) {
  if (!py::isinstance<PyShape>(item)) {
    Raise(InvalidField("target", field, Shown(item), "use a Shape"));
  }
  return item.cast<const PyShape&>();
}

PyTarget TargetFromRequests(const py::object& requests, const py::object& popularity_pct) {
  const std::int64_t pct =
      WholeNumber(popularity_pct, "target", "popularity_pct", "use a whole number, 1 to 100");
  if (pct < 1 || pct > 100) {
    Raise(InvalidField("target", "popularity_pct", absl::StrCat(pct), "use 1 to 100"));
  }
  if (!py::isinstance<py::iterable>(requests)) {
    Raise(InvalidField("target", "requests", Shown(requests), "use an iterable of Shape"));
  }
  std::vector<ShapeSpec> specs;
  for (const py::handle item : py::iter(requests)) {
    specs.push_back(ShapeItem(item, absl::StrCat("requests[", specs.size(), "]")).spec);
  }
  return {TargetWorkload::FromRequests(specs, static_cast<int>(pct))};
}

PyTarget TargetFromCounts(const py::object& mapping) {
  if (!py::hasattr(mapping, "keys")) {
    Raise(InvalidField("target", "counts", Shown(mapping), "use a dict from Shape to count"));
  }
  const py::dict counts(mapping);
  std::vector<TargetShape> shapes;
  for (const auto& [key, value] : counts) {
    const std::string field = absl::StrCat("counts[", shapes.size(), "]");
    const ShapeSpec& spec = ShapeItem(key, field).spec;
    shapes.push_back({.cpu_milli = spec.cpu_milli,
                      .gpu_milli = spec.gpu_milli,
                      .gpu_count = spec.gpu_count,
                      .models = spec.models,
                      .count = WholeNumber(value, "target", field, "use a whole number from 1")});
  }
  return {ValueOrRaise(TargetWorkload::FromShapes(std::move(shapes)))};
}

py::dict TargetCounts(const PyTarget& self) {
  py::dict counts;
  for (const TargetShape& shape : self.target.shapes()) {
    const PyShape key = ShapeOf({.cpu_milli = shape.cpu_milli,
                                 .gpu_count = shape.gpu_count,
                                 .gpu_milli = shape.gpu_milli,
                                 .models = shape.models});
    counts[py::cast(key)] = shape.count;
  }
  return counts;
}

// --- policies by name ---------------------------------------------------------------------------

py::object PolicyByName(const py::object& name, const py::object& target, const py::object& seed,
                        const py::object& cpu_norm_milli, const py::object& gpu_norm_milli) {
  const std::string wanted = Text(name, "policy", "name");
  const auto known = ScoreRegistry::BuiltIn().names();
  const py::module_ core = py::module_::import("libgpusched._core");
  if (wanted == "fgd") {
    if (target.is_none()) {
      Raise(InvalidField("policy 'fgd'", "target", "None",
                         "give the TargetWorkload that fragmentation is measured against"));
    }
    return core.attr("Fgd")(target);
  }
  if (wanted == "first_fit") return core.attr("FirstFit")();
  if (wanted == "gpu_packing") return core.attr("GpuPacking")();
  if (wanted == "random") return core.attr("Random")(seed);
  if (wanted == "gpu_clustering") {
    return core.attr("GpuClustering")(py::arg("gpu_norm_milli") = gpu_norm_milli);
  }
  for (const auto& [policy, type] : {std::pair{"best_fit", "BestFit"},
                                     {"worst_fit", "WorstFit"},
                                     {"dot_product", "DotProduct"}}) {
    if (wanted == policy) {
      return core.attr(type)(py::arg("cpu_norm_milli") = cpu_norm_milli,
                             py::arg("gpu_norm_milli") = gpu_norm_milli);
    }
  }
  Raise(FieldError(absl::StatusCode::kNotFound, "policy", "name", Quoted(wanted),
                   absl::StrCat("known are ", absl::StrJoin(known, ", "))));
}

// A class for a built-in policy that adds CPU and GPU.
template <class P>
void BindNormed(py::module_& module, const char* name, const char* doc) {
  using Class = PlainPolicy<P>;
  py::class_<Class, PyPolicy>(module, name, doc)
      .def(py::init([name](const py::object& cpu_norm_milli, const py::object& gpu_norm_milli) {
             const ScoreNorms norms = Norms(name, cpu_norm_milli, gpu_norm_milli);
             return std::make_unique<Class>(P{norms}, NormsText(name, norms));
           }),
           py::kw_only(), py::arg("cpu_norm_milli") = ScoreNorms().cpu_milli,
           py::arg("gpu_norm_milli") = ScoreNorms().gpu_milli,
           "The norms say what counts as a full machine; take the largest one's.");
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

AnyScore BuildPolicy(py::handle policy, ClusterState& state) {
  if (py::isinstance<py::str>(policy)) {
    const py::object made = py::module_::import("libgpusched._core").attr("policy")(policy);
    return BuildPolicy(made, state);
  }
  if (!py::isinstance<PyPolicy>(policy)) {
    Raise(InvalidField("scheduler", "policy", Shown(policy),
                       "use a Policy such as BestFit(), or the name of one"));
  }
  AnyScore score = ValueOrRaise(policy.cast<const PyPolicy&>().Build(policy, state));
  if (const auto problem = score.problem(); !problem.empty()) {
    Raise(absl::InvalidArgumentError(
        absl::StrCat("policy ", PolicyText(policy), ": ", std::string(problem))));
  }
  return score;
}

std::string PolicyText(py::handle policy) { return policy.cast<const PyPolicy&>().Text(policy); }

void BindPolicy(py::module_& module) {
  BindBatch(module);

  py::class_<PyPolicy> policy(module, "Policy", R"(Ranks the nodes that a task fits.

Policies compose: 0.8 * A + 0.2 * B. Each score counts by its weight whatever its scale, only the
ratios of weights matter, and the sum is rounded once. Weights are 0.001 to 1000.

>>> import libgpusched as gs
>>> 0.8 * gs.BestFit() + 0.2 * gs.GpuPacking()
0.8 * BestFit() + 0.2 * GpuPacking())");
  policy.def("__mul__", &Scale, py::arg("weight"))
      .def("__rmul__", &Scale, py::arg("weight"))
      .def("__add__", &Add, py::arg("other"))
      .def("__repr__", [](const py::object& self) { return PolicyText(self); });
  // A NumPy scalar on the left leaves the multiplication to us.
  policy.attr("__array_ufunc__") = py::none();

  py::class_<WeightedPolicy, PyPolicy>(module, "Weighted",
                                       "A weighted sum of policies, made by * and +.")
      .def_property_readonly(
          "terms",
          [](const WeightedPolicy& self) {
            py::list terms;
            for (const auto& term : self.terms()) {
              terms.append(
                  py::make_tuple(static_cast<double>(term.weight_milli) / 1000, term.policy));
            }
            return py::tuple(terms);
          },
          "Pairs of weight and policy.");

  py::class_<PyTarget>(module, "TargetWorkload",
                       R"(Which requests are expected, and how often; what Fgd measures against.

>>> import libgpusched as gs
>>> large, small = gs.Shape(cpu=8, gpu=1), gs.Shape(cpu=4, gpu=0.5)
>>> target = gs.TargetWorkload.from_counts({large: 70, small: 30})
>>> target.total
100)")
      .def_static("from_requests", &TargetFromRequests, py::arg("requests"), py::kw_only(),
                  py::arg("popularity_pct") = 95, R"(Counts an iterable of shapes.

The most frequent ones that make up popularity_pct of all are kept. Memory does not count.)")
      .def_static("from_counts", &TargetFromCounts, py::arg("counts"),
                  "A target given outright, as a dict from Shape to count.")
      .def_property_readonly("counts", &TargetCounts,
                             "A dict from Shape (without memory) to count.")
      .def_property_readonly(
          "total", [](const PyTarget& self) { return self.target.total(); },
          "The sum of the counts.")
      .def("__repr__", [](const PyTarget& self) {
        return absl::StrCat("<TargetWorkload of ", self.target.shapes().size(), " shapes>");
      });

  py::class_<FgdPolicy, PyPolicy>(module, "Fgd",
                                  R"(Fragmentation gradient descent: strand least idle GPU.

Takes the place after which the expected tasks can still use most of what is idle (Weng et al.,
"Beware of Fragmentation", USENIX ATC 2023).)")
      .def(py::init([](const py::object& target) {
             if (!py::isinstance<PyTarget>(target)) {
               Raise(InvalidField("policy Fgd", "target", Shown(target), "use a TargetWorkload"));
             }
             return std::make_unique<FgdPolicy>(target.cast<const PyTarget&>().target);
           }),
           py::arg("target"), "Measures against a TargetWorkload.");
  BindNormed<BestFit>(module, "BestFit", "The node that is fullest afterwards.");
  BindNormed<WorstFit>(module, "WorstFit", "The node that is emptiest afterwards: spreads load.");
  BindNormed<DotProduct>(module, "DotProduct",
                         "The node whose free resources are least aligned with the request.");
  using FirstFitPolicy = PlainPolicy<FirstFit>;
  py::class_<FirstFitPolicy, PyPolicy>(module, "FirstFit",
                                       "The first node in node order that fits.")
      .def(py::init([] { return std::make_unique<FirstFitPolicy>(FirstFit{}, "FirstFit()"); }));
  using PackingPolicy = PlainPolicy<GpuPacking>;
  py::class_<PackingPolicy, PyPolicy>(
      module, "GpuPacking", "Devices in use before free ones, nodes in use before idle ones.")
      .def(py::init([] { return std::make_unique<PackingPolicy>(GpuPacking{}, "GpuPacking()"); }));
  using ClusteringPolicy = PlainPolicy<GpuClustering>;
  py::class_<ClusteringPolicy, PyPolicy>(module, "GpuClustering",
                                         "Beside tasks that ask as much GPU as this one.")
      .def(py::init([](const py::object& gpu_norm_milli) {
             const ScoreNorms norms =
                 Norms("GpuClustering", py::int_(ScoreNorms().cpu_milli), gpu_norm_milli);
             return std::make_unique<ClusteringPolicy>(GpuClustering{norms},
                                                       NormsText("GpuClustering", norms));
           }),
           py::kw_only(), py::arg("gpu_norm_milli") = ScoreNorms().gpu_milli,
           "The norm says how much GPU a full machine has; take the largest one's.");
  using RandomPolicy = PlainPolicy<Random>;
  py::class_<RandomPolicy, PyPolicy>(module, "Random",
                                     "Any node that fits, each with the same chance.")
      .def(py::init([](const py::object& seed) {
             const std::uint64_t value = Seed(seed, "policy Random", "seed");
             return std::make_unique<RandomPolicy>(Random{value},
                                                   absl::StrCat("Random(seed=", value, ")"));
           }),
           py::arg("seed") = 0, "The same seed draws the same.");

  py::class_<PyScorePolicy, PyPolicy> score(module, "ScorePolicy",
                                            R"(Base of policies that are written in Python.

Derive, declare range, and define score(batch), which returns one integer a candidate, higher is
better. It is called once a decision with all candidates (see Batch), and must answer the same for
the same arguments: no clock, no hidden random source. Exceptions that it raises reach the caller of
decide or place, and nothing has changed.

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

  module.def("policy", &PolicyByName, py::arg("name"), py::kw_only(),
             py::arg("target") = py::none(), py::arg("seed") = 0,
             py::arg("cpu_norm_milli") = ScoreNorms().cpu_milli,
             py::arg("gpu_norm_milli") = ScoreNorms().gpu_milli,
             R"(A built-in policy by its name; each takes the parameters that it knows.

Raises NotFound listing the names (see policy_names()).

>>> import libgpusched as gs
>>> gs.policy("best_fit")
BestFit())");
  module.def(
      "policy_names", [] { return ScoreRegistry::BuiltIn().names(); },
      "Names of the built-in policies.");
}

}  // namespace gpusched::bindings
