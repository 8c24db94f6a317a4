#include "gpusched/policy/score/fgd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "floor_of.h"
#include "fragment_reference.h"

namespace gpusched {
namespace {

Fgd FgdFor(const TargetWorkload& target, ClusterState& state) {
  auto fgd = Fgd::Build(target, state);
  EXPECT_TRUE(fgd.ok()) << fgd.status().ToString();
  return *std::move(fgd);
}

// The expected task is half a device; two devices, with 1000 and 400 milli left.
class FgdTest : public testing::Test {
 protected:
  FgdTest() {
    id = cluster.AddNode(GpuNode("n", 2));
    cluster.Place("t", ShareOf(600), id, DeviceMask::Of(1));
  }

  Score ScoreOf(const ShapeSpec& shape, DeviceMask devices) {
    const auto target = TargetWorkload::FromShapes(
        {{.cpu_milli = 100, .gpu_milli = 500, .gpu_count = 1, .models = {}, .count = 7}});
    const Shape interned = cluster.ShapeOf(shape);
    return FgdFor(target.value_or(TargetWorkload()), cluster.state)(cluster.node(id), interned,
                                                                    devices);
  }

  TestCluster cluster;
  NodeId id;
};

TEST_F(FgdTest, WorkedNumbers) {
  // Before: the 400 are a fragment. Taking them ends it: sigmoid(0.4) = 0.5987.
  EXPECT_EQ(ScoreOf(ShareOf(400), DeviceMask::Of(1)), 59);
  // Leaves 600 and 400: the fragment stays 400; sigmoid(0) = 0.5.
  EXPECT_EQ(ScoreOf(ShareOf(400), DeviceMask::Of(0)), 50);
  // Leaves 400 and 400: from 400 to 800; sigmoid(−0.4) = 0.4013.
  EXPECT_EQ(ScoreOf(ShareOf(600), DeviceMask::Of(0)), 40);
  // Takes the whole device: the fragment stays 400.
  EXPECT_EQ(ScoreOf(WholeGpus(1), DeviceMask::Of(0)), 50);
  // Leaves 1 milli: sigmoid(−0.001) = 0.49975; down to 49.
  EXPECT_EQ(ScoreOf(ShareOf(999), DeviceMask::Of(0)), 49);
  // Takes the last CPU: then nothing fits and all 1400 are a fragment; sigmoid(−1) = 0.2689.
  EXPECT_EQ(ScoreOf(CpuTask(96'000), {}), 26);
}

TEST_F(FgdTest, AgainstAnEmptyTargetNothingChangesTheFragment) {
  const Shape shape = cluster.ShapeOf(ShareOf(400));
  const Fgd fgd = FgdFor(TargetWorkload(), cluster.state);
  EXPECT_EQ(fgd(cluster.node(id), shape, DeviceMask::Of(0)), 50) << "sigmoid(0) = 0.5";
}

TEST(Fgd, StaysInRangeOnTheLargestNode) {
  TestCluster cluster;
  const NodeId id = cluster.AddNode(GpuNode("n", 64));
  const auto whole = TargetWorkload::FromShapes({{.cpu_milli = 100,
                                                  .gpu_milli = 1'000,
                                                  .gpu_count = 64,
                                                  .models = {},
                                                  .count = TargetWorkload::kMaxWeight}});
  ASSERT_TRUE(whole.ok());
  const Shape share = cluster.ShapeOf(ShareOf(1));
  const Shape all = cluster.ShapeOf(WholeGpus(64));
  EXPECT_EQ(FgdFor(*whole, cluster.state)(cluster.node(id), share, DeviceMask::Of(0)), 0)
      << "63,999 milli become a fragment";
  EXPECT_EQ(FgdFor(*whole, cluster.state)(cluster.node(id), all, DeviceMask(~std::uint64_t{0})),
            50);
  const auto none = TargetWorkload::FromShapes(
      {{.cpu_milli = 1, .models = {}, .count = TargetWorkload::kMaxWeight}});
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(FgdFor(*none, cluster.state)(cluster.node(id), all, DeviceMask(~std::uint64_t{0})), 99)
      << "64,000 milli stop being one";
}

TEST(Fgd, AgreesWithTheSigmoidInDoubles) {
  std::array<int, 100> seen{};
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    Rng rng(seed);
    TestCluster cluster;
    FillRandomly(cluster, rng, 6);
    const TargetWorkload target = RandomTarget(rng);
    if (target.total() == 0) continue;
    const Fgd fgd = FgdFor(target, cluster.state);
    for (int i = 0; i < 6; ++i) {
      const Shape shape = cluster.ShapeOf(RandomShape(rng));
      for (const std::uint32_t slot : cluster.state.nodes().order()) {
        const NodeView node = cluster.state.node(slot);
        if (!Fits(node, shape)) continue;
        const DeviceMask devices = RandomFittingDevices(rng, node, shape);
        const NodeLeft left = LeftOf(cluster.state, node);
        const auto gradient =
            static_cast<double>(ReferenceFragment(left, target) -
                                ReferenceFragment(After(left, shape, devices), target)) /
            static_cast<double>(target.total());
        const double value = 100 / (1 + std::exp(-gradient / 1'000));
        const Score score = fgd(node, shape, devices);
        ASSERT_TRUE(IsFloorOf(score, std::min(value, 99.5))) << "gradient " << gradient;
        ++seen[static_cast<std::size_t>(score)];
      }
    }
  }
  EXPECT_GT(std::count_if(seen.begin(), seen.end(), [](int count) { return count > 0; }), 60)
      << "most scores must have occurred for this to say much";
}

// A score changes exactly where the sigmoid passes a hundredth: at s/100 for every s.
TEST(Fgd, EveryThresholdIsWhereTheSigmoidPutsIt) {
  TestCluster cluster;
  const NodeId id = cluster.AddNode(GpuNode("n", 8));
  const Shape take = cluster.ShapeOf(WholeGpus(8));
  const DeviceMask all(0xff);
  // Of `total` tasks, `count` ask no GPU: taking all 8 devices removes 8000 · count/total milli.
  constexpr std::int64_t kTotal = 1'000'000;
  for (int s = 51; s <= 99; ++s) {
    const double milli = 1'000 * std::log(s / (100.0 - s));
    const auto count = static_cast<std::int64_t>(std::ceil(milli * kTotal / 8'000));
    const auto score_with = [&](std::int64_t without_gpu) {
      const auto target =
          TargetWorkload::FromShapes({{.cpu_milli = 1, .models = {}, .count = without_gpu},
                                      {.cpu_milli = 1,
                                       .gpu_milli = 1'000,
                                       .gpu_count = 1,
                                       .models = {},
                                       .count = kTotal - without_gpu}});
      return FgdFor(target.value_or(TargetWorkload()), cluster.state)(cluster.node(id), take, all);
    };
    EXPECT_EQ(score_with(count), s);
    EXPECT_EQ(score_with(count - 1), s - 1);
  }
}

}  // namespace
}  // namespace gpusched
