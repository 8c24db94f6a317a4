#include "job.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "arguments.h"
#include "gpusched/journal/codec.h"
#include "gpusched/spec/event.h"
#include "gpusched/spec/field_error.h"
#include "gpusched/spec/validate_job.h"
#include "spec.h"
#include "status.h"
#include "task_group.h"

namespace gpusched::bindings {
namespace {

// Pairs of a mapping, sorted, so that the order of a dict tells no jobs apart. `several`: a value
// may be a list of values.
std::vector<Label> Labels(py::handle value, const std::string& where, const char* field,
                          bool several) {
  const char* remedy = several ? "use a dict from key to value, or to a list of values"
                               : "use a dict from key to value";
  std::vector<Label> labels;
  for (const auto& [key, held] : Dict(value, where, field, remedy)) {
    const std::string name = Text(key, where, absl::StrCat(field, " key"));
    const std::string entry = absl::StrCat(field, "[", Quoted(name), "]");
    if (!several) {
      labels.push_back({.key = name, .value = Text(held, where, entry)});
      continue;
    }
    for (std::string& one : Texts(held, where, entry)) {
      labels.push_back({.key = name, .value = std::move(one)});
    }
  }
  std::sort(labels.begin(), labels.end(), [](const Label& a, const Label& b) {
    return std::tie(a.key, a.value) < std::tie(b.key, b.value);
  });
  return labels;
}

JobKind KindOf(py::handle value, const std::string& where) {
  const std::string name = Text(value, where, "kind");
  if (name == "batch") return JobKind::kBatch;
  if (name == "service") return JobKind::kService;
  Raise(InvalidField(where, "kind", Quoted(name), "use 'batch' or 'service'"));
}

// What can be checked without an engine, which alone knows the models that it declared opaque.
void CheckAlone(const JobSpec& job) {
  ModelCatalog any;
  for (std::size_t i = 0; i <= job.alternatives.size(); ++i) {
    for (const TaskGroupSpec& group : job.Alternative(i)) {
      for (const std::string& model : group.shape.models) any.DeclareOpaque(model);
    }
  }
  RaiseIfError(Validate(job, any));
}

JobSpec MakeJob(py::handle name, py::handle groups, py::handle kind, py::handle queue,
                py::handle priority, py::handle submit_time, py::handle expected_duration,
                py::handle max_attempts, py::handle labels, py::handle alternatives,
                bool homogeneous, py::handle affinity, py::handle anti_affinity,
                py::handle co_schedule) {
  JobSpec job;
  job.name = Text(name, "job", "name");
  const std::string where = "job " + Quoted(job.name);
  job.groups = GroupsOf(groups, where, "groups");
  job.kind = KindOf(kind, where);
  job.queue = Text(queue, where, "queue");
  job.priority = WholeNumber(priority, where, "priority", kPriorityRemedy);
  job.submit_time = NumberIf(submit_time, where, "submit_time", kTimeRemedy);
  job.expected_duration = NumberIf(expected_duration, where, "expected_duration", kTimeRemedy);
  job.max_attempts = NumberIf(max_attempts, where, "max_attempts", "use a whole number, 1 or more");
  job.labels = Labels(labels, where, "labels", /*several=*/false);
  if (py::isinstance<py::str>(alternatives) || !py::isinstance<py::iterable>(alternatives)) {
    Raise(InvalidField(where, "alternatives", Shown(alternatives), "use a list of groups"));
  }
  for (const py::handle item : py::iter(alternatives)) {
    job.alternatives.push_back(
        GroupsOf(item, where, absl::StrCat("alternatives[", job.alternatives.size(), "]")));
  }
  job.homogeneous = homogeneous;
  job.affinity = Labels(affinity, where, "affinity", /*several=*/true);
  job.anti_affinity = Labels(anti_affinity, where, "anti_affinity", /*several=*/true);
  if (!co_schedule.is_none()) {
    if (!py::isinstance<py::tuple>(co_schedule) || py::len(co_schedule) != 2) {
      Raise(InvalidField(where, "co_schedule", Shown(co_schedule), "use (group, size)"));
    }
    const auto pair = py::reinterpret_borrow<py::tuple>(co_schedule);
    job.co_schedule = CoSchedule{
        .group = Text(pair[0], where, "co_schedule group"),
        .size = WholeNumber(pair[1], where, "co_schedule size", "use a whole number, 1 to 1024")};
  }
  CheckAlone(job);
  return job;
}

// A key with several values has a tuple of them.
py::dict LabelsDict(const std::vector<Label>& labels) {
  py::dict dict;
  for (const Label& label : labels) {
    const py::str key(label.key), value(label.value);
    if (!dict.contains(key)) {
      dict[key] = value;
    } else if (const py::object held = dict[key]; py::isinstance<py::tuple>(held)) {
      dict[key] = held + py::make_tuple(value);
    } else {
      dict[key] = py::make_tuple(held, value);
    }
  }
  return dict;
}

std::string JobText(const JobSpec& job) {
  std::string text = absl::StrCat("Job(", NameText(job.name), ", ", GroupsText(job.groups));
  const auto add = [&](const char* field, const auto& value) {
    absl::StrAppend(&text, ", ", field, "=", value);
  };
  const auto add_labels = [&](const char* field, const std::vector<Label>& labels) {
    if (!labels.empty()) add(field, py::repr(LabelsDict(labels)).cast<std::string>());
  };
  if (job.kind != JobKind::kBatch) add("kind", Quoted(JobKindName(job.kind)));
  if (job.queue != "default") add("queue", NameText(job.queue));
  if (job.priority != 0) add("priority", job.priority);
  if (job.submit_time) add("submit_time", *job.submit_time);
  if (job.expected_duration) add("expected_duration", *job.expected_duration);
  if (job.max_attempts) add("max_attempts", *job.max_attempts);
  add_labels("labels", job.labels);
  if (!job.alternatives.empty()) {
    std::string list;
    for (const auto& groups : job.alternatives) {
      absl::StrAppend(&list, list.empty() ? "" : ", ", GroupsText(groups));
    }
    add("alternatives", absl::StrCat("[", list, "]"));
  }
  if (job.homogeneous) add("homogeneous", "True");
  add_labels("affinity", job.affinity);
  add_labels("anti_affinity", job.anti_affinity);
  if (job.co_schedule) {
    add("co_schedule",
        absl::StrCat("(", NameText(job.co_schedule->group), ", ", job.co_schedule->size, ")"));
  }
  return text + ")";
}

}  // namespace

const char* JobKindName(JobKind kind) { return kind == JobKind::kBatch ? "batch" : "service"; }

void BindJob(py::module_& module) {
  py::class_<JobSpec>(module, "Job", R"(What is submitted: groups of identical tasks. Immutable.

>>> import libgpusched as gs
>>> shape = gs.Shape(cpu=8, mem_mib=32768, gpu=1)
>>> gs.Job("notebook", shape) == gs.Job("notebook", gs.TaskGroup("main", shape))
True
>>> gs.Job("train", gs.TaskGroup("workers", shape, 4), priority=5, labels={"team": "nlp"}).labels
{'team': 'nlp'})")
      .def(py::init(&MakeJob), py::arg("name"), py::arg("groups"), py::kw_only(),
           py::arg("kind") = "batch", py::arg("queue") = "default", py::arg("priority") = 0,
           py::arg("submit_time") = py::none(), py::arg("expected_duration") = py::none(),
           py::arg("max_attempts") = py::none(), py::arg("labels") = py::dict(),
           py::arg("alternatives") = py::tuple(), py::arg("homogeneous") = false,
           py::arg("affinity") = py::dict(), py::arg("anti_affinity") = py::dict(),
           py::arg("co_schedule") = py::none(), R"(Describes a job. Times are whole microseconds.

name: unique among live jobs.
groups: a TaskGroup, a list of them, or a Shape, which is one task of a group "main".
kind: "batch" ends when each task has finished; "service" runs its tasks for ever.
priority: higher is first. submit_time: None: the engine's time when it is submitted.
expected_duration: for policies that look ahead; None: unknown.
max_attempts: a task that fails this often ends the job; None: never.
labels: a dict, matched by affinity (only nodes where a job with each of these labels has a task) and
    anti_affinity (no node where one with any of them has); there, a value may be a list of values.
alternatives: what else would do, in order of preference: a list of what groups takes.
homogeneous: all tasks on one GPU model.
co_schedule: (group, size): jobs that name the same group start together, once so many are there.

Raises InvalidSpec naming the field, the value and the remedy.)")
      .def_readonly("name", &JobSpec::name, "Its name.")
      .def_property_readonly(
          "groups", [](const JobSpec& j) { return GroupsTuple(j.groups); }, "Its groups.")
      .def_property_readonly(
          "kind", [](const JobSpec& j) { return JobKindName(j.kind); }, R"("batch" or "service".)")
      .def_readonly("queue", &JobSpec::queue, "Its queue.")
      .def_readonly("priority", &JobSpec::priority, "Higher is first.")
      .def_property_readonly(
          "submit_time", [](const JobSpec& j) { return IntOrNone(j.submit_time); },
          "When it was submitted, or None.")
      .def_property_readonly(
          "expected_duration", [](const JobSpec& j) { return IntOrNone(j.expected_duration); },
          "How long it is expected to run, or None.")
      .def_property_readonly(
          "max_attempts", [](const JobSpec& j) { return IntOrNone(j.max_attempts); },
          "A task that fails this often ends the job, or None.")
      .def_property_readonly(
          "labels", [](const JobSpec& j) { return LabelsDict(j.labels); }, "Its labels, a dict.")
      .def_property_readonly(
          "alternatives",
          [](const JobSpec& j) {
            py::tuple all(j.alternatives.size());
            for (std::size_t i = 0; i < j.alternatives.size(); ++i) {
              all[i] = GroupsTuple(j.alternatives[i]);
            }
            return all;
          },
          "What else would do, tuples of groups.")
      .def_readonly("homogeneous", &JobSpec::homogeneous, "Whether it keeps to one GPU model.")
      .def_property_readonly(
          "affinity", [](const JobSpec& j) { return LabelsDict(j.affinity); },
          "Labels that its nodes must have; a dict.")
      .def_property_readonly(
          "anti_affinity", [](const JobSpec& j) { return LabelsDict(j.anti_affinity); },
          "Labels that its nodes must not have; a dict.")
      .def_property_readonly(
          "co_schedule",
          [](const JobSpec& j) -> py::object {
            if (!j.co_schedule) return py::none();
            return py::make_tuple(j.co_schedule->group, j.co_schedule->size);
          },
          "(group, size) of the jobs that start together, or None.")
      .def("__eq__", &IsEqual<JobSpec>)
      .def("__hash__", [](const JobSpec& j) { return py::hash(py::str(j.name)); })
      .def("__repr__", &JobText)
      .def(py::pickle(
          [](const JobSpec& j) { return py::make_tuple(py::bytes(Encode(SubmitJob{.job = j}))); },
          [](const py::tuple& state) {
            const Event event = ValueOrRaise(DecodeEvent(state[0].cast<std::string>()));
            const auto* submit = std::get_if<SubmitJob>(&event);
            if (submit == nullptr) Raise(absl::DataLossError("the bytes are no job's"));
            CheckAlone(submit->job);
            return submit->job;
          }));
}

}  // namespace gpusched::bindings
