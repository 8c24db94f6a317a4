#include "gpusched/policy/score/fgd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "floor_of.h"
#include "fragment_reference.h"
#include "status_matchers.h"

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

TEST_F(FgdTest, AnEmptyTargetIsRefused) {
  EXPECT_TRUE(Refused(Fgd::Build(TargetWorkload(), cluster.state),
                      absl::StatusCode::kInvalidArgument, {"policy fgd", "target is empty"}));
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

// A gradient in milli, as a mix of expected tasks brings it about on an idle node of eight devices.
// Rising: `count` of `total` ask no GPU and the rest one device; a task takes all eight devices,
// and their 8000 milli are no fragment any more. Falling: `count` ask all eight devices and the
// rest no GPU; a task takes one milli, and the other 7999 become a fragment to the former.
struct Mix {
  bool rises = false;
  std::int64_t count = 0;
  std::int64_t total = 1;

  long double gradient() const {
    const long double part =
        8'000.0L * static_cast<long double>(count) / static_cast<long double>(total);
    return rises ? part : 1 - part;
  }
};

// The mix whose gradient is nearest to `wanted` from above or below.
Mix NearestMix(long double wanted, bool above) {
  Mix best;
  long double least = 1;
  const bool rises = wanted > 0.5L;
  for (std::int64_t total = 8'300'000; total < 8'350'000; ++total) {
    const long double exact =
        (rises ? wanted : 1 - wanted) * static_cast<long double>(total) / 8'000;
    const auto count =
        static_cast<std::int64_t>(above == rises ? std::ceil(exact) : std::floor(exact));
    const Mix mix{.rises = rises, .count = count, .total = total};
    const long double miss = std::fabs(mix.gradient() - wanted);
    if (miss < least) {
      least = miss;
      best = mix;
    }
  }
  return best;
}

// Every committed threshold is within five nano-GPU of where the sigmoid passes its hundredth.
TEST(Fgd, ScoresChangeWhereTheSigmoidPassesAHundredth) {
  TestCluster cluster;
  const NodeId id = cluster.AddNode(GpuNode("n", 8));
  const Shape all = cluster.ShapeOf(WholeGpus(8, 1));
  const Shape one_milli = cluster.ShapeOf(ShareOf(1, 1));
  const auto score_with = [&](const Mix& mix) {
    const TargetShape without{
        .cpu_milli = 1, .models = {}, .count = mix.rises ? mix.count : mix.total - mix.count};
    const std::int64_t devices = mix.rises ? 1 : 8;
    const TargetShape with{.cpu_milli = 1,
                           .gpu_milli = 1'000,
                           .gpu_count = devices,
                           .models = {},
                           .count = mix.total - without.count};
    const auto target = TargetWorkload::FromShapes({without, with});
    EXPECT_TRUE(target.ok()) << target.status().ToString();
    return FgdFor(target.value_or(TargetWorkload()), cluster.state)(
        cluster.node(id), mix.rises ? all : one_milli,
        mix.rises ? DeviceMask(0xff) : DeviceMask(1));
  };
  for (int s = 1; s <= 99; ++s) {
    const long double passes = 1'000 * std::log(static_cast<long double>(s) / (100 - s));
    const Mix above = NearestMix(passes + 1e-6L, true);  // thresholds are rounded up to whole nano
    const Mix below = NearestMix(passes - 1e-7L, false);
    ASSERT_LT(above.gradient() - passes, 5e-6L);
    ASSERT_LT(passes - below.gradient(), 5e-6L);
    EXPECT_EQ(score_with(above), s);
    EXPECT_EQ(score_with(below), s - 1);
  }
}

}  // namespace
}  // namespace gpusched
