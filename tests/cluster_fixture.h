// TestCluster: a small cluster to write tests against, built through the public interface only.
#ifndef GPUSCHED_TESTS_CLUSTER_FIXTURE_H_
#define GPUSCHED_TESTS_CLUSTER_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "gpusched/decision/placement.h"
#include "gpusched/spec/node_spec.h"
#include "gpusched/spec/shape_spec.h"
#include "gpusched/state/cluster_state.h"
#include "gpusched/state/state_hash.h"
#include "gpusched/state/transaction.h"

namespace gpusched {

inline DeviceMask Devices(std::initializer_list<int> indices) {
  DeviceMask mask;
  for (const int index : indices) mask.Insert(index);
  return mask;
}

// A node with `gpus` whole devices of one model, memory untracked, and room enough beside them.
inline NodeSpec GpuNode(std::string name, int gpus, const std::string& model = "T4",
                        std::int64_t cpu_milli = 96'000) {
  NodeSpec node{.name = std::move(name), .cpu_milli = cpu_milli, .mem_mib = 393'216, .devices = {}};
  node.devices.assign(static_cast<std::size_t>(gpus),
                      DeviceSpec{.model = model, .gpu_mem_mib = std::nullopt});
  return node;
}

inline ShapeSpec CpuTask(std::int64_t cpu_milli, std::int64_t mem_mib = 0) {
  return {.cpu_milli = cpu_milli, .mem_mib = mem_mib, .models = {}};
}

// A part of one device.
inline ShapeSpec ShareOf(std::int64_t gpu_milli, std::int64_t cpu_milli = 0) {
  return {.cpu_milli = cpu_milli, .gpu_count = 1, .gpu_milli = gpu_milli, .models = {}};
}

inline ShapeSpec WholeGpus(std::int64_t count, std::int64_t cpu_milli = 0) {
  return {.cpu_milli = cpu_milli, .gpu_count = count, .gpu_milli = 1000, .models = {}};
}

// Each call is a transaction of its own that must succeed.
class TestCluster {
 public:
  explicit TestCluster(ModelCatalog catalog = {}) : state(std::move(catalog)) {}

  NodeId AddNode(const NodeSpec& spec) {
    Transaction transaction(state);
    return Kept(transaction, transaction.AddNode(spec));
  }

  void RemoveNode(NodeId node) {
    Transaction transaction(state);
    Keep(transaction, transaction.RemoveNode(node));
  }

  void SetForeign(NodeId node, const ForeignUsage& usage) {
    Transaction transaction(state);
    Keep(transaction, transaction.SetForeign(node, usage));
  }

  ShapeId Intern(const ShapeSpec& spec) {
    const absl::StatusOr<ShapeId> shape = state.Intern(spec);
    EXPECT_TRUE(shape.ok()) << shape.status().ToString();
    return shape.value_or(ShapeId());
  }

  // The interned form of a request.
  Shape ShapeOf(const ShapeSpec& spec) { return state.shapes()[Intern(spec)]; }

  TaskId Place(std::string_view task, const ShapeSpec& spec, NodeId node, DeviceMask devices = {}) {
    const ShapeId shape = Intern(spec);
    Transaction transaction(state);
    return Kept(transaction, transaction.Place(task, shape, {.node = node, .devices = devices}));
  }

  void Release(TaskId task) {
    Transaction transaction(state);
    Keep(transaction, transaction.Release(task));
  }

  NodeView node(NodeId id) const { return state.node(id.slot); }
  std::uint64_t hash() const { return StateHash(state); }

  ClusterState state;

 private:
  static void Keep(Transaction& transaction, const absl::Status& status) {
    EXPECT_TRUE(status.ok()) << status.ToString();
    transaction.Commit();
  }

  template <class T>
  static T Kept(Transaction& transaction, const absl::StatusOr<T>& result) {
    Keep(transaction, result.status());
    return result.value_or(T());
  }
};

}  // namespace gpusched

#endif  // GPUSCHED_TESTS_CLUSTER_FIXTURE_H_
