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
#include "gpusched/policy/score/mig_start.h"
#include "gpusched/policy/score/random.h"
#include "gpusched/policy/score/worst_fit.h"
#include "gpusched/spec/field_error.h"
#include "python_policy.h"
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
                      .count = WholeNumber(value, "target", field, "use a whole number from 1"),
                      .gpu_mem_mib = spec.gpu_mem_mib,
                      .mig_profile = spec.mig_profile});
  }
  return {ValueOrRaise(TargetWorkload::FromShapes(std::move(shapes)))};
}

py::dict TargetCounts(const PyTarget& self) {
  py::dict counts;
  for (const TargetShape& shape : self.target.shapes()) {
    const PyShape key = ShapeOf({.cpu_milli = shape.cpu_milli,
                                 .gpu_count = shape.gpu_count,
                                 .gpu_milli = shape.gpu_milli,
                                 .gpu_mem_mib = shape.gpu_mem_mib,
                                 .models = shape.models,
                                 .mig_profile = shape.mig_profile});
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
  if (wanted == "mig_start") return core.attr("MigStart")();
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

}  // namespace

py::object PolicyOf(py::handle policy) {
  if (py::isinstance<py::str>(policy)) {
    return py::module_::import("libgpusched._core").attr("policy")(policy);
  }
  if (!py::isinstance<PyPolicy>(policy)) {
    Raise(InvalidField("scheduler", "policy", Shown(policy),
                       "use a Policy such as BestFit(), or the name of one"));
  }
  return py::reinterpret_borrow<py::object>(policy);
}

AnyScore BuildPolicy(py::handle policy, ClusterState& state) {
  AnyScore score = ValueOrRaise(policy.cast<const PyPolicy&>().Build(policy, state));
  if (const auto problem = score.problem(); !problem.empty()) {
    Raise(absl::InvalidArgumentError(
        absl::StrCat("policy ", PolicyText(policy), ": ", std::string(problem))));
  }
  return score;
}

std::string PolicyText(py::handle policy) { return policy.cast<const PyPolicy&>().Text(policy); }

void BindPolicy(py::module_& module) {
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

The most frequent ones that make up popularity_pct of all are kept. Host memory does not count.)")
      .def_static("from_counts", &TargetFromCounts, py::arg("counts"),
                  "A target given outright, as a dict from Shape to count.")
      .def_property_readonly("counts", &TargetCounts,
                             "A dict from Shape (without host memory) to count.")
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
  using MigStartPolicy = PlainPolicy<MigStart>;
  py::class_<MigStartPolicy, PyPolicy>(
      module, "MigStart", "The place that keeps the most valuable MIG instances possible.")
      .def(py::init([] { return std::make_unique<MigStartPolicy>(MigStart{}, "MigStart()"); }),
           "For sums: a MIG instance goes to the start, and others to the device, that spoils "
           "least.");
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

  BindPythonPolicy(module);

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
