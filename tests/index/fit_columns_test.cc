#include "gpusched/index/fit_columns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "cluster_fixture.h"
#include "gpusched/state/fit.h"
#include "random_history.h"
#include "status_matchers.h"

namespace gpusched {
namespace {

using Path = FitColumns::Path;

std::vector<std::uint32_t> Slots(FitColumns& columns, const ClusterState& state,
                                 const Shape& shape) {
  std::vector<std::uint32_t> slots;
  columns.ForEachFitting(state, shape, [&](std::uint32_t slot) { slots.push_back(slot); });
  return slots;
}

std::vector<std::uint32_t> SlotsByFits(const ClusterState& state, const Shape& shape) {
  std::vector<std::uint32_t> slots;
  for (const std::uint32_t slot : state.nodes().order()) {
    if (Fits(state.node(slot), shape)) slots.push_back(slot);
  }
  return slots;
}

// Both paths against Fits.
class FitColumnsTest : public testing::TestWithParam<Path> {
 protected:
  std::vector<std::uint32_t> Ask(const Shape& shape) {
    return Slots(columns_, cluster_.state, shape);
  }

  TestCluster cluster_;
  FitColumns columns_{GetParam()};
};

using List = std::vector<std::uint32_t>;

TEST_P(FitColumnsTest, ShareNeedsOneDeviceWithRoom) {
  const NodeId a = cluster_.AddNode(GpuNode("a", 2));
  const NodeId b = cluster_.AddNode(GpuNode("b", 1));
  cluster_.AddNode(GpuNode("c", 0));
  cluster_.Place("t0", ShareOf(600), a, Devices({0}));
  cluster_.Place("t1", ShareOf(600), a, Devices({1}));
  EXPECT_EQ(Ask(cluster_.ShapeOf(ShareOf(400))), (List{a.slot, b.slot}));
  EXPECT_EQ(Ask(cluster_.ShapeOf(ShareOf(401))), (List{b.slot})) << "parts do not add up";
  EXPECT_EQ(Ask(cluster_.ShapeOf(WholeGpus(1))), (List{b.slot}));
  EXPECT_EQ(Ask(cluster_.ShapeOf(WholeGpus(2))), List());
  EXPECT_EQ(Ask(cluster_.ShapeOf(CpuTask(96'000))).size(), 3U);
}

TEST_P(FitColumnsTest, AnswersInNodeOrderAfterNodesCameAndWent) {
  const NodeId a = cluster_.AddNode(GpuNode("a", 1));
  const NodeId b = cluster_.AddNode(GpuNode("b", 1));
  const Shape shape = cluster_.ShapeOf(ShareOf(1));
  EXPECT_EQ(Ask(shape), (List{a.slot, b.slot}));
  cluster_.RemoveNode(a);
  EXPECT_EQ(Ask(shape), (List{b.slot}));
  const NodeId c = cluster_.AddNode(GpuNode("c", 1));
  EXPECT_EQ(c.slot, a.slot) << "or this test shows nothing";
  EXPECT_EQ(Ask(shape), (List{b.slot, c.slot}));
}

TEST_P(FitColumnsTest, NodeThatComesBackStandsWhereItStood) {
  const NodeId a = cluster_.AddNode(GpuNode("a", 1));
  const NodeId b = cluster_.AddNode(GpuNode("b", 1));
  const Shape shape = cluster_.ShapeOf(ShareOf(1));
  Transaction transaction(cluster_.state);
  ASSERT_TRUE(IsOk(transaction.RemoveNode(a)));
  EXPECT_EQ(Ask(shape), (List{b.slot}));
  transaction.RollbackTo(0);
  EXPECT_EQ(Ask(shape), (List{a.slot, b.slot}));
  transaction.Commit();
}

TEST_P(FitColumnsTest, PlacesOfNodesThatWentAreGivenUp) {
  const Shape shape = cluster_.ShapeOf(ShareOf(1));
  std::vector<NodeId> nodes;
  std::uint64_t mostly = 0;
  for (int i = 0; i < 2'000; ++i) {
    nodes.push_back(cluster_.AddNode(GpuNode("n" + std::to_string(i), 1)));
    if (i >= 10) cluster_.RemoveNode(nodes[static_cast<std::size_t>(i) - 10]);
    ASSERT_EQ(Ask(shape), SlotsByFits(cluster_.state, shape)) << i;
    mostly = std::max<std::uint64_t>(mostly, columns_.words());
  }
  EXPECT_LE(mostly, 2U);
}

TEST_P(FitColumnsTest, WhoComesTooLateForTheChangeLogLooksAtAllNodes) {
  const NodeId a = cluster_.AddNode(GpuNode("a", 1));
  const NodeId b = cluster_.AddNode(GpuNode("b", 1));
  const Shape shape = cluster_.ShapeOf(ShareOf(1));
  EXPECT_EQ(Ask(shape), (List{a.slot, b.slot}));
  const ChangeLog& log = cluster_.state.nodes().changes();
  const ChangeLog::Position seen = log.end();
  Transaction transaction(cluster_.state);
  ASSERT_TRUE(IsOk(transaction.SetCordoned(a, true)));
  for (int i = 0; log.Reaches(seen); ++i) {
    ASSERT_TRUE(IsOk(transaction.SetForeign(b, {.cpu_milli = i % 2, .device_milli = {}})));
  }
  transaction.Commit();
  EXPECT_EQ(Ask(shape), (List{b.slot}));
}

TEST_P(FitColumnsTest, AmountsBeyond32Bits) {
  const std::int64_t limit = INT32_MAX;
  for (const std::int64_t cpu : {limit - 1, limit, limit + 1, kMaxQuantity}) {
    cluster_.AddNode(GpuNode("n" + std::to_string(cpu), 0, "T4", cpu));
  }
  for (const std::int64_t cpu : {limit - 1, limit, limit + 1, limit + 2, kMaxQuantity}) {
    const Shape shape = cluster_.ShapeOf(CpuTask(cpu));
    EXPECT_EQ(Ask(shape), SlotsByFits(cluster_.state, shape)) << cpu;
  }
}

TEST_P(FitColumnsTest, FollowsAnotherStateAndOneThatMoved) {
  cluster_.AddNode(GpuNode("a", 1));
  const Shape shape = cluster_.ShapeOf(ShareOf(1));
  EXPECT_EQ(Ask(shape).size(), 1U);
  TestCluster other;
  other.AddNode(GpuNode("a", 1));
  other.AddNode(GpuNode("b", 1));
  EXPECT_EQ(Slots(columns_, other.state, shape).size(), 2U);
  EXPECT_EQ(Ask(shape).size(), 1U);
  // With as many changes.
  TestCluster without;
  without.AddNode(GpuNode("a", 0));
  EXPECT_EQ(Slots(columns_, without.state, shape), List());
  EXPECT_EQ(Ask(shape).size(), 1U);
  const ClusterState moved = std::move(cluster_.state);
  EXPECT_EQ(Slots(columns_, moved, shape).size(), 1U);
  EXPECT_EQ(Slots(columns_, ClusterState(), shape), List());
  EXPECT_GT(columns_.bytes(), 0U);
}

// Each amount about the bound, at each position of a word.
TEST_P(FitColumnsTest, EveryPositionIsCompared) {
  for (std::int64_t i = 0; i < 130; ++i) {
    cluster_.AddNode(GpuNode("n" + std::to_string(i), 1, "T4", i));
  }
  columns_.Synchronise(cluster_.state);
  ASSERT_EQ(columns_.words(), 3U);
  for (std::int32_t bound = 0; bound < 131; ++bound) {
    for (std::int32_t i = 0; i < 130; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const std::uint64_t word =
          columns_.AtLeast(FitColumns::Column::kCpuFree, at / FitColumns::kWord, bound);
      ASSERT_EQ((word >> (at % FitColumns::kWord)) & 1, i >= bound ? 1U : 0U) << i << " " << bound;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Paths, FitColumnsTest, testing::Values(Path::kFastest, Path::kPortable));

// GPUSCHED_FUZZ_DECISIONS in the environment makes it longer.
TEST(FitColumns, SaysWhatFitsSaysInRandomHistories) {
#ifdef __SANITIZE_ADDRESS__
  constexpr std::uint64_t kUsual = 5'000;  // it takes some ten times as long
#else
  constexpr std::uint64_t kUsual = 30'000;
#endif
  const char* const wanted = std::getenv("GPUSCHED_FUZZ_DECISIONS");
  const std::uint64_t enough = wanted == nullptr ? kUsual : std::strtoull(wanted, nullptr, 10);
  std::uint64_t asked = 0;
  std::uint64_t found = 0;
  for (std::uint64_t seed = 1; asked < enough; ++seed) {
    Rng rng(seed);
    const std::int64_t nodes = OneIn(rng, 12) ? IntBelow(rng, 2'000) : IntBelow(rng, 200);
    RandomHistory history(seed, nodes);
    FitColumns fastest;
    FitColumns portable(Path::kPortable);
    FitColumns late;
    std::vector<std::uint64_t> one, two;
    const auto look = [&] {
      for (int i = 0; i < 4; ++i, ++asked) {
        const Shape shape = history.SomeShape();
        fastest.Fitting(history.state(), shape, one);
        portable.Fitting(history.state(), shape, two);
        ASSERT_EQ(one, two) << "seed " << seed;
        const auto expected = SlotsByFits(history.state(), shape);
        ASSERT_EQ(Slots(fastest, history.state(), shape), expected) << "seed " << seed;
        if (!expected.empty()) ++found;
      }
      // One who seldom asks, and now and then is new.
      if (!OneIn(history.rng(), 20)) return;
      const Shape shape = history.SomeShape();
      ASSERT_EQ(Slots(late, history.state(), shape), SlotsByFits(history.state(), shape))
          << "seed " << seed;
      if (OneIn(history.rng(), 5)) late = FitColumns();
    };
    for (int i = 0; i < 60 && asked < enough; ++i) {
      history.Round(look);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(found, asked / 3);
  EXPECT_LT(found, asked);
}

}  // namespace
}  // namespace gpusched
