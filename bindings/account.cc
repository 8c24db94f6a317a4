#include "account.h"

#include <pybind11/stl.h>

#include <array>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "arguments.h"
#include "job.h"
#include "sharing.h"
#include "spec.h"
#include "task.h"

namespace gpusched::bindings {
namespace {

py::object TimeOrNone(Time time) {
  return time == kNoDeadline ? py::none() : py::object(py::int_(time));
}

py::dict CountsDict(const JobStatus& job) {
  std::array<std::int64_t, kTaskPhases> counts{};
  for (const TaskStatus& task : job.tasks) ++counts[static_cast<std::size_t>(task.phase)];
  py::dict dict;
  for (std::size_t i = 0; i < kTaskPhases; ++i) {
    dict[py::str(std::string(TaskPhaseName(static_cast<TaskPhase>(i))))] = counts[i];
  }
  return dict;
}

void BindGroupAccount(py::module_& module) {
  using Group = PyGroupAccount;
  py::class_<Group>(module, "GroupAccount", "A group that was looked at and found no place.")
      .def_readonly("job", &Group::job, "Its job; another one if jobs start together.")
      .def_readonly("group", &Group::group, "Its name.")
      .def_readonly("alternative", &Group::alternative, "Of which alternative; 0 is the groups.")
      .def_readonly("need", &Group::need, "How many tasks had to find a place.")
      .def_readonly("placed", &Group::placed, "How many did.")
      .def_readonly("reason", &Group::reason, "Why the next one did not, a Refusal.")
      .def_readonly("text", &Group::text, "The reason in one line.")
      .def("__repr__", [](const Group& g) {
        return absl::StrCat("<GroupAccount '", g.group, "': ", g.placed, " of ", g.need,
                            " placed, then ", g.text, ">");
      });
}

void BindJobAccount(py::module_& module) {
  using Account = PyAccount;
  py::class_<Account>(module, "Account", R"(Why a job waits, in full. str() of it is for people.)")
      .def_property_readonly(
          "job", [](const Account& a) { return a.account.job; }, "The job.")
      .def_property_readonly(
          "waits", [](const Account& a) { return a.account.waits(); },
          "False: it has what it asks for, or the next plan places it.")
      .def_property_readonly(
          "outcome", [](const Account& a) { return OutcomeName(a.account.outcome); },
          R"("ok", "wait" (an event may help) or "never" (not on this cluster).)")
      .def_property_readonly(
          "reason",
          [](const Account& a) -> py::object {
            if (!a.account.waits()) return py::none();
            return py::str(std::string(ReasonName(a.account.why.reason)));
          },
          "The dominant reason, as a stable name (see reasons()), or None.")
      .def_property_readonly(
          "group", [](const Account& a) { return TextOrNone(a.account.why.group); },
          "The group that finds no place, or None.")
      .def_property_readonly(
          "subject", [](const Account& a) { return TextOrNone(a.account.why.subject); },
          "The node that comes nearest, or the job or job group that is waited for, or None.")
      .def_property_readonly(
          "need", [](const Account& a) { return a.account.why.need; },
          "What is needed, in the unit of the reason; 0 where no number applies.")
      .def_property_readonly(
          "have", [](const Account& a) { return a.account.why.have; },
          "What there is, in the same unit.")
      .def_property_readonly(
          "groups", [](const Account& a) { return py::tuple(py::cast(a.groups)); },
          "Each group that found no place, GroupAccounts.")
      .def_property_readonly(
          "text", [](const Account& a) { return a.account.text; }, "Lines for people.")
      .def("__str__", [](const Account& a) { return a.account.text; })
      .def("__repr__", [](const Account& a) {
        return absl::StrCat("<Account ", OutcomeName(a.account.outcome), ": ", a.account.text, ">");
      });
}

void BindTaskStatus(py::module_& module) {
  py::class_<TaskStatus>(module, "TaskStatus", "One task of a job at one moment.")
      .def_property_readonly(
          "task", [](const TaskStatus& t) { return TaskOf(t.task); },
          "With the attempt that is placed or was last; of a pending task, the next one.")
      .def_property_readonly(
          "phase", [](const TaskStatus& t) { return std::string(TaskPhaseName(t.phase)); },
          R"("pending", "assumed", "running", "evicting" or "finished".)")
      .def_property_readonly(
          "node", [](const TaskStatus& t) { return TextOrNone(t.node); },
          "The node, if it is placed; it may be one that has not joined yet.")
      .def_property_readonly(
          "devices", [](const TaskStatus& t) { return DevicesTuple(t.devices); },
          "Indices of the devices that it holds.")
      .def_readonly("grant", &TaskStatus::grant, "How it has them, a DeviceGrant.")
      .def_property_readonly(
          "deadline", [](const TaskStatus& t) { return TimeOrNone(t.deadline); },
          "Of an assumed task: when it is queued again; else None.")
      .def_readonly("over", &TaskStatus::over,
                    "Whether it uses something there of which more is used than there is.")
      .def("__repr__", [](const TaskStatus& t) {
        return absl::StrCat("<TaskStatus ", TaskName(t.task), " attempt ", t.task.attempt, ": ",
                            std::string(TaskPhaseName(t.phase)),
                            t.node.empty() ? "" : absl::StrCat(" on ", t.node), ">");
      });
}

void BindJobInfo(py::module_& module) {
  py::class_<JobStatus>(module, "JobInfo", "A live job at one moment. A copy: it does not change.")
      .def_readonly("name", &JobStatus::job, "Its name.")
      .def_property_readonly(
          "kind", [](const JobStatus& j) { return JobKindName(j.kind); },
          R"("batch" or "service".)")
      .def_readonly("queue", &JobStatus::queue, "Its queue.")
      .def_readonly("priority", &JobStatus::priority, "Higher is first.")
      .def_readonly("submit_time", &JobStatus::submit_time, "When it was submitted.")
      .def_readonly("alternative", &JobStatus::alternative,
                    "The alternative that it is on; 0 is its groups.")
      .def_property_readonly(
          "repair_deadline", [](const JobStatus& j) { return TimeOrNone(j.repair_deadline); },
          "Of a gang that lacks members: when it is released; else None.")
      .def_property_readonly(
          "ending",
          [](const JobStatus& j) -> py::object {
            if (!j.ending) return py::none();
            return py::str(std::string(EvictCauseName(*j.ending)));
          },
          R"(Why the job is being taken back, "Cancelled" or "JobFailed", or None.)")
      .def_property_readonly(
          "tasks", [](const JobStatus& j) { return py::tuple(py::cast(j.tasks)); },
          "The tasks that are wanted or placed, TaskStatus in order of group and index.")
      .def_property_readonly("counts", &CountsDict, "How many tasks are in which phase, a dict.")
      .def("__repr__", [](const JobStatus& j) {
        return absl::StrCat("JobInfo(", NameText(j.job), ", ", JobKindName(j.kind),
                            ", tasks=", py::repr(CountsDict(j)).cast<std::string>(), ")");
      });
}

void BindHoldInfo(py::module_& module) {
  using Hold = PyHoldInfo;
  py::class_<Hold>(module, "HoldInfo", "Capacity that is kept for a job. A copy.")
      .def_readonly("name", &Hold::name, "Its name.")
      .def_readonly("owner", &Hold::owner, "The job that it is kept for.")
      .def_readonly("node", &Hold::node, "The node that it is on.")
      .def_property_readonly(
          "devices", [](const Hold& h) { return DevicesTuple(h.devices); },
          "Indices of the devices that it is of.")
      .def_property_readonly(
          "instances", [](const Hold& h) { return InstancesTuple(h.instances); },
          "The MIG instances that it is of.")
      .def_property_readonly(
          "shape", [](const Hold& h) { return ShapeOf(h.shape); }, "How much, as one task asks it.")
      .def_property_readonly(
          "until", [](const Hold& h) { return TimeOrNone(h.until); }, "When it ends, or None.")
      .def("__repr__", [](const Hold& h) {
        return absl::StrCat("HoldInfo(", NameText(h.name), ", owner=", NameText(h.owner),
                            ", node=", NameText(h.node), ")");
      });
}

}  // namespace

PyAccount AccountOf(const ClusterState& state, JobAccount account) {
  PyAccount complete;
  for (GroupAccount& group : account.groups) {
    complete.groups.push_back({.job = std::move(group.job),
                               .group = std::move(group.group),
                               .alternative = group.alternative,
                               .need = group.need,
                               .placed = group.placed,
                               .reason = RefusalOf(state, group.refusal),
                               .text = std::move(group.text)});
  }
  account.groups.clear();
  complete.account = std::move(account);
  return complete;
}

PyHoldInfo HoldInfoOf(const ClusterState& state, const Hold& hold) {
  return {.name = hold.name,
          .owner = hold.owner,
          .node = std::string(state.node_name(hold.placement.node)),
          .devices = hold.placement.devices,
          .instances = hold.placement.instances,
          .shape = SpecOf(state, state.shapes()[hold.shape]),
          .until = hold.until};
}

void BindAccount(py::module_& module) {
  BindGroupAccount(module);
  BindJobAccount(module);
  BindTaskStatus(module);
  BindJobInfo(module);
  BindHoldInfo(module);
}

}  // namespace gpusched::bindings
