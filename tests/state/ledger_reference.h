// LedgerReference: the ledger as a slow, obvious model: maps by name, everything recounted.
#ifndef GPUSCHED_TESTS_STATE_LEDGER_REFERENCE_H_
#define GPUSCHED_TESTS_STATE_LEDGER_REFERENCE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cluster_fixture.h"
#include "gpusched/base/rng.h"
#include "gpusched/spec/task_kind.h"
#include "gpusched/state/audit.h"

namespace gpusched {

// Copyable, so that a mark to roll back to is a copy.
class LedgerReference {
 public:
  struct Node {
    NodeSpec spec;
    ForeignUsage foreign;
    NodeId id;
  };
  struct Task {
    ShapeSpec shape;
    std::string node;
    DeviceMask devices;
    TaskId id;
  };

  std::vector<std::string> order;
  std::map<std::string, Node> nodes;
  std::map<std::string, Task> tasks;

  std::int64_t CpuUsed(const std::string& node) const {
    std::int64_t sum = 0;
    for (const auto& [name, task] : tasks) sum += task.node == node ? task.shape.cpu_milli : 0;
    return sum;
  }
  std::int64_t MemUsed(const std::string& node) const {
    std::int64_t sum = 0;
    for (const auto& [name, task] : tasks) sum += task.node == node ? task.shape.mem_mib : 0;
    return sum;
  }
  std::int64_t MilliUsed(const std::string& node, std::size_t device) const {
    std::int64_t sum = 0;
    for (const auto& [name, task] : tasks) sum += On(task, node, device) ? task.shape.gpu_milli : 0;
    return sum;
  }
  // Also where it is not tracked.
  std::int64_t DeviceMemUsed(const std::string& node, std::size_t device) const {
    std::int64_t sum = 0;
    for (const auto& [name, task] : tasks) {
      sum += On(task, node, device) ? task.shape.gpu_mem_mib : 0;
    }
    return sum;
  }

  std::int64_t CpuFree(const std::string& name) const {
    const Node& node = nodes.at(name);
    return Left(node.spec.cpu_milli, CpuUsed(name), node.foreign.cpu_milli);
  }
  std::int64_t MemFree(const std::string& name) const {
    const Node& node = nodes.at(name);
    return Left(node.spec.mem_mib, MemUsed(name), node.foreign.mem_mib);
  }
  std::int64_t MilliFree(const std::string& name, std::size_t device) const {
    const Node& node = nodes.at(name);
    return Left(node.spec.devices[device].gpu_milli, MilliUsed(name, device),
                device < node.foreign.device_milli.size() ? node.foreign.device_milli[device] : 0);
  }
  // None: not tracked.
  std::optional<std::int64_t> DeviceMemFree(const std::string& name, std::size_t device) const {
    const auto capacity = nodes.at(name).spec.devices[device].gpu_mem_mib;
    if (!capacity) return std::nullopt;
    return Left(*capacity, DeviceMemUsed(name, device), 0);
  }

  bool FitsOn(const ShapeSpec& shape, const std::string& name, DeviceMask devices) const {
    if (shape.cpu_milli > CpuFree(name) || shape.mem_mib > MemFree(name)) return false;
    if (devices.size() != shape.gpu_count) return false;
    const auto& specs = nodes.at(name).spec.devices;
    for (std::size_t i = 0; i < 64; ++i) {
      if (!devices.contains(static_cast<int>(i))) continue;
      if (i >= specs.size() || shape.gpu_milli > MilliFree(name, i)) return false;
      const auto memory = DeviceMemFree(name, i);
      if (memory && shape.gpu_mem_mib > *memory) return false;
      if (!shape.models.empty() && std::find(shape.models.begin(), shape.models.end(),
                                             specs[i].model) == shape.models.end()) {
        return false;
      }
    }
    return true;
  }

  bool HasTasks(const std::string& node) const {
    return std::any_of(tasks.begin(), tasks.end(),
                       [&](const auto& task) { return task.second.node == node; });
  }

 private:
  static bool On(const Task& task, const std::string& node, std::size_t device) {
    return task.node == node && task.devices.contains(static_cast<int>(device));
  }
  static std::int64_t Left(std::int64_t capacity, std::int64_t used, std::int64_t foreign) {
    return std::max<std::int64_t>(0, capacity - used - foreign);
  }
};

// Every row of the state says what the reference says.
inline void ExpectSame(const ClusterState& state, const LedgerReference& reference) {
  ASSERT_EQ(state.node_count(), reference.order.size());
  ASSERT_EQ(state.tasks().size(), reference.tasks.size());
  Resources total;
  for (std::size_t position = 0; position < reference.order.size(); ++position) {
    const std::string& name = reference.order[position];
    const LedgerReference::Node& expected = reference.nodes.at(name);
    SCOPED_TRACE(name);
    ASSERT_EQ(state.FindNode(name), expected.id);
    ASSERT_EQ(state.nodes().order()[position], expected.id.slot);
    ASSERT_EQ(state.node_name(expected.id), name);
    const std::uint32_t slot = expected.id.slot;
    Resources capacity, used, foreign, free;
    capacity[ResourceKind::kCpuMilli] = expected.spec.cpu_milli;
    capacity[ResourceKind::kMemMib] = expected.spec.mem_mib;
    used[ResourceKind::kCpuMilli] = reference.CpuUsed(name);
    used[ResourceKind::kMemMib] = reference.MemUsed(name);
    foreign[ResourceKind::kCpuMilli] = expected.foreign.cpu_milli;
    foreign[ResourceKind::kMemMib] = expected.foreign.mem_mib;
    for (const std::int64_t milli : expected.foreign.device_milli) {
      foreign[ResourceKind::kGpuMilli] += milli;
    }
    free[ResourceKind::kCpuMilli] = reference.CpuFree(name);
    free[ResourceKind::kMemMib] = reference.MemFree(name);
    ASSERT_EQ(state.nodes().devices(slot).size(), expected.spec.devices.size());
    std::uint32_t whole_free = 0;
    for (std::size_t i = 0; i < expected.spec.devices.size(); ++i) {
      const DeviceSpec& spec = expected.spec.devices[i];
      const DeviceLedger& ledger = state.nodes().devices(slot)[i];
      const DeviceFree& device = state.nodes().device_free(slot)[i];
      ASSERT_EQ(state.models().name(device.model), spec.model);
      ASSERT_EQ(ledger.mem_tracked, spec.gpu_mem_mib.has_value());
      ASSERT_EQ(ledger.used.gpu_milli, reference.MilliUsed(name, i));
      ASSERT_EQ(ledger.used.mem_mib, reference.DeviceMemUsed(name, i));
      ASSERT_EQ(device.gpu_milli, reference.MilliFree(name, i));
      const auto memory = reference.DeviceMemFree(name, i);
      ASSERT_EQ(device.mem_mib, memory.value_or(DeviceFree::kUntracked));
      capacity[ResourceKind::kGpuMilli] += spec.gpu_milli;
      capacity[ResourceKind::kGpuMemMib] += spec.gpu_mem_mib.value_or(0);
      used[ResourceKind::kGpuMilli] += ledger.used.gpu_milli;
      used[ResourceKind::kGpuMemMib] += ledger.used.mem_mib;
      free[ResourceKind::kGpuMilli] += device.gpu_milli;
      free[ResourceKind::kGpuMemMib] += memory.value_or(0);
      whole_free += device.gpu_milli == 1000 ? 1U : 0U;
    }
    ASSERT_EQ(state.nodes().capacity(slot), capacity);
    ASSERT_EQ(state.nodes().used(slot), used);
    ASSERT_EQ(state.nodes().foreign(slot), foreign);
    ASSERT_EQ(state.nodes().free(slot), free);
    ASSERT_EQ(state.nodes().whole_free(slot), whole_free);
    for (std::size_t i = 0; i < kResourceKinds; ++i) total.amount[i] += capacity.amount[i];
  }
  ASSERT_EQ(state.capacity(), total);
  for (const auto& [name, task] : reference.tasks) {
    ASSERT_EQ(state.FindTask(name), task.id);
    ASSERT_EQ(state.task_name(task.id), name);
    const TaskRow& row = state.tasks()[task.id.slot];
    ASSERT_EQ(row.placement.node, reference.nodes.at(task.node).id);
    ASSERT_EQ(row.placement.devices, task.devices);
  }
  const absl::Status audit = Audit(state);
  ASSERT_TRUE(audit.ok()) << audit.ToString();
}

// Builds the same content by another way: nodes and tasks in another order.
inline std::uint64_t HashOfRebuilt(const LedgerReference& reference, Rng& rng) {
  TestCluster cluster;
  std::vector<std::string> names = reference.order;
  rng.Shuffle(std::span<std::string>(names));
  for (const std::string& name : names) cluster.AddNode(reference.nodes.at(name).spec);
  std::vector<std::string> tasks;
  for (const auto& [name, task] : reference.tasks) tasks.push_back(name);
  rng.Shuffle(std::span<std::string>(tasks));
  for (const std::string& name : tasks) {
    const LedgerReference::Task& task = reference.tasks.at(name);
    cluster.Place(name, task.shape, *cluster.state.FindNode(task.node), task.devices);
  }
  for (const std::string& name : names) {
    cluster.SetForeign(*cluster.state.FindNode(name), reference.nodes.at(name).foreign);
  }
  return cluster.hash();
}

}  // namespace gpusched

#endif  // GPUSCHED_TESTS_STATE_LEDGER_REFERENCE_H_
