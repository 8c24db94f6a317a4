#include "gpusched/sim/generator.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "gpusched/spec/task_kind.h"
#include "gpusched/spec/validate.h"
#include "status_matchers.h"

namespace gpusched {
namespace {

Workload Generate(std::int64_t pods, std::int64_t nodes, std::uint64_t seed = 1) {
  auto workload = GenerateWorkload({.pods = pods, .nodes = nodes, .seed = seed});
  EXPECT_TRUE(workload.ok()) << workload.status().ToString();
  return workload.ok() ? *std::move(workload) : Workload();
}

std::array<std::int64_t, kTaskKinds> PodsByKind(const Workload& workload) {
  std::array<std::int64_t, kTaskKinds> counts{};
  for (const Pod& pod : workload.pods) {
    ++counts[static_cast<std::size_t>(KindOf(pod.shape.gpu_count, pod.shape.gpu_milli))];
  }
  return counts;
}

using Machine = std::tuple<std::size_t, std::string, std::int64_t, std::int64_t>;  // devices, model

std::map<Machine, std::int64_t> NodesByMachine(const Workload& workload) {
  std::map<Machine, std::int64_t> counts;
  for (const NodeSpec& node : workload.nodes) {
    ++counts[{node.devices.size(), node.devices.front().model, node.cpu_milli, node.mem_mib}];
  }
  return counts;
}

TEST(GenerateWorkload, ThePublishedSizeHasThePublishedShares) {
  const Workload workload = Generate(8'152, 1'213);
  ASSERT_EQ(workload.pods.size(), 8'152U);
  ASSERT_EQ(workload.nodes.size(), 1'213U);
  std::size_t devices = 0;
  for (const NodeSpec& node : workload.nodes) devices += node.devices.size();
  EXPECT_EQ(devices, 6'212U);
  // No GPU 13.3 %; a part or one 85.7 %; two 0.2 %; four 0.2 %; eight 0.5 %.
  EXPECT_EQ(PodsByKind(workload),
            (std::array<std::int64_t, kTaskKinds>{1'088, 3'078, 3'911, 16, 15, 44, 0}));
  EXPECT_EQ((NodesByMachine(workload)[{8, "G2", 96'000, 393'216}]), 549);
}

// Largest remainder: every count is the exact share rounded up or down, and they add up.
TEST(GenerateWorkload, OtherSizesApportionExactly) {
  const auto pods_full = PodsByKind(Generate(8'152, 1));
  const auto nodes_full = NodesByMachine(Generate(1, 1'213));
  for (const std::int64_t size : {1, 2, 3, 13, 100, 800, 1'212, 1'214, 4'076, 20'000}) {
    const Workload workload = Generate(size, size);
    ASSERT_EQ(workload.pods.size(), static_cast<std::size_t>(size));
    ASSERT_EQ(workload.nodes.size(), static_cast<std::size_t>(size));
    const auto pods = PodsByKind(workload);
    for (std::size_t kind = 0; kind < kTaskKinds; ++kind) {
      EXPECT_LT(std::abs(pods[kind] * 8'152 - pods_full[kind] * size), 8'152)
          << size << " " << kind;
    }
    auto nodes = NodesByMachine(workload);
    for (const auto& [machine, count] : nodes_full) {
      EXPECT_LT(std::abs(nodes[machine] * 1'213 - count * size), 1'213) << size;
    }
  }
}

TEST(GenerateWorkload, EverythingIsValidAndUnique) {
  const Workload workload = Generate(2'000, 300);
  std::set<std::string> names;
  for (const NodeSpec& node : workload.nodes) {
    EXPECT_TRUE(IsOk(Validate(node, workload.catalog)));
    EXPECT_TRUE(names.insert(node.name).second);
  }
  names.clear();
  for (const Pod& pod : workload.pods) {
    EXPECT_TRUE(IsOk(Validate(pod.shape, workload.catalog)));
    EXPECT_TRUE(names.insert(pod.name).second);
  }
}

std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> Sizes(const Workload& workload) {
  std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> sizes;
  for (const Pod& pod : workload.pods) {
    sizes.emplace_back(pod.shape.cpu_milli, pod.shape.mem_mib, pod.shape.gpu_milli);
  }
  return sizes;
}

TEST(GenerateWorkload, TheSeedDrawsSizesAndNothingElse) {
  const Workload one = Generate(1'000, 50, 7);
  const Workload same = Generate(1'000, 50, 7);
  const Workload other = Generate(1'000, 50, 8);
  EXPECT_EQ(Sizes(one), Sizes(same));
  EXPECT_NE(Sizes(one), Sizes(other));
  EXPECT_EQ(PodsByKind(one), PodsByKind(other));
  EXPECT_EQ(NodesByMachine(one), NodesByMachine(other));
  EXPECT_EQ(one.pods[3].name, other.pods[3].name);
}

TEST(GenerateWorkload, BadOptionsAreNamed) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_TRUE(Refused(GenerateWorkload({.pods = 0}), kInvalid, {"pods is 0", "1 to 8000000"}));
  EXPECT_TRUE(Refused(GenerateWorkload({.pods = 10'000'001}), kInvalid, {"pods is 10000001"}));
  EXPECT_TRUE(Refused(GenerateWorkload({.nodes = -5}), kInvalid, {"nodes is -5", "1 to 1000000"}));
  EXPECT_TRUE(Refused(GenerateWorkload({.nodes = 1'000'001}), kInvalid, {"nodes is 1000001"}));
}

}  // namespace
}  // namespace gpusched
