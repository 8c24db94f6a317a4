// What an engine is told: each method is one event.
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "arguments.h"
#include "engine.h"
#include "gpusched/spec/event.h"
#include "gpusched/spec/field_error.h"
#include "job.h"
#include "node_spec.h"
#include "sharing.h"
#include "spec.h"
#include "status.h"
#include "task.h"
#include "task_group.h"

namespace gpusched::bindings {
namespace {

Effect OnUpdateNode(PyEngine& self, const py::object& name, const py::object& cpu,
                    const py::object& cpu_milli, const py::object& mem_mib, const py::object& gpus,
                    const py::object& model, const py::object& gpu_mem_mib,
                    const py::object& devices, const py::object& foreign_cpu_milli,
                    const py::object& foreign_mem_mib, const py::object& foreign_device_milli) {
  UpdateNode update;
  update.node = Text(name, "node", "name");
  const std::string where = "node " + Quoted(update.node);
  if (!cpu.is_none() || !cpu_milli.is_none()) update.cpu_milli = CpuMilli(cpu, cpu_milli, where);
  update.mem_mib = NumberIf(mem_mib, where, "mem_mib");
  if (!gpus.is_none() || !devices.is_none()) {
    update.devices = DeviceSpecs(gpus, model, gpu_mem_mib, devices, where);
  } else if (!model.is_none() || !gpu_mem_mib.is_none()) {
    Raise(InvalidField(where, "gpus", "None", "say how many, or name the devices"));
  }
  if (!foreign_cpu_milli.is_none() || !foreign_mem_mib.is_none() ||
      !foreign_device_milli.is_none()) {
    const py::int_ nothing(0);
    const auto or_nothing = [&](const py::object& value) -> py::handle {
      return value.is_none() ? py::handle(nothing) : py::handle(value);
    };
    const py::tuple no_devices;
    update.foreign = ForeignUsageOf(
        update.node, or_nothing(foreign_cpu_milli), or_nothing(foreign_mem_mib),
        foreign_device_milli.is_none() ? py::handle(no_devices) : py::handle(foreign_device_milli),
        "foreign_");
  }
  return self.Apply(update);
}

// {"count": …, "min_available": …, "shape": …}, each of which may be absent.
GroupUpdate GroupUpdateOf(const std::string& group, py::handle value, const std::string& where) {
  GroupUpdate update;
  update.group = group;
  const std::string field = absl::StrCat("groups[", Quoted(group), "]");
  constexpr const char* kRemedy = "use a dict with count, min_available, shape";
  for (const auto& [key, part] : Dict(value, where, field, kRemedy)) {
    const std::string name = Text(key, where, absl::StrCat(field, " key"));
    const std::string entry = absl::StrCat(field, ".", name);
    if (name == "count") {
      update.count = NumberIf(part, where, entry, kCountRemedy);
    } else if (name == "min_available") {
      update.min_available = NumberIf(part, where, entry, kCountRemedy);
    } else if (name != "shape") {
      Raise(InvalidField(where, field + " key", Quoted(name), kRemedy));
    } else if (!part.is_none()) {
      if (!py::isinstance<PyShape>(part)) {
        Raise(InvalidField(where, entry, Shown(part), "use a Shape"));
      }
      update.shape = part.cast<const PyShape&>().spec;
    }
  }
  return update;
}

Effect OnUpdateJob(PyEngine& self, const py::object& name, const py::object& queue,
                   const py::object& priority, const py::object& expected_duration,
                   const py::object& groups) {
  UpdateJob update;
  update.job = Text(name, "job", "name");
  const std::string where = "job " + Quoted(update.job);
  if (!queue.is_none()) update.queue = Text(queue, where, "queue");
  update.priority = NumberIf(priority, where, "priority", kPriorityRemedy);
  update.expected_duration = NumberIf(expected_duration, where, "expected_duration", kTimeRemedy);
  for (const auto& [key, value] :
       Dict(groups, where, "groups", "use a dict from group to what changes")) {
    update.groups.push_back(GroupUpdateOf(Text(key, where, "groups key"), value, where));
  }
  return self.Apply(update);
}

Effect OnStarted(PyEngine& self, const py::object& task, const py::object& node,
                 const py::object& devices, const py::object& instances) {
  TaskStarted started{.task = TaskKeyOf(task), .place = {}};
  const std::string where = "task " + Quoted(TaskName(started.task));
  if (!node.is_none()) {
    started.place = TaskPlace{.node = Text(node, where, "node"), .devices = {}};
    if (!devices.is_none()) started.place->devices = Devices(devices, where);
    started.place->instances = InstancesOf(instances, where);
    if (!instances.is_none() && devices.is_none()) {
      started.place->devices = DevicesOf(started.place->instances);
    }
  } else if (!devices.is_none() || !instances.is_none()) {
    Raise(InvalidField(where, "node", "None", "name the node of the devices"));
  }
  return self.Apply(started);
}

Effect OnHold(PyEngine& self, const py::object& name, const py::object& owner,
              const py::object& node, const PyShape& shape, const py::object& devices,
              const py::object& instances, const py::object& until) {
  HoldCapacity hold;
  hold.name = Text(name, "hold", "name");
  hold.shape = shape.spec;
  const std::string where = "hold " + Quoted(hold.name);
  hold.owner = Text(owner, where, "owner");
  hold.node = Text(node, where, "node");
  hold.instances = InstancesOf(instances, where);
  hold.devices = hold.instances.empty() ? Devices(devices, where) : DevicesOf(hold.instances);
  hold.until = NumberIf(until, where, "until", kTimeRemedy).value_or(kNoDeadline);
  return self.Apply(hold);
}

void DefineNodeEvents(PyEngineClass& type) {
  type.def(
          "add_node",
          [](PyEngine& self, const py::object& name, const py::object& cpu,
             const py::object& cpu_milli, const py::object& mem_mib, const py::object& gpus,
             const py::object& model, const py::object& gpu_mem_mib, const py::object& devices) {
            return self.Apply(AddNode{.node = NodeSpecOf(name, cpu, cpu_milli, mem_mib, gpus, model,
                                                         gpu_mem_mib, devices)});
          },
          py::arg("name"), py::kw_only(), py::arg("cpu") = py::none(),
          py::arg("cpu_milli") = py::none(), py::arg("mem_mib") = 0, py::arg("gpus") = py::none(),
          py::arg("model") = py::none(), py::arg("gpu_mem_mib") = py::none(),
          py::arg("devices") = py::none(), R"(A node joins, at the end of the node order.

The arguments are those of Cluster.add_node. Tasks that were said to run on a node of this name take
their capacity. Raises InvalidSpec, AlreadyExists, or LimitExceeded.)")
      .def("update_node", &OnUpdateNode, py::arg("name"), py::kw_only(),
           py::arg("cpu") = py::none(), py::arg("cpu_milli") = py::none(),
           py::arg("mem_mib") = py::none(), py::arg("gpus") = py::none(),
           py::arg("model") = py::none(), py::arg("gpu_mem_mib") = py::none(),
           py::arg("devices") = py::none(), py::arg("foreign_cpu_milli") = py::none(),
           py::arg("foreign_mem_mib") = py::none(), py::arg("foreign_device_milli") = py::none(),
           R"(A node is not what it was; what is left out stays.

It may become smaller than what runs on it: then nothing is free there, and what runs goes on. A
device that is missing from the new ones is lost.
foreign_cpu_milli, foreign_mem_mib, foreign_device_milli: what others than this engine use there;
    they go together: if one is given, those left out are 0.

Raises NotFound or InvalidSpec.)")
      .def(
          "remove_node",
          [](PyEngine& self, const py::object& name) {
            return self.Apply(RemoveNode{.node = Text(name, "node", "name")});
          },
          py::arg("name"), "A node is lost. Its tasks are queued again; unknown: no change.")
      .def(
          "cordon",
          [](PyEngine& self, const py::object& name, bool on) {
            return self.Apply(CordonNode{.node = Text(name, "node", "name"), .cordoned = on});
          },
          py::arg("name"), py::arg("on") = true,
          "Nothing new comes to the node, or again if not `on`; what runs stays. Raises NotFound.");
}

void DefineJobEvents(PyEngineClass& type) {
  type.def(
          "submit",
          [](PyEngine& self, const JobSpec& job) { return self.Apply(SubmitJob{.job = job}); },
          py::arg("job"), R"(A job arrives.

Raises AlreadyExists for a name that is live, InvalidSpec (a model that the engine does not know, a
submit_time to come, a job group that is complete), or LimitExceeded.)")
      .def("update_job", &OnUpdateJob, py::arg("name"), py::kw_only(),
           py::arg("queue") = py::none(), py::arg("priority") = py::none(),
           py::arg("expected_duration") = py::none(), py::arg("groups") = py::dict(),
           R"(The wish has changed; what is left out stays.

groups: by name, of the alternative that the job is on, a dict with any of count (fewer: surplus tasks
    are evicted by the next plan), min_available, and shape (while no task of the group is placed).

Raises NotFound (job, group), InvalidSpec or PreconditionFailed (shape).)")
      .def(
          "cancel",
          [](PyEngine& self, const py::object& name) {
            return self.Apply(CancelJob{.job = Text(name, "job", "name")});
          },
          py::arg("name"), R"(The job is not wanted any more; unknown: no change.

Pending tasks are gone at once; the next plan evicts placed ones, and the job is gone with the last.)");
}

void DefineTaskEvents(PyEngineClass& type) {
  type.def("started", &OnStarted, py::arg("task"), py::kw_only(), py::arg("node") = py::none(),
           py::arg("devices") = py::none(), py::arg("instances") = py::none(),
           R"(A placed task runs.

task: a Task, a Place or Evict, or (job, group, index, attempt); so for all news of tasks. News of an
    attempt that is over changes nothing.
node, devices, instances: where it runs; instances are MIG instances, (device, profile, start), and
    name the devices too. A pending task is adopted as it was found running there, whatever is
    free, even if the node has not joined yet: for restoring without a journal.

Raises InvalidSpec for an attempt that was never placed or a place that is not its own.)");
  const auto news = [&](const char* name, auto make, const char* doc) {
    type.def(
        name,
        [make](PyEngine& self, const py::object& task) {
          return self.Apply(make(TaskKeyOf(task)));
        },
        py::arg("task"), doc);
  };
  news(
      "finished", [](const TaskKey& task) { return TaskFinished{.task = task}; },
      "A task ended well; of a service, it is queued again. Raises InvalidSpec as started.");
  news(
      "failed", [](const TaskKey& task) { return TaskFailed{.task = task}; },
      "A task did not start, or crashed; it is queued again, unless max_attempts ends the job. "
      "Raises InvalidSpec as started.");
  news(
      "evicted", [](const TaskKey& task) { return TaskEvicted{.task = task}; },
      "A task is gone because the plan said so, or somebody else took it; it is queued again if it "
      "is still wanted. Raises InvalidSpec as started.");
}

void DefineOtherEvents(PyEngineClass& type) {
  type.def("hold", &OnHold, py::arg("name"), py::kw_only(), py::arg("owner"), py::arg("node"),
           py::arg("shape"), py::arg("devices") = py::tuple(), py::arg("instances") = py::none(),
           py::arg("until") = py::none(),
           R"(Keeps capacity of a node for a job: others see it as not free.

It ends when the job is placed, wherever that is, when it is dropped, or at `until`. The owner need
not have been submitted yet. Raises AlreadyExists (hold), NotFound (node), InvalidSpec, or
PreconditionFailed for what is not free.)")
      .def(
          "drop_hold",
          [](PyEngine& self, const py::object& name) {
            return self.Apply(DropHold{.name = Text(name, "hold", "name")});
          },
          py::arg("name"), "Ends a hold; unknown: no change.")
      .def(
          "tick",
          [](PyEngine& self, const py::object& now) {
            return self.Apply(Tick{.now = WholeNumber(now, "tick", "now", kTimeRemedy)});
          },
          py::arg("now"),
          "Time has passed: placements that nobody acknowledged and holds expire. Raises "
          "InvalidSpec for a time before one that was told.");
}

}  // namespace

void DefineEvents(PyEngineClass& type) {
  DefineNodeEvents(type);
  DefineJobEvents(type);
  DefineTaskEvents(type);
  DefineOtherEvents(type);
}

}  // namespace gpusched::bindings
