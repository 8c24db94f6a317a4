#include "plan_validator_ledger.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace gpusched::validator {
namespace {

LabelText TextOf(const Label& label) { return {label.key, label.value}; }

std::string Shown(const Label& label) {
  return absl::StrCat("'", label.key, "=", label.value, "'");
}

NodeOccupants HeldForOthers(const World& world, const Placing& placing) {
  NodeOccupants held;
  for (const auto& [name, hold] : world.holds) {
    if (hold.node != placing.step.node || hold.owner == placing.job.spec.name) continue;
    if (world.StartTogether(hold.owner, placing.job)) continue;
    world.AddOccupants(placing.node, hold.shape, hold.devices, hold.instances, held);
  }
  return held;
}

// The devices that the step names, and the instances on them: those of one device come one by one.
std::string WhyNotThere(const World& world, const Placing& placing, const NodeOccupants& used,
                        const NodeOccupants& held) {
  const ShapeSpec& shape = placing.group.shape;
  const auto& instances = placing.step.grant.instances;
  for (DeviceMask rest = placing.step.devices; !rest.empty(); rest.DropFirst()) {
    const auto i = static_cast<std::size_t>(rest.First());
    const DeviceFacts facts = world.FactsOf(placing.node, i);
    std::vector<Occupant> there;
    if (i < used.devices.size()) there = used.devices[i];
    if (i < held.devices.size()) {
      for (Occupant occupant : held.devices[i]) {
        occupant.held = true;
        there.push_back(occupant);
      }
    }
    std::string wrong;
    if (instances.empty()) wrong = WhyNot(facts, there, shape, nullptr);
    for (const MigInstance& instance : instances) {
      if (!wrong.empty() || static_cast<std::size_t>(instance.device) != i) continue;
      wrong = WhyNot(facts, there, shape, &instance);
      there.push_back(OccupantOf(facts, shape, &instance));
    }
    if (!wrong.empty()) return wrong;
  }
  return "";
}

// The model of a device that a placed task has; empty if the node or the device is not known.
std::string_view ModelOf(const World& world, const std::string& node, int device) {
  const auto it = world.nodes.find(node);
  const auto i = static_cast<std::size_t>(device);
  if (it == world.nodes.end() || i >= it->second.devices.size()) return {};
  return it->second.devices[i].spec.model;
}

}  // namespace

Ledger::Ledger(const World& world) {
  for (const auto& [name, job] : world.jobs) {
    for (const auto& [id, task] : job.tasks) {
      if (!task.Placed()) continue;
      const auto node = world.nodes.find(task.node);
      const TaskGroupSpec* const group = FindGroup(job.Groups(), id.first);
      Add(world, task.node, node == world.nodes.end() ? nullptr : &node->second, job, *group,
          task.devices, task.instances);
    }
  }
}

void Ledger::Add(const World& world, const std::string& node_name, const Node* node, const Job& job,
                 const TaskGroupSpec& group, DeviceMask devices,
                 const std::vector<MigInstance>& instances) {
  for (const Label& label : job.spec.labels) {
    labels_anywhere_.try_emplace(TextOf(label), job.spec.name);
  }
  if (node == nullptr) return;  // it takes its room when the node joins
  NodeLedger& ledger = nodes_[node_name];
  world.AddOccupants(*node, group.shape, devices, instances, ledger.used);
  ++ledger.tasks[{job.spec.name, group.name}];
  for (const Label& label : job.spec.labels) {
    ledger.labels.try_emplace(TextOf(label), job.spec.name);
  }
  for (const Label& label : job.spec.anti_affinity) {
    ledger.unwanted.try_emplace(TextOf(label), job.spec.name);
  }
}

const NodeLedger& Ledger::At(const std::string& node) const {
  static const NodeLedger kEmpty;
  const auto it = nodes_.find(node);
  return it == nodes_.end() ? kEmpty : it->second;
}

std::string Ledger::WrongDevices(const Placing& placing) const {
  const ShapeSpec& shape = placing.group.shape;
  if (std::string wrong = WrongNumber(shape, placing.step.devices, placing.step.grant.instances);
      !wrong.empty()) {
    return wrong;
  }
  for (DeviceMask rest = placing.step.devices; !rest.empty(); rest.DropFirst()) {
    const auto i = static_cast<std::size_t>(rest.First());
    if (i >= placing.node.devices.size() || !placing.node.devices[i].present) {
      return absl::StrCat("the node has no device ", i);
    }
    const std::string& model = placing.node.devices[i].spec.model;
    const auto& allowed = shape.models;
    if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), model) == allowed.end()) {
      return absl::StrCat("devices[", i, "] is of model '", model, "', which is not allowed");
    }
  }
  return "";
}

std::string Ledger::WrongRoom(const World& world, const Placing& placing) const {
  const NodeOccupants& used = At(placing.step.node).used;
  const NodeOccupants held = HeldForOthers(world, placing);
  const Node& node = placing.node;
  const Room cpu{.what = "cpu_milli",
                 .capacity = node.cpu_milli,
                 .used = used.cpu_milli,
                 .foreign = node.foreign.cpu_milli,
                 .held = held.cpu_milli};
  const Room memory{.what = "mem_mib",
                    .capacity = node.mem_mib,
                    .used = used.mem_mib,
                    .foreign = node.foreign.mem_mib,
                    .held = held.mem_mib};
  std::string wrong = Lacking(cpu, placing.group.shape.cpu_milli);
  if (wrong.empty()) wrong = Lacking(memory, placing.group.shape.mem_mib);
  if (wrong.empty()) wrong = WhyNotThere(world, placing, used, held);
  return wrong;
}

std::string Ledger::WrongGrant(const World& world, const Placing& placing) const {
  const DeviceGrant& said = placing.step.grant;
  DeviceGrant right;
  std::string what = "grant";
  if (!placing.step.devices.empty()) {
    const auto first = static_cast<std::size_t>(placing.step.devices.First());
    right = GrantFor(world.FactsOf(placing.node, first), placing.group.shape, said.instances);
    what = absl::StrCat("grant of devices[", first, "]");
  }
  if (said == right) return "";
  const auto text = [](const DeviceGrant& grant) {
    return absl::StrCat(std::string(SharingModeName(grant.mode)), ", gpu_milli ", grant.gpu_milli,
                        ", gpu_mem_mib ", grant.gpu_mem_mib);
  };
  return absl::StrCat(what, ": ", text(said), "; it is ", text(right));
}

std::string Ledger::WrongModel(const World& world, const Placing& placing) const {
  if (!placing.job.spec.homogeneous || placing.step.devices.empty()) return "";
  using TaskByModel = std::map<std::string_view, std::string>;
  const auto note = [&](const std::string& node, DeviceMask devices, const std::string& task,
                        TaskByModel& models) {
    for (; !devices.empty(); devices.DropFirst()) {
      const std::string_view model = ModelOf(world, node, devices.First());
      if (!model.empty()) models.try_emplace(model, task);
    }
  };
  TaskByModel mine;
  note(placing.step.node, placing.step.devices, "this task", mine);
  if (mine.empty()) return "";
  TaskByModel others;
  for (const auto& [id, task] : placing.job.tasks) {
    if (task.Placed())
      note(task.node, task.devices, absl::StrCat(id.first, "/", id.second), others);
  }
  // Adopted tasks may have been found on several models; then any of these will do.
  const auto& [model, task] = *mine.begin();
  if (mine.size() == 1 && (others.empty() || others.count(model) > 0)) return "";
  const auto& [other_model, other_task] =
      mine.size() > 1 ? *std::next(mine.begin()) : *others.begin();
  return absl::StrCat("the job is homogeneous, but ", task, " is on model '", std::string(model),
                      "' and ", other_task, " on '", std::string(other_model), "'");
}

std::string Ledger::WrongNumberOnNode(const Placing& placing) const {
  if (!placing.group.max_tasks_per_node) return "";
  const auto& tasks = At(placing.step.node).tasks;
  const auto it = tasks.find({placing.job.spec.name, placing.group.name});
  const std::int64_t there = it == tasks.end() ? 0 : it->second;
  if (there < *placing.group.max_tasks_per_node) return "";
  return absl::StrCat("group '", placing.group.name, "' has ", there,
                      " tasks on the node, max_tasks_per_node is ",
                      *placing.group.max_tasks_per_node);
}

std::string Ledger::WrongCompany(const Placing& placing) const {
  for (const Label& label : placing.job.spec.affinity) {
    std::string wrong = MissingCompany(placing, label);
    if (!wrong.empty()) return wrong;
  }
  const NodeLedger& node = At(placing.step.node);
  for (const Label& label : placing.job.spec.anti_affinity) {
    const auto bearer = node.labels.find(TextOf(label));
    if (bearer == node.labels.end()) continue;
    return absl::StrCat("anti-affinity to ", Shown(label), ", which job '", bearer->second,
                        "' has on the node");
  }
  for (const Label& label : placing.job.spec.labels) {
    const auto enemy = node.unwanted.find(TextOf(label));
    if (enemy == node.unwanted.end()) continue;
    return absl::StrCat("job '", enemy->second, "' on the node has anti-affinity to its label ",
                        Shown(label));
  }
  return "";
}

std::string Ledger::MissingCompany(const Placing& placing, const Label& label) const {
  if (At(placing.step.node).labels.contains(TextOf(label))) return "";
  const auto& own = placing.job.spec.labels;
  const bool has_it_itself = std::find(own.begin(), own.end(), label) != own.end();
  const auto elsewhere = labels_anywhere_.find(TextOf(label));
  if (elsewhere != labels_anywhere_.end()) {
    return absl::StrCat("affinity to ", Shown(label), ", which no task on the node has, but job '",
                        elsewhere->second, "' has elsewhere");
  }
  if (has_it_itself) return "";  // somebody must be the first
  return absl::StrCat("affinity to ", Shown(label), ", which no placed task has");
}

}  // namespace gpusched::validator
