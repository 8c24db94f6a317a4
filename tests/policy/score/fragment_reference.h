// The fragment of a node by its definition: target task by target task, device by device.
#ifndef GPUSCHED_TESTS_POLICY_SCORE_FRAGMENT_REFERENCE_H_
#define GPUSCHED_TESTS_POLICY_SCORE_FRAGMENT_REFERENCE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cluster_fixture.h"
#include "gpusched/policy/score/target_workload.h"
#include "random_cluster.h"

namespace gpusched {

// What a node has left: by device, the milli and the model.
struct NodeLeft {
  std::int64_t cpu_milli = 0;
  std::vector<std::int64_t> device_milli;
  std::vector<std::string> device_model;
};

inline NodeLeft LeftOf(const ClusterState& state, const NodeView& node) {
  NodeLeft left{.cpu_milli = node.cpu_free(), .device_milli = {}, .device_model = {}};
  for (const DeviceFree& device : node.devices()) {
    left.device_milli.push_back(device.gpu_milli);
    left.device_model.emplace_back(state.models().name(device.model));
  }
  return left;
}

// After a task; one that asks no CPU counts as 100 milli, as everywhere in scores.
inline NodeLeft After(NodeLeft left, const Shape& shape, DeviceMask devices) {
  left.cpu_milli -= shape.cpu_milli == 0 ? 100 : shape.cpu_milli;
  for (std::size_t i = 0; i < left.device_milli.size(); ++i) {
    if (devices.contains(static_cast<int>(i))) left.device_milli[i] -= shape.gpu_milli;
  }
  return left;
}

// Σ over target tasks of count × the idle milli that the task could not use.
inline std::int64_t ReferenceFragment(const NodeLeft& node, const TargetWorkload& target) {
  std::int64_t fragment = 0;
  for (const TargetShape& task : target.shapes()) {
    const auto usable = [&](std::size_t i) {
      return node.device_milli[i] >= task.gpu_milli &&
             (task.models.empty() || std::find(task.models.begin(), task.models.end(),
                                               node.device_model[i]) != task.models.end());
    };
    std::int64_t idle = 0;
    std::int64_t idle_not_usable = 0;
    std::int64_t usable_devices = 0;
    for (std::size_t i = 0; i < node.device_milli.size(); ++i) {
      idle += node.device_milli[i];
      if (usable(i)) {
        ++usable_devices;
      } else {
        idle_not_usable += node.device_milli[i];
      }
    }
    const std::int64_t cpu = task.cpu_milli == 0 ? 100 : task.cpu_milli;
    const bool fits =
        task.gpu_count > 0 && cpu <= node.cpu_milli && usable_devices >= task.gpu_count;
    fragment += task.count * (fits ? idle_not_usable : idle);
  }
  return fragment;
}

// Shares, whole devices and tasks without GPU, some with models of their own.
inline TargetWorkload RandomTarget(Rng& rng) {
  static constexpr std::array<std::int64_t, 6> kCounts = {1, 1, 2, 3, 4, 8};
  std::vector<TargetShape> shapes;
  for (std::int64_t i = IntBelow(rng, 12); i > 0; --i) {
    TargetShape shape{
        .cpu_milli = IntBelow(rng, 9) * 700, .models = {}, .count = 1 + IntBelow(rng, 50)};
    if (!OneIn(rng, 5)) {
      shape.gpu_count = OneIn(rng, 2) ? 1 : Pick(rng, kCounts);
      shape.gpu_milli = shape.gpu_count == 1 && !OneIn(rng, 3) ? 1 + IntBelow(rng, 1'000) : 1'000;
      for (const std::string_view model : kTestModels) {
        if (OneIn(rng, 4)) shape.models.emplace_back(model);
      }
    }
    shapes.push_back(std::move(shape));
  }
  return TargetWorkload::FromShapes(std::move(shapes)).value_or(TargetWorkload());
}

}  // namespace gpusched

#endif  // GPUSCHED_TESTS_POLICY_SCORE_FRAGMENT_REFERENCE_H_
