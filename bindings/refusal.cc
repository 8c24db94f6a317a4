#include "refusal.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "arguments.h"
#include "gpusched/engine/explain.h"

namespace gpusched::bindings {
namespace {

py::dict Counts(const Refusal& refusal) {
  py::dict counts;
  for (std::size_t i = 0; i < kReasons; ++i) {
    if (refusal.nodes_by_reason[i] == 0) continue;
    counts[py::str(std::string(ReasonName(static_cast<Reason>(i))))] = refusal.nodes_by_reason[i];
  }
  return counts;
}

}  // namespace

PyRefusal RefusalOf(const ClusterState& state, const Refusal& refusal, const Shape* shape) {
  return {.refusal = refusal,
          .nearest = refusal.nearest.has_value() ? std::string(state.node_name(refusal.nearest))
                                                 : std::string(),
          .text = RefusalText(state, refusal, shape)};
}

const char* OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOk:
      return "ok";
    case Outcome::kWait:
      return "wait";
    case Outcome::kNever:
      break;
  }
  return "never";
}

void BindRefusal(py::module_& module) {
  py::class_<PyRefusal>(module, "Refusal", R"(Why a task found no node, with numbers.

str() of it is one line for people.)")
      .def_property_readonly(
          "dominant",
          [](const PyRefusal& r) { return std::string(ReasonName(r.refusal.dominant())); },
          "The reason of the nearest node, as a stable name; see reasons().")
      .def_property_readonly(
          "counts", [](const PyRefusal& r) { return Counts(r.refusal); },
          "How many nodes refuse for which reason; each node counts once, under its first.")
      .def_property_readonly(
          "outcome", [](const PyRefusal& r) { return OutcomeName(r.refusal.outcome); },
          "\"wait\": a release or a new node may help; \"never\": it fits nowhere, even when "
          "empty.")
      .def_property_readonly(
          "nearest", [](const PyRefusal& r) { return TextOrNone(r.nearest); },
          "The node that came nearest to taking it; None if there are no nodes.")
      .def_property_readonly(
          "need", [](const PyRefusal& r) { return r.refusal.shortfall.need; },
          "What is asked there, in the unit of the dominant reason; 0 where no number applies.")
      .def_property_readonly(
          "have", [](const PyRefusal& r) { return r.refusal.shortfall.have; },
          "What is free there, in the same unit.")
      .def("__str__", [](const PyRefusal& r) { return r.text; })
      .def("__repr__", [](const PyRefusal& r) {
        return absl::StrCat("<Refusal ", std::string(ReasonName(r.refusal.dominant())), ": ",
                            r.text, ">");
      });

  module.def(
      "reasons",
      [] {
        py::tuple names(kReasons - 1);
        for (std::size_t i = 1; i < kReasons; ++i) {
          names[i - 1] = py::str(std::string(ReasonName(static_cast<Reason>(i))));
        }
        return names;
      },
      R"(The stable names of why a node, or the whole cluster, does not take a task.

>>> import libgpusched as gs
>>> "NoDeviceWithRoom" in gs.reasons()
True)");
}

}  // namespace gpusched::bindings
