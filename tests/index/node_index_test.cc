#include "gpusched/index/node_index.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "cluster_fixture.h"
#include "gpusched/policy/score/best_fit.h"
#include "gpusched/policy/score/first_fit.h"
#include "gpusched/policy/score/random.h"
#include "random_cluster.h"

namespace gpusched {
namespace {

using Outcome = NodeIndex::Outcome;

// What it finds in long histories is tested in engine/search_agreement_test.cc.

TEST(NodeIndex, ThereIsNoneForScoresThatDependOnMoreOrTakeTheWholeRange) {
  struct Whole {
    static constexpr Reads reads() { return Reads::kNode; }
    static constexpr ScoreRange range() { return {INT16_MIN, INT16_MAX}; }
    Score operator()(const NodeView&, const Shape&, const DeviceChoice&) const { return 0; }
  };
  EXPECT_EQ(MakeNodeIndexFor(Random{1}), nullptr);
  EXPECT_EQ(MakeNodeIndexFor(Whole{}), nullptr);
  EXPECT_NE(MakeNodeIndexFor(BestFit{}), nullptr);
}

TEST(NodeIndex, AShapeThatIsAskedAboutMoreTakesTheLaneOfOneThatIsAskedAboutLess) {
  TestCluster cluster;
  cluster.AddNode({.name = "n", .cpu_milli = 9'000, .mem_mib = 0, .devices = {}});
  const auto index = MakeNodeIndexFor(BestFit{}, {.max_lanes = 2});
  std::vector<ShapeId> ids;
  for (std::int64_t cpu = 1; cpu <= 3; ++cpu) ids.push_back(cluster.Intern(CpuTask(cpu * 1'000)));
  const auto ask = [&](std::size_t i) {
    return index->Find(cluster.state, cluster.state.shapes()[ids[i]]).outcome;
  };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(0), Outcome::kFound);
  EXPECT_EQ(ask(1), Outcome::kFound);
  EXPECT_EQ(index->lanes(), 2U);
  // The third has to be asked about as often as the second.
  EXPECT_EQ(ask(2), Outcome::kUnknown);
  EXPECT_EQ(ask(2), Outcome::kFound);
  EXPECT_EQ(index->lanes(), 2U);
  EXPECT_EQ(ask(0), Outcome::kFound);
  EXPECT_EQ(ask(1), Outcome::kUnknown);
}

TEST(NodeIndex, PreparedShapesHaveTheirLanesBeforeTheyAreAskedAbout) {
  TestCluster cluster;
  for (int i = 0; i < 40; ++i) {
    cluster.AddNode(
        {.name = "n" + std::to_string(i), .cpu_milli = 9'000, .mem_mib = 0, .devices = {}});
  }
  std::vector<ShapeId> ids;
  for (std::int64_t cpu = 1; cpu <= 40; ++cpu) ids.push_back(cluster.Intern(CpuTask(cpu * 100)));
  ids.push_back(ids.front());
  ids.push_back({.slot = 4'000});  // nobody's
  const auto index = MakeNodeIndexFor(FirstFit{});
  index->Prepare(cluster.state, ids);
  EXPECT_EQ(index->lanes(), 40U);
  const auto answer = index->Find(cluster.state, cluster.state.shapes()[ids[39]]);
  EXPECT_EQ(answer.outcome, Outcome::kFound);
  EXPECT_EQ(answer.slot, 0U);
}

TEST(NodeIndex, ManyRefusalsAreMoreThanItAnswers) {
  TestCluster cluster;
  for (int i = 0; i < 100; ++i) {
    cluster.AddNode(
        {.name = "n" + std::to_string(i), .cpu_milli = 9'000, .mem_mib = 0, .devices = {}});
  }
  const auto index = MakeNodeIndexFor(FirstFit{});
  const Shape& shape = cluster.state.shapes()[cluster.Intern(CpuTask(1'000))];
  const auto from = [&](std::uint32_t first) {
    return index->FindWhere(cluster.state, shape,
                            [&](const NodeView& node) { return node.slot() >= first; });
  };
  EXPECT_EQ(from(10).slot, 10U);
  EXPECT_EQ(from(10).outcome, Outcome::kFound);
  EXPECT_EQ(from(90).outcome, Outcome::kUnknown);
  const Shape& large = cluster.state.shapes()[cluster.Intern(CpuTask(10'000))];
  EXPECT_EQ(index->FindWhere(cluster.state, large, [](const NodeView&) { return true; }).outcome,
            Outcome::kNone);
}

TEST(NodeIndex, FollowsTheStateThatItIsAskedWith) {
  TestCluster one;
  TestCluster two;
  one.AddNode({.name = "n", .cpu_milli = 1'000, .mem_mib = 0, .devices = {}});
  two.AddNode({.name = "n", .cpu_milli = 500, .mem_mib = 0, .devices = {}});
  const auto index = MakeNodeIndexFor(BestFit{});
  const ShapeId id = one.Intern(CpuTask(1'000));
  ASSERT_EQ(two.Intern(CpuTask(1'000)), id);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(index->Find(one.state, one.state.shapes()[id]).outcome, Outcome::kFound);
    EXPECT_EQ(index->Find(two.state, two.state.shapes()[id]).outcome, Outcome::kNone);
  }
}

TEST(NodeIndex, AScoreThatLeavesItsRangeIsNotAnswered) {
  struct Liar {
    static constexpr Reads reads() { return Reads::kNode; }
    static constexpr ScoreRange range() { return {0, 9}; }
    Score operator()(const NodeView& node, const Shape&, const DeviceChoice&) const {
      return node.cpu_free() > 5'000 ? 10 : 0;
    }
  };
  TestCluster cluster;
  cluster.AddNode({.name = "n", .cpu_milli = 1'000, .mem_mib = 0, .devices = {}});
  const auto index = MakeNodeIndexFor(Liar{});
  const Shape& shape = cluster.state.shapes()[cluster.Intern(CpuTask(1'000))];
  EXPECT_EQ(index->Find(cluster.state, shape).outcome, Outcome::kFound);
  cluster.AddNode({.name = "big", .cpu_milli = 9'000, .mem_mib = 0, .devices = {}});
  EXPECT_EQ(index->Find(cluster.state, shape).outcome, Outcome::kUnknown);
}

TEST(NodeIndex, TakesLittleMemory) {
  TestCluster cluster;
  constexpr std::size_t kNodes = 4'000;
  for (std::size_t i = 0; i < kNodes; ++i) {
    cluster.AddNode(
        {.name = "n" + std::to_string(i), .cpu_milli = 9'000, .mem_mib = 0, .devices = {}});
  }
  std::vector<ShapeId> ids;
  for (std::int64_t cpu = 1; cpu <= 128; ++cpu) ids.push_back(cluster.Intern(CpuTask(cpu)));
  const auto index = MakeNodeIndexFor(BestFit{});
  index->Prepare(cluster.state, ids);
  EXPECT_EQ(index->lanes(), 128U);
  EXPECT_LT(index->bytes(), kNodes * 200);
}

}  // namespace
}  // namespace gpusched
