#include "gpusched/state/state_hash.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpusched/base/digest.h"
#include "gpusched/base/rng.h"
#include "gpusched/state/cluster_state.h"

namespace gpusched {
namespace {

void AddAmounts(Digest& digest, const DeviceAmounts& amounts) {
  digest.AddNumber(amounts.gpu_milli).AddNumber(amounts.mem_mib);
}

void AddInstances(Digest& digest, const std::vector<MigInstance>& instances) {
  for (const MigInstance& instance : instances) {
    digest.AddNumber(instance.device).AddField(instance.profile).AddNumber(instance.start);
  }
}

// Nothing for a device that is shared by shares alone: the hashes of such clusters stay.
void AddSharing(Digest& digest, const DeviceSpec& device) {
  if (device.sharing != SharingMode::kFraction || device.replicas != 1 ||
      device.partition_on_demand || device.reserved_mem_mib != 0) {
    digest.AddField("sharing").AddNumber(static_cast<std::int64_t>(device.sharing));
    digest.AddNumber(device.replicas).AddNumber(device.partition_on_demand ? 1 : 0);
    digest.AddNumber(device.reserved_mem_mib);
  }
  for (const MigPartition& partition : device.partitions) {
    digest.AddField(partition.profile).AddNumber(partition.start);
  }
}

std::uint64_t NodeHash(const ClusterState& state, std::uint32_t slot) {
  const NodeTable& nodes = state.nodes();
  Digest digest;
  digest.AddField("node").AddField(state.node_name(nodes.id(slot)));
  for (const Resources* row : {&nodes.capacity(slot), &nodes.held(slot), &nodes.foreign(slot)}) {
    for (const std::int64_t amount : row->amount) digest.AddNumber(amount);
  }
  digest.AddNumber(nodes.cordoned(slot) ? 1 : 0);
  // Lost devices are told by the tasks that are on them.
  const auto ledgers = nodes.devices(slot).first(nodes.declared_devices(slot));
  const auto free = nodes.device_free(slot);
  for (std::size_t i = 0; i < ledgers.size(); ++i) {
    digest.AddField(state.models().name(free[i].model));
    digest.AddNumber(ledgers[i].mem_tracked ? 1 : 0);
    AddAmounts(digest, ledgers[i].capacity);
    AddAmounts(digest, ledgers[i].held);
    AddAmounts(digest, ledgers[i].foreign);
    AddSharing(digest, SpecOf(ledgers[i], nodes.mig().geometry(free[i].model), ""));
  }
  return Mix64(digest.value());
}

// A set of models is hashed as a sum over names: their bits depend on who was first.
std::int64_t ModelsHash(const ClusterState& state, ModelMask models) {
  if (models == kAnyModel) return 0;
  std::uint64_t sum = 1;
  for (std::uint32_t i = 0; i < state.models().size(); ++i) {
    if (((models >> i) & 1) == 0) continue;
    sum += Mix64(Digest().AddField(state.models().name(i)).value());
  }
  return static_cast<std::int64_t>(sum);
}

void AddShape(Digest& digest, const ClusterState& state, const Shape& shape) {
  digest.AddNumber(shape.cpu_milli).AddNumber(shape.mem_mib).AddNumber(shape.gpu_mem_mib);
  digest.AddNumber(shape.gpu_milli).AddNumber(shape.gpu_count);
  digest.AddNumber(ModelsHash(state, shape.models));
  if (shape.asks_profile()) digest.AddField(state.nodes().mig().profile_name(shape.profile));
  if (shape.sharing != 0) digest.AddNumber(shape.sharing);
  if (shape.distinct_devices) digest.AddField("distinct");
}

std::uint64_t TaskHash(const ClusterState& state, std::uint32_t slot) {
  const TaskRow& row = state.tasks()[slot];
  Digest digest;
  digest.AddField("task").AddField(state.task_name(state.tasks().id(slot)));
  AddShape(digest, state, state.shapes()[row.shape]);
  digest.AddField(state.node_name(row.placement.node));
  digest.AddNumber(static_cast<std::int64_t>(row.placement.devices.bits()));
  AddInstances(digest, row.placement.instances);
  return Mix64(digest.value());
}

void AddOptional(Digest& digest, const std::optional<std::int64_t>& number) {
  digest.AddNumber(number ? 1 : 0).AddNumber(number.value_or(0));
}

void AddLabels(Digest& digest, const std::vector<Label>& labels) {
  digest.AddNumber(static_cast<std::int64_t>(labels.size()));
  for (const Label& label : labels) digest.AddField(label.key).AddField(label.value);
}

void AddGroupSpec(Digest& digest, const TaskGroupSpec& group) {
  const ShapeSpec& shape = group.shape;
  digest.AddField(group.name).AddNumber(group.count);
  AddOptional(digest, group.min_available);
  AddOptional(digest, group.max_tasks_per_node);
  digest.AddNumber(shape.cpu_milli).AddNumber(shape.mem_mib).AddNumber(shape.gpu_count);
  digest.AddNumber(shape.gpu_milli).AddNumber(shape.gpu_mem_mib);
  std::uint64_t models = 0;  // in any order
  for (const std::string& model : shape.models) {
    models += Mix64(Digest().AddField(model).value());
  }
  digest.AddNumber(static_cast<std::int64_t>(models));
  if (!shape.mig_profile.empty()) digest.AddField(shape.mig_profile);
  std::uint64_t modes = 0;  // in any order
  for (const SharingMode mode : shape.sharing) modes |= 1U << static_cast<unsigned>(mode);
  if (modes != 0) digest.AddNumber(static_cast<std::int64_t>(modes));
  if (shape.distinct_devices) digest.AddField("distinct");
}

void AddJobSpec(Digest& digest, const JobSpec& job) {
  digest.AddField(job.name).AddNumber(static_cast<std::int64_t>(job.kind));
  digest.AddField(job.queue).AddNumber(job.priority);
  AddOptional(digest, job.expected_duration);
  AddOptional(digest, job.max_attempts);
  AddLabels(digest, job.labels);
  AddLabels(digest, job.affinity);
  AddLabels(digest, job.anti_affinity);
  digest.AddNumber(job.homogeneous ? 1 : 0);
  digest.AddField(job.co_schedule ? job.co_schedule->group : "");
  digest.AddNumber(job.co_schedule ? job.co_schedule->size : 0);
  for (std::size_t i = 0; i <= job.alternatives.size(); ++i) {
    digest.AddNumber(static_cast<std::int64_t>(job.Alternative(i).size()));
    for (const TaskGroupSpec& group : job.Alternative(i)) AddGroupSpec(digest, group);
  }
}

// Where placed tasks are is told by their rows in the ledger.
std::uint64_t JobHash(const JobRow& job) {
  Digest digest;
  digest.AddField("job");
  AddJobSpec(digest, job.spec);
  digest.AddNumber(job.submit_time).AddNumber(job.alternative).AddNumber(job.first_attempt);
  digest.AddNumber(job.header.repair_deadline);
  digest.AddNumber(job.header.ending ? 1 + static_cast<std::int64_t>(*job.header.ending) : 0);
  digest.AddNumber(job.header.releasing ? 1 : 0);
  digest.AddNumber(job.header.started_together ? 1 : 0);
  for (const GroupState& group : job.groups) {
    digest.AddNumber(static_cast<std::int64_t>(group.tasks.size()));
    for (const TaskState& task : group.tasks) {
      digest.AddNumber(static_cast<std::int64_t>(task.phase)).AddNumber(task.attempt);
      digest.AddNumber(task.failures).AddNumber(task.deadline);
    }
  }
  std::uint64_t parked = 0;  // in any order
  for (const ParkedTask& task : job.parked) {
    Digest where;
    where.AddNumber(task.group).AddNumber(task.index).AddField(task.node);
    where.AddNumber(static_cast<std::int64_t>(task.devices.bits()));
    AddInstances(where, task.instances);
    parked += Mix64(where.value());
  }
  digest.AddNumber(static_cast<std::int64_t>(parked));
  return Mix64(digest.value());
}

std::uint64_t HoldHash(const ClusterState& state, const Hold& hold) {
  Digest digest;
  digest.AddField("hold").AddField(hold.name).AddField(hold.owner).AddNumber(hold.until);
  AddShape(digest, state, state.shapes()[hold.shape]);
  digest.AddField(state.node_name(hold.placement.node));
  digest.AddNumber(static_cast<std::int64_t>(hold.placement.devices.bits()));
  AddInstances(digest, hold.placement.instances);
  return Mix64(digest.value());
}

}  // namespace

std::uint64_t StateHash(const ClusterState& state) {
  // A sum does not depend on the order of its terms, so neither does the hash.
  std::uint64_t sum = 0;
  for (const std::uint32_t slot : state.nodes().order()) sum += NodeHash(state, slot);
  for (std::uint32_t slot = 0; slot < state.tasks().slots(); ++slot) {
    if (state.tasks().live(slot)) sum += TaskHash(state, slot);
  }
  for (std::uint32_t slot = 0; slot < state.jobs().slots(); ++slot) {
    if (state.jobs().live(slot)) sum += JobHash(state.jobs()[slot]);
  }
  for (const Hold& hold : state.holds().list()) sum += HoldHash(state, hold);
  return sum + Mix64(static_cast<std::uint64_t>(state.now()));
}

}  // namespace gpusched
