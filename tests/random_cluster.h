// Random clusters and requests, small enough for slow references and odd enough to be worth it.
#ifndef GPUSCHED_TESTS_RANDOM_CLUSTER_H_
#define GPUSCHED_TESTS_RANDOM_CLUSTER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "cluster_fixture.h"
#include "gpusched/base/rng.h"
#include "gpusched/state/fit.h"

namespace gpusched {

inline std::int64_t IntBelow(Rng& rng, std::int64_t bound) {
  return static_cast<std::int64_t>(rng.Below(static_cast<std::uint64_t>(bound)));
}

inline bool OneIn(Rng& rng, std::int64_t chances) { return IntBelow(rng, chances) == 0; }

template <class T, std::size_t N>
const T& Pick(Rng& rng, const std::array<T, N>& items) {
  return items[static_cast<std::size_t>(rng.Below(N))];
}

inline constexpr std::array<std::string_view, 3> kTestModels = {"T4", "A10", "K80"};

// Devices mostly whole and of one model; some are out of service, halved, or of tracked memory.
inline NodeSpec RandomNode(Rng& rng, std::string name) {
  static constexpr std::array<int, 6> kCounts = {0, 1, 2, 2, 4, 8};
  static constexpr std::array<std::int64_t, 3> kMemory = {0, 8'000, 16'000};
  NodeSpec node{.name = std::move(name),
                .cpu_milli = IntBelow(rng, 9) * 1'000,
                .mem_mib = IntBelow(rng, 9) * 1'000,
                .devices = {}};
  const bool mixed = OneIn(rng, 4);
  const bool tracked = OneIn(rng, 3);
  std::string model(Pick(rng, kTestModels));
  const int count = Pick(rng, kCounts);
  for (int i = 0; i < count; ++i) {
    if (mixed) model = Pick(rng, kTestModels);
    DeviceSpec device{.model = model, .gpu_mem_mib = std::nullopt};
    if (OneIn(rng, 12)) device.gpu_milli = OneIn(rng, 2) ? 0 : 500;
    if (tracked) device.gpu_mem_mib = Pick(rng, kMemory);
    node.devices.push_back(std::move(device));
  }
  return node;
}

inline ShapeSpec RandomShape(Rng& rng) {
  static constexpr std::array<std::int64_t, 5> kShares = {1, 200, 300, 500, 999};
  static constexpr std::array<std::int64_t, 4> kCounts = {1, 1, 2, 4};
  ShapeSpec shape{
      .cpu_milli = IntBelow(rng, 4) * 1'000, .mem_mib = IntBelow(rng, 4) * 1'000, .models = {}};
  if (OneIn(rng, 6)) return shape;
  const bool share = OneIn(rng, 2);
  shape.gpu_count = share ? 1 : Pick(rng, kCounts);
  shape.gpu_milli = share ? Pick(rng, kShares) : 1'000;
  if (OneIn(rng, 4)) shape.gpu_mem_mib = IntBelow(rng, 10) * 1'000;
  if (OneIn(rng, 3)) {
    for (const std::string_view model : kTestModels) {
      if (OneIn(rng, 2)) shape.models.emplace_back(model);
    }
  }
  return shape;
}

// A random choice of devices on which the task fits, empty if there is none.
inline DeviceMask RandomFittingDevices(Rng& rng, const NodeView& node, const Shape& shape) {
  std::vector<int> fitting;
  for (DeviceMask rest = FittingDevices(node, shape); !rest.empty(); rest.DropFirst()) {
    fitting.push_back(rest.First());
  }
  rng.Shuffle(std::span<int>(fitting));
  DeviceMask chosen;
  for (std::int32_t i = 0; i < shape.gpu_count && i < std::ssize(fitting); ++i) {
    chosen.Insert(fitting[static_cast<std::size_t>(i)]);
  }
  return chosen;
}

// Adds up to `max_nodes` nodes with foreign use, removed nodes between them, and running tasks.
inline void FillRandomly(TestCluster& cluster, Rng& rng, std::int64_t max_nodes) {
  const std::int64_t nodes = 1 + IntBelow(rng, max_nodes);
  for (std::int64_t i = 0; i < nodes; ++i) {
    const NodeId id = cluster.AddNode(RandomNode(rng, "n" + std::to_string(i)));
    if (OneIn(rng, 6)) cluster.RemoveNode(id);
  }
  std::int64_t task = 0;
  const std::vector<std::uint32_t> order(cluster.state.nodes().order().begin(),
                                         cluster.state.nodes().order().end());
  for (const std::uint32_t slot : order) {
    const NodeId id = cluster.state.nodes().id(slot);
    for (std::int64_t tries = IntBelow(rng, 6); tries > 0; --tries) {
      const ShapeSpec spec = RandomShape(rng);
      const Shape shape = cluster.ShapeOf(spec);
      if (!Fits(cluster.node(id), shape)) continue;
      const DeviceMask devices = RandomFittingDevices(rng, cluster.node(id), shape);
      cluster.Place("t" + std::to_string(task++), spec, id, devices);
    }
    if (OneIn(rng, 6)) {
      ForeignUsage usage{
          .cpu_milli = IntBelow(rng, 9'000), .mem_mib = IntBelow(rng, 3'000), .device_milli = {}};
      const auto devices = static_cast<std::int64_t>(cluster.node(id).devices().size());
      for (std::int64_t i = IntBelow(rng, devices + 1); i > 0; --i) {
        usage.device_milli.push_back(IntBelow(rng, 4) * 400);
      }
      cluster.SetForeign(id, usage);
    }
  }
}

}  // namespace gpusched

#endif  // GPUSCHED_TESTS_RANDOM_CLUSTER_H_
