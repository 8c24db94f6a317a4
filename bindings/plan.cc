#include "plan.h"

#include <pybind11/stl.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "arguments.h"
#include "gpusched/decision/effect.h"
#include "gpusched/decision/plan.h"
#include "gpusched/engine/account.h"
#include "gpusched/journal/codec.h"
#include "gpusched/journal/text.h"
#include "gpusched/spec/field_error.h"
#include "status.h"
#include "task.h"

namespace gpusched::bindings {
namespace {

// The steps that are one of these, in their order.
template <class... Kinds>
py::tuple StepsOf(const Plan& plan) {
  py::list steps;
  for (const Step& step : plan.steps()) {
    std::visit(
        [&](const auto& one) {
          using Kind = std::decay_t<decltype(one)>;
          if constexpr ((std::is_same_v<Kind, Kinds> || ...)) steps.append(py::cast(one));
        },
        step);
  }
  return py::tuple(steps);
}

py::tuple AllSteps(const Plan& plan) { return StepsOf<Place, Evict, Wait, Reject>(plan); }

std::string PlanLines(const Plan& plan) {
  std::string lines;
  for (const Step& step : plan.steps()) {
    absl::StrAppend(&lines, lines.empty() ? "" : "\n", StepText(step));
  }
  return lines;
}

// What all steps have in common. Equal steps have equal texts.
template <class T>
void DefineText(py::class_<T>& type) {
  type.def("__eq__", &IsEqual<T>)
      .def("__hash__", [](const T& step) { return py::hash(py::str(StepText(step))); })
      .def("__str__", [](const T& step) { return StepText(step); })
      .def("__repr__", [](const T& step) { return absl::StrCat("<", StepText(step), ">"); });
}

void BindPlace(py::module_& module) {
  py::class_<Place> place(module, "Place", "A step of a plan: start this attempt there.");
  place
      .def_property_readonly(
          "task", [](const Place& p) { return TaskOf(p.task); }, "The attempt, a Task.")
      .def_readonly("node", &Place::node, "The node.")
      .def_property_readonly(
          "devices", [](const Place& p) { return DevicesTuple(p.devices); },
          "Indices of the devices on it; empty for a task without GPU.")
      .def_readonly("grant", &Place::grant, "How it has them, a DeviceGrant.")
      .def_readonly("alternative", &Place::alternative,
                    "By which alternative of the job; 0 is its groups.")
      .def_readonly("rank", &Place::rank,
                    "The position among all tasks of the job. Neighbours sit together.")
      .def_readonly("score", &Place::score, "The score of the place, on the policy's own scale.");
  DefineText(place);
}

void BindEvict(py::module_& module) {
  py::class_<Evict> evict(module, "Evict", R"(A step of a plan: stop this attempt.

It holds what it has until evicted(), failed() or finished() says that it is gone.)");
  evict
      .def_property_readonly(
          "task", [](const Evict& e) { return TaskOf(e.task); }, "The attempt, a Task.")
      .def_readonly("node", &Evict::node, "The node that it is on.")
      .def_property_readonly(
          "cause", [](const Evict& e) { return std::string(EvictCauseName(e.cause)); },
          R"("Cancelled", "JobFailed", "ScaledDown" or "GangNotWhole".)");
  DefineText(evict);
}

// Wait and Reject, which differ only in what they mean.
template <class T>
void BindWaiting(py::module_& module, const char* name, const char* doc, Outcome outcome) {
  py::class_<T> waiting(module, name, doc);
  waiting.def_readonly("job", &T::job, "The job.")
      .def_property_readonly(
          "reason", [](const T& w) { return std::string(ReasonName(w.why.reason)); },
          "The dominant reason, as a stable name; see reasons().")
      .def_property_readonly(
          "group", [](const T& w) { return TextOrNone(w.why.group); },
          "The group that finds no place; None if the reason is the whole job's.")
      .def_property_readonly(
          "subject", [](const T& w) { return TextOrNone(w.why.subject); },
          "The node that comes nearest, or the job or job group that is waited for, or None.")
      .def_property_readonly(
          "need", [](const T& w) { return w.why.need; },
          "What is needed, in the unit of the reason; 0 where no number applies.")
      .def_property_readonly(
          "have", [](const T& w) { return w.why.have; }, "What there is, in the same unit.")
      .def_property_readonly(
          "text", [outcome](const T& w) { return WaitText(w.why, outcome); },
          "One line for people.");
  DefineText(waiting);
}

const char* JobEndName(JobEnd how) {
  switch (how) {
    case JobEnd::kFinished:
      return "finished";
    case JobEnd::kFailed:
      return "failed";
    case JobEnd::kCancelled:
      break;
  }
  return "cancelled";
}

py::dict EndedDict(const Effect& effect) {
  py::dict ended;
  for (const JobEnded& job : effect.ended) ended[py::str(job.job)] = JobEndName(job.how);
  return ended;
}

std::string EffectText(const Effect& effect) {
  std::string text = absl::StrCat("<Effect: ", effect.changed ? "changed" : "no change");
  if (!effect.note.empty()) absl::StrAppend(&text, ": ", effect.note);
  for (const TaskKey& task : effect.requeued) {
    absl::StrAppend(&text, ", ", TaskName(task), " requeued after attempt ", task.attempt);
  }
  for (const JobEnded& job : effect.ended) {
    absl::StrAppend(&text, ", ", job.job, " ", JobEndName(job.how));
  }
  for (const std::string& hold : effect.expired_holds) {
    absl::StrAppend(&text, ", hold ", hold, " expired");
  }
  return text + ">";
}

void BindEffect(py::module_& module) {
  py::class_<Effect>(module, "Effect", R"(What an event, a commit or an abort has changed.

True if anything did. News that comes twice or late changes nothing, and the note says why.)")
      .def("__bool__", [](const Effect& e) { return e.changed; })
      .def_readonly("changed", &Effect::changed, "Whether anything has changed.")
      .def_readonly("note", &Effect::note, "If nothing has: why; else empty.")
      .def_property_readonly(
          "requeued", [](const Effect& e) { return TasksOf(e.requeued); },
          "Attempts that are over; their tasks wait again. One that still runs is to be stopped.")
      .def_property_readonly(
          "ended", &EndedDict,
          R"(Jobs that are gone, a dict to "finished", "failed" or "cancelled".)")
      .def_property_readonly(
          "expired_holds", [](const Effect& e) { return py::tuple(py::cast(e.expired_holds)); },
          "Names of holds whose time has come, or whose node has gone.")
      .def("__repr__", &EffectText);
}

}  // namespace

void BindPlan(py::module_& module) {
  BindEffect(module);
  BindPlace(module);
  BindEvict(module);
  BindWaiting<Wait>(module, "Wait", "A step of a plan: not now; an event may help.",
                    Outcome::kWait);
  BindWaiting<Reject>(module, "Reject",
                      R"(A step of a plan: this cluster could not hold the job even when empty.

The job stays, and is looked at anew in each cycle.)",
                      Outcome::kNever);

  py::class_<Plan>(module, "Plan", R"(What to do now: evictions, then job by job. Immutable.

It is for the state that it was made from. Commit it, carry it out, and tell the engine what became
of it. Its len is the number of steps, iterating gives them, and str is one line a step.)")
      .def_property_readonly("now", &Plan::now, "The time for which it was made.")
      .def_property_readonly("version", &Plan::version,
                             "Of the state; a commit on any other is refused as stale.")
      .def_property_readonly("steps", &AllSteps, "All steps: Place, Evict, Wait, Reject.")
      .def_property_readonly("placements", &StepsOf<Place>, "The Place steps.")
      .def_property_readonly("evictions", &StepsOf<Evict>, "The Evict steps.")
      .def_property_readonly("waits", &StepsOf<Wait, Reject>, "The Wait and Reject steps.")
      .def("__len__", [](const Plan& p) { return p.steps().size(); })
      .def("__iter__", [](const Plan& p) { return py::iter(AllSteps(p)); })
      .def(
          "encode", [](const Plan& p) { return py::bytes(Encode(p)); },
          "The plan as bytes, as a journal has it. Equal plans give equal bytes.")
      .def_static(
          "decode",
          [](const py::object& data) {
            if (!PyBytes_Check(data.ptr())) {
              Raise(InvalidField("plan", "data", Shown(data), "use bytes"));
            }
            return ValueOrRaise(DecodePlan(data.cast<std::string>()));
          },
          py::arg("data"), "The plan that was encoded. Raises CorruptData.")
      .def("__eq__", &IsEqual<Plan>)
      .def("__hash__", [](const Plan& p) { return py::hash(py::bytes(Encode(p))); })
      .def("__str__", &PlanLines)
      .def("__repr__", [](const Plan& p) { return absl::StrCat("<Plan ", PlanText(p), ">"); })
      .def(py::pickle([](const Plan& p) { return py::make_tuple(py::bytes(Encode(p))); },
                      [](const py::tuple& state) {
                        return ValueOrRaise(DecodePlan(state[0].cast<std::string>()));
                      }));
}

}  // namespace gpusched::bindings
