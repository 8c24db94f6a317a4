#include "gpusched/policy/score/fragmentation.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "fragment_reference.h"
#include "status_matchers.h"

namespace gpusched {
namespace {

TargetWorkload Target(std::vector<TargetShape> shapes) {
  auto target = TargetWorkload::FromShapes(std::move(shapes));
  EXPECT_TRUE(target.ok());
  return target.value_or(TargetWorkload());
}

// A node of two devices with 300 and 1000 milli left, and 2 cores.
class FragmentTableTest : public testing::Test {
 protected:
  FragmentTableTest() {
    id = cluster.AddNode(GpuNode("n", 2, "T4", 2'000));
    cluster.Place("t", ShareOf(700), id, DeviceMask::Of(0));
  }

  std::int64_t Fragment(std::vector<TargetShape> shapes) {
    const auto table = FragmentTable::Build(Target(std::move(shapes)), cluster.state);
    EXPECT_TRUE(table.ok()) << table.status().ToString();
    return table.ok() ? table->Fragment(cluster.node(id)) : -1;
  }

  TestCluster cluster;
  NodeId id;
};

TEST_F(FragmentTableTest, WorkedNumbers) {
  // A half device can't use the 300.
  EXPECT_EQ(
      Fragment({{.cpu_milli = 100, .gpu_milli = 500, .gpu_count = 1, .models = {}, .count = 1}}),
      300);
  // A 0.3 share can use all.
  EXPECT_EQ(
      Fragment({{.cpu_milli = 100, .gpu_milli = 300, .gpu_count = 1, .models = {}, .count = 1}}),
      0);
  // Two whole devices are not there: all that is idle is a fragment.
  EXPECT_EQ(
      Fragment({{.cpu_milli = 100, .gpu_milli = 1'000, .gpu_count = 2, .models = {}, .count = 1}}),
      1'300);
  // A task without GPU can use none of it.
  EXPECT_EQ(Fragment({{.cpu_milli = 100, .models = {}, .count = 1}}), 1'300);
  // Nor can one that lacks CPU or the model.
  EXPECT_EQ(
      Fragment({{.cpu_milli = 2'001, .gpu_milli = 300, .gpu_count = 1, .models = {}, .count = 1}}),
      1'300);
  EXPECT_EQ(
      Fragment({{.cpu_milli = 2'000, .gpu_milli = 300, .gpu_count = 1, .models = {}, .count = 1}}),
      0);
  EXPECT_EQ(Fragment({{.gpu_milli = 300, .gpu_count = 1, .models = {"A10"}, .count = 1}}), 1'300);
  // By weight: 3 × 300 + 1 × 1300 + 2 × 0.
  EXPECT_EQ(Fragment({{.gpu_milli = 500, .gpu_count = 1, .models = {}, .count = 3},
                      {.cpu_milli = 1, .models = {}, .count = 1},
                      {.gpu_milli = 100, .gpu_count = 1, .models = {"T4"}, .count = 2}}),
            2'200);
}

TEST_F(FragmentTableTest, AgainstNothingNothingIsAFragment) {
  EXPECT_EQ(Fragment({}), 0);
  EXPECT_EQ(FragmentTable().Fragment(cluster.node(id)), 0);
}

TEST_F(FragmentTableTest, RefusesTargetsThatAreNone) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_TRUE(Refused(
      FragmentTable::Build(
          Target({{.gpu_milli = 1, .gpu_count = 1, .models = {"T44"}, .count = 1}}), cluster.state),
      kInvalid, {"'T44'", "did you mean 'T4'"}));
  EXPECT_TRUE(Refused(
      FragmentTable::Build(Target({{.cpu_milli = -1, .models = {}, .count = 1}}), cluster.state),
      kInvalid, {"cpu_milli is -1"}));
}

TEST(FragmentTable, AgreesWithTheDefinition) {
  int mixed = 0;
  int fragments = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    Rng rng(seed);
    TestCluster cluster;
    if (OneIn(rng, 2)) FillRandomly(cluster, rng, 4);
    const TargetWorkload target = RandomTarget(rng);
    const auto table = FragmentTable::Build(target, cluster.state);
    ASSERT_TRUE(table.ok()) << table.status().ToString();
    // Models may also join after the table was built.
    if (cluster.state.node_count() == 0) FillRandomly(cluster, rng, 4);
    for (const std::uint32_t slot : cluster.state.nodes().order()) {
      const NodeView node = cluster.state.node(slot);
      const NodeLeft left = LeftOf(cluster.state, node);
      const std::int64_t before = ReferenceFragment(left, target);
      ASSERT_EQ(table->Fragment(node), before) << "seed " << seed << ", slot " << slot;
      mixed += std::has_single_bit(node.models()) || node.models() == 0 ? 0 : 1;
      fragments += before > 0 ? 1 : 0;
      for (int i = 0; i < 6; ++i) {
        const Shape shape = cluster.ShapeOf(RandomShape(rng));
        if (!Fits(node, shape)) continue;
        const DeviceMask devices = RandomFittingDevices(rng, node, shape);
        const NodeLeft after = After(left, shape, devices);
        std::int64_t idle = 0;
        for (const std::int64_t milli : after.device_milli) idle += milli;
        ASSERT_EQ(idle * table->total_weight() - table->UsableAfter(node, shape, devices),
                  ReferenceFragment(after, target))
            << "seed " << seed << ", slot " << slot;
      }
    }
  }
  EXPECT_GT(mixed, 100);
  EXPECT_GT(fragments, 500);
}

}  // namespace
}  // namespace gpusched
