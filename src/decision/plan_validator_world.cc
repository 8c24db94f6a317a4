#include "plan_validator_world.h"

#include <algorithm>
#include <variant>

namespace gpusched::validator {
namespace {

// The attempt is over without having finished; what the task held is free.
void Requeue(Task& task) {
  task.phase = Phase::kPending;
  task.node.clear();
  task.devices = DeviceMask();
  task.instances.clear();
  task.start_deadline = kNoDeadline;
}

void SetDevices(const std::vector<DeviceSpec>& specs, Node& node) {
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const Device device{.spec = specs[i], .present = true};
    if (i < node.devices.size()) {
      node.devices[i] = device;
    } else {
      node.devices.push_back(device);
    }
  }
  for (std::size_t i = specs.size(); i < node.devices.size(); ++i) {
    Device& lost = node.devices[i];
    lost.present = false;
    lost.spec.gpu_milli = 0;
    if (lost.spec.gpu_mem_mib) lost.spec.gpu_mem_mib = 0;
  }
}

void Update(const GroupUpdate& update, TaskGroupSpec& group) {
  if (update.shape) group.shape = *update.shape;
  if (update.count) {
    group.count = *update.count;
    if (group.min_available) group.min_available = std::min(*group.min_available, group.count);
  }
  if (update.min_available) group.min_available = update.min_available;
}

}  // namespace

const TaskGroupSpec* FindGroup(const std::vector<TaskGroupSpec>& groups, const std::string& name) {
  for (const TaskGroupSpec& group : groups) {
    if (group.name == name) return &group;
  }
  return nullptr;
}

DeviceFacts World::FactsOf(const Node& node, std::size_t device) const {
  static const DeviceSpec kUnknown;
  if (device >= node.devices.size()) return {.spec = kUnknown, .index = device};
  const DeviceSpec& spec = node.devices[device].spec;
  // Geometries live as long as the catalogue, built-in ones for ever.
  const auto geometry = catalog.MigOf(spec.model);
  const auto& foreign = node.foreign.device_milli;
  return {.spec = spec,
          .geometry = geometry == nullptr ? nullptr : &geometry->spec(),
          .foreign_milli = device < foreign.size() ? foreign[device] : 0,
          .index = device};
}

void World::AddOccupants(const Node& node, const ShapeSpec& shape, DeviceMask devices,
                         const std::vector<MigInstance>& instances,
                         NodeOccupants& occupants) const {
  occupants.cpu_milli += shape.cpu_milli;
  occupants.mem_mib += shape.mem_mib;
  const auto add = [&](std::size_t device, const MigInstance* instance) {
    // A plan that was never checked may name any.
    if (device >= static_cast<std::size_t>(kMaxDevicesPerNode)) return;
    if (device >= occupants.devices.size()) occupants.devices.resize(device + 1);
    occupants.devices[device].push_back(OccupantOf(FactsOf(node, device), shape, instance));
  };
  for (const MigInstance& instance : instances) {
    add(static_cast<std::size_t>(instance.device), &instance);
  }
  if (!instances.empty()) return;
  for (; !devices.empty(); devices.DropFirst()) {
    add(static_cast<std::size_t>(devices.First()), nullptr);
  }
}

NodeLoad World::LoadOf(const std::string& name, const Node& node,
                       const NodeOccupants& occupants) const {
  NodeLoad load{
      .node = name, .cpu_milli = occupants.cpu_milli, .mem_mib = occupants.mem_mib, .devices = {}};
  load.devices.resize(std::max(node.devices.size(), occupants.devices.size()));
  for (std::size_t i = 0; i < occupants.devices.size(); ++i) {
    load.devices[i] = validator::LoadOf(FactsOf(node, i), occupants.devices[i]);
  }
  return load;
}

bool Job::HoldsAny() const {
  return std::any_of(tasks.begin(), tasks.end(),
                     [](const auto& entry) { return entry.second.Placed(); });
}

bool Job::Pinned() const {
  return std::any_of(tasks.begin(), tasks.end(),
                     [](const auto& entry) { return entry.second.phase != Phase::kPending; });
}

bool Job::BeingReleased(Time now) const {
  return releasing || (repair_deadline && *repair_deadline <= now);
}

const std::vector<TaskGroupSpec>& Job::Groups() const { return spec.Alternative(alternative); }

GroupCount Job::Count(const TaskGroupSpec& group) const {
  GroupCount count;
  std::int64_t touched = 0;
  const auto end = tasks.lower_bound({group.name, group.count});
  for (auto it = tasks.lower_bound({group.name, 0}); it != end; ++it) {
    const Task& task = it->second;
    if (task.phase != Phase::kPending) ++touched;
    if (task.phase == Phase::kEvicting) ++count.evicting;
    if (task.phase == Phase::kFinished) ++count.finished;
    if (task.Present()) ++count.present;
  }
  count.pending = Ending() ? 0 : group.count - touched;
  return count;
}

const TaskGroupSpec* Job::GroupBelowMinimum() const {
  for (const TaskGroupSpec& group : Groups()) {
    if (Count(group).present < MinAvailable(group, spec.kind)) return &group;
  }
  return nullptr;
}

bool Job::AllFinished() const {
  for (const TaskGroupSpec& group : Groups()) {
    if (Count(group).finished < group.count) return false;
  }
  return true;
}

std::int64_t Job::NextAttempt(const GroupAndIndex& task, std::size_t of_alternative) const {
  if (of_alternative != alternative) {
    std::int64_t last = first_attempt - 1;
    for (const auto& [name, any] : tasks) last = std::max(last, any.last_attempt);
    return last + 1;
  }
  const auto it = tasks.find(task);
  return it == tasks.end() ? first_attempt : std::max(first_attempt, it->second.last_attempt + 1);
}

void Job::SwitchTo(std::size_t to) {
  if (to == alternative) return;
  first_attempt = NextAttempt({}, to);
  alternative = to;
  // Tasks of the same name are other tasks now.
  for (auto& [name, task] : tasks) task.failures = 0;
}

void World::Apply(const Event& event) {
  std::visit([this](const auto& fact) { On(fact); }, event);
}

void World::On(const AddNode& event) {
  Node node{.cpu_milli = event.node.cpu_milli,
            .mem_mib = event.node.mem_mib,
            .devices = {},
            .foreign = {}};
  SetDevices(event.node.devices, node);
  nodes.insert_or_assign(event.node.name, std::move(node));
  // A task that was said to be on a device that the node does not have is not there.
  const auto there = static_cast<int>(event.node.devices.size());
  for (auto& [name, job] : jobs) {
    for (auto& [index, task] : job.tasks) {
      if (!task.Placed() || task.node != event.node.name) continue;
      DeviceMask rest = task.devices;
      while (!rest.empty() && rest.First() < there) rest.DropFirst();
      if (!rest.empty()) Requeue(task);
    }
  }
  SettleAll();
}

void World::On(const UpdateNode& event) {
  const auto it = nodes.find(event.node);
  if (it == nodes.end()) return;
  Node& node = it->second;
  node.cpu_milli = event.cpu_milli.value_or(node.cpu_milli);
  node.mem_mib = event.mem_mib.value_or(node.mem_mib);
  if (event.devices) {
    SetDevices(*event.devices, node);
    // Nobody uses a device that is not there.
    auto& foreign = node.foreign.device_milli;
    foreign.resize(std::min(foreign.size(), event.devices->size()));
  }
  if (event.foreign) node.foreign = *event.foreign;
}

void World::On(const RemoveNode& event) {
  // Also one that has never joined: tasks may have been adopted on it.
  nodes.erase(event.node);
  for (auto& [name, job] : jobs) {
    for (auto& [index, task] : job.tasks) {
      if (task.Placed() && task.node == event.node) Requeue(task);
    }
  }
  // What is kept of a node goes with it: when it is back, it is empty.
  std::erase_if(holds, [&](const auto& entry) { return entry.second.node == event.node; });
  SettleAll();
}

void World::On(const CordonNode& event) {
  const auto it = nodes.find(event.node);
  if (it != nodes.end()) it->second.cordoned = event.cordoned;
}

void World::On(const SubmitJob& event) {
  jobs.insert_or_assign(event.job.name, Job{.spec = event.job, .tasks = {}, .repair_deadline = {}});
  Settle(event.job.name);
}

void World::On(const UpdateJob& event) {
  Job* const job = FindJob(event.job);
  if (job == nullptr) return;
  if (event.queue) job->spec.queue = *event.queue;
  if (event.priority) job->spec.priority = *event.priority;
  if (event.expected_duration) job->spec.expected_duration = event.expected_duration;
  const std::size_t which = job->alternative;
  auto& groups = which == 0 ? job->spec.groups : job->spec.alternatives[which - 1];
  for (const GroupUpdate& update : event.groups) {
    for (TaskGroupSpec& group : groups) {
      if (group.name == update.group) Update(update, group);
    }
  }
  Settle(event.job);
}

void World::On(const CancelJob& event) {
  Job* const job = FindJob(event.job);
  if (job == nullptr) return;
  job->cancelled = true;
  Settle(event.job);
}

void World::On(const TaskStarted& event) {
  if (Task* const task = FindAttempt(event.task)) {
    // News that comes after the eviction has begun does not take it back.
    if (task->phase == Phase::kAssumed) task->phase = Phase::kRunning;
    return;
  }
  Job* const job = FindJob(event.task.job);
  if (job != nullptr && event.place) Adopt(*job, event.task, *event.place);
}

void World::Adopt(Job& job, const TaskKey& key, const TaskPlace& place) {
  if (job.Ending()) return;
  const std::size_t which = job.alternative;
  const TaskGroupSpec* const group = FindGroup(job.Groups(), key.group);
  if (group == nullptr || key.index < 0 || key.index >= group->count) return;
  const GroupAndIndex id{key.group, key.index};
  const auto known = job.tasks.find(id);
  if (known != job.tasks.end() && known->second.phase != Phase::kPending) return;
  if (key.attempt < job.NextAttempt(id, which)) return;
  Task& task = job.tasks[id];
  task.phase = Phase::kRunning;
  task.last_attempt = key.attempt;
  task.node = place.node;
  task.devices = place.devices;
  task.instances = place.instances;
  MarkStarted(job);
  Settle(key.job);
}

void World::On(const TaskFinished& event) {
  Task* const task = FindAttempt(event.task);
  if (task == nullptr) return;
  Requeue(*task);
  if (FindJob(event.task.job)->spec.kind == JobKind::kBatch) task->phase = Phase::kFinished;
  Settle(event.task.job);
}

void World::On(const TaskFailed& event) {
  Task* const task = FindAttempt(event.task);
  if (task == nullptr) return;
  // A process that is being stopped often reports a failure.
  if (task->phase != Phase::kEvicting) ++task->failures;
  Requeue(*task);
  Job& job = *FindJob(event.task.job);
  if (job.spec.max_attempts && task->failures >= *job.spec.max_attempts) job.failed = true;
  Settle(event.task.job);
}

void World::On(const TaskEvicted& event) {
  Task* const task = FindAttempt(event.task);
  if (task == nullptr) return;
  Requeue(*task);
  Settle(event.task.job);
}

void World::On(const HoldCapacity& event) { holds.insert_or_assign(event.name, event); }

void World::On(const DropHold& event) { holds.erase(event.name); }

void World::On(const Tick& event) { AdvanceTo(event.now); }

void World::AdvanceTo(Time time) {
  starting_job_groups.clear();
  now = std::max(now, time);
  for (auto& [name, job] : jobs) {
    for (auto& [index, task] : job.tasks) {
      if (task.phase == Phase::kAssumed && task.start_deadline <= now) Requeue(task);
    }
  }
  std::erase_if(holds, [this](const auto& entry) { return entry.second.until <= now; });
  SettleAll();
}

bool World::CanAssume(const Place& step) {
  const Job* const job = FindJob(step.task.job);
  if (job == nullptr || step.alternative < 0) return false;
  const auto which = static_cast<std::size_t>(step.alternative);
  if (which > job->spec.alternatives.size()) return false;
  if (job->Pinned() && which != job->alternative) return false;
  return FindGroup(job->spec.Alternative(which), step.task.group) != nullptr;
}

void World::Assume(const Place& step) {
  Job& job = jobs.at(step.task.job);
  job.SwitchTo(static_cast<std::size_t>(step.alternative));
  Task& task = job.tasks[{step.task.group, step.task.index}];
  task.phase = Phase::kAssumed;
  task.last_attempt = step.task.attempt;
  task.node = step.node;
  task.devices = step.devices;
  task.instances = step.grant.instances;
  task.start_deadline = now + options.start_timeout;
  MarkStarted(job);
  std::erase_if(holds, [&](const auto& entry) { return entry.second.owner == step.task.job; });
}

void World::BeginEviction(const Evict& step) {
  Task* const task = FindAttempt(step.task);
  if (task == nullptr) return;
  task->phase = Phase::kEvicting;
  task->start_deadline = kNoDeadline;
  if (step.cause == EvictCause::kGangNotWhole) FindJob(step.task.job)->releasing = true;
}

void World::Commit(const Plan& plan) {
  AdvanceTo(plan.now());
  for (const Step& step : plan.steps()) {
    if (const auto* place = std::get_if<Place>(&step)) {
      // A plan that was never checked may name anything; what makes no sense is left out.
      if (CanAssume(*place)) Assume(*place);
    }
    if (const auto* evict = std::get_if<Evict>(&step)) BeginEviction(*evict);
  }
  SettleAll();
}

void World::Abort(const Plan& plan) {
  for (const Step& step : plan.steps()) {
    const auto* place = std::get_if<Place>(&step);
    Task* const task = place == nullptr ? nullptr : FindAttempt(place->task);
    if (task != nullptr && task->phase == Phase::kAssumed) Requeue(*task);
  }
  SettleAll();
}

std::vector<std::string> World::Members(const std::string& job_group) const {
  std::vector<std::string> members;
  for (const auto& [name, job] : jobs) {
    if (job.spec.co_schedule && job.spec.co_schedule->group == job_group) members.push_back(name);
  }
  return members;
}

Job* World::FindJob(const std::string& name) {
  const auto it = jobs.find(name);
  return it == jobs.end() ? nullptr : &it->second;
}

Task* World::FindAttempt(const TaskKey& key) {
  Job* const job = FindJob(key.job);
  if (job == nullptr) return nullptr;
  const auto it = job->tasks.find({key.group, key.index});
  if (it == job->tasks.end() || !it->second.Placed()) return nullptr;
  return it->second.last_attempt == key.attempt ? &it->second : nullptr;
}

void World::MarkStarted(const Job& job) {
  if (!job.spec.co_schedule) return;
  const std::string& group = job.spec.co_schedule->group;
  if (started_job_groups.insert(group).second) starting_job_groups.insert(group);
}

bool World::StartTogether(const std::string& name, const Job& other) const {
  const auto it = jobs.find(name);
  if (it == jobs.end() || !it->second.spec.co_schedule || !other.spec.co_schedule) return false;
  const std::string& group = other.spec.co_schedule->group;
  if (it->second.spec.co_schedule->group != group) return false;
  return started_job_groups.count(group) == 0 || starting_job_groups.count(group) > 0;
}

void World::Settle(const std::string& name) {
  Job& job = jobs.at(name);
  const bool holds_any = job.HoldsAny();
  if (!holds_any) job.releasing = false;
  const bool finished = job.spec.kind == JobKind::kBatch && job.AllFinished();
  if (!holds_any && (job.Ending() || finished)) return Forget(name);
  if (!holds_any || job.Ending() || job.releasing || job.GroupBelowMinimum() == nullptr) {
    job.repair_deadline.reset();
  } else if (!job.repair_deadline) {
    job.repair_deadline = now + options.repair_timeout;
  }
}

void World::SettleAll() {
  std::vector<std::string> names;
  for (const auto& [name, job] : jobs) names.push_back(name);
  for (const std::string& name : names) Settle(name);
}

void World::Forget(const std::string& name) {
  const auto co_schedule = jobs.at(name).spec.co_schedule;
  jobs.erase(name);
  // The name of a job group is free when no job bears it.
  if (co_schedule && Members(co_schedule->group).empty()) {
    started_job_groups.erase(co_schedule->group);
  }
}

}  // namespace gpusched::validator
