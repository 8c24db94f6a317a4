#include "gpusched/engine/scheduler.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>

#include "cluster_fixture.h"
#include "gpusched/policy/score/best_fit.h"
#include "gpusched/policy/score/first_fit.h"
#include "gpusched/policy/score/random.h"
#include "gpusched/policy/score/weighted.h"
#include "random_cluster.h"
#include "status_matchers.h"

namespace gpusched {
namespace {

using Code = absl::StatusCode;

TEST(Scheduler, DecidesCommitsAndReleases) {
  TestCluster cluster;
  const NodeId a = cluster.AddNode(GpuNode("a", 2));
  Scheduler scheduler(cluster.state, BestFit());
  const ShapeId shape = cluster.Intern(WholeGpus(2, 4'000));
  const std::uint64_t hash = cluster.hash();
  const auto decision = scheduler.Decide(shape);
  ASSERT_TRUE(decision.ok());
  EXPECT_TRUE(decision->placed());
  EXPECT_EQ(decision->shape, shape);
  EXPECT_EQ(decision->placement, (Placement{a, Devices({0, 1})}));
  EXPECT_EQ(decision->score, 64);  // 100 · (1 − 92/128/2)
  EXPECT_EQ(cluster.hash(), hash) << "deciding changes nothing";
  EXPECT_EQ(scheduler.sequence(), 0U);

  const auto task = scheduler.Commit("t", *decision);
  ASSERT_TRUE(task.ok());
  EXPECT_NE(cluster.hash(), hash);
  EXPECT_TRUE(IsOk(scheduler.Release(*task)));
  EXPECT_EQ(cluster.hash(), hash);
  EXPECT_TRUE(Refused(scheduler.Release(*task), Code::kNotFound, {"'t'"}));
}

TEST(Scheduler, CommitRefusesWhatIsNoPlacementOrFitsNoMore) {
  TestCluster cluster;
  cluster.AddNode(GpuNode("a", 1));
  Scheduler scheduler(cluster.state, BestFit());
  const ShapeId shape = cluster.Intern(WholeGpus(1));
  const auto decision = scheduler.Decide(shape);
  ASSERT_TRUE(decision.ok() && decision->placed());
  ASSERT_TRUE(scheduler.Place("first", shape).ok());
  const std::uint64_t hash = cluster.hash();
  EXPECT_TRUE(Refused(scheduler.Commit("late", *decision), Code::kFailedPrecondition, {"'a'"}));
  const auto wait = scheduler.Decide(shape);
  ASSERT_TRUE(wait.ok());
  EXPECT_EQ(wait->kind, DecisionKind::kWait);
  EXPECT_TRUE(Refused(scheduler.Commit("t", *wait), Code::kInvalidArgument, {"not a placement"}));
  EXPECT_TRUE(
      Refused(scheduler.Commit("t", Decision{.shape = shape, .placement = {}, .refusal = {}}),
              Code::kInvalidArgument));
  EXPECT_EQ(cluster.hash(), hash);
}

TEST(Scheduler, TellsWaitFromReject) {
  TestCluster cluster;
  cluster.AddNode(GpuNode("a", 2));
  Scheduler scheduler(cluster.state, FirstFit());
  ASSERT_TRUE(scheduler.Place("t", cluster.Intern(WholeGpus(2))).ok());
  const auto wait = scheduler.Place("u", cluster.Intern(WholeGpus(1)));
  ASSERT_TRUE(wait.ok());
  EXPECT_EQ(wait->kind, DecisionKind::kWait);
  EXPECT_EQ(wait->refusal.dominant(), Reason::kTooFewWholeDevices);
  const auto reject = scheduler.Place("v", cluster.Intern(WholeGpus(3)));
  ASSERT_TRUE(reject.ok());
  EXPECT_EQ(reject->kind, DecisionKind::kReject);
  EXPECT_EQ(reject->refusal.shortfall.need, 3);
  EXPECT_EQ(reject->refusal.shortfall.have, 0);
  EXPECT_EQ(scheduler.sequence(), 3U) << "every decision counts, whatever its outcome";
}

TEST(Scheduler, ACommittedDecisionCountsLikeAPlacedOne) {
  TestCluster cluster;
  for (const char* name : {"a", "b", "c", "d"}) cluster.AddNode(GpuNode(name, 8));
  BasicScheduler scheduler(cluster.state, Random{.seed = 1});
  const ShapeId shape = cluster.Intern(ShareOf(100));
  std::set<NodeId> nodes;
  for (int i = 0; i < 20; ++i) {
    const auto decision = scheduler.Decide(shape);
    ASSERT_TRUE(decision.ok());
    ASSERT_TRUE(scheduler.Commit("t" + std::to_string(i), *decision).ok());
    nodes.insert(decision->placement.node);
  }
  EXPECT_EQ(scheduler.sequence(), 20U);
  EXPECT_GT(nodes.size(), 2U) << "each decision draws anew";
}

TEST(Scheduler, TheOutcomeOfARefusalComesWithoutTheAccountIfAsked) {
  TestCluster cluster;
  cluster.AddNode(GpuNode("a", 1));
  Scheduler scheduler(cluster.state, BestFit());
  const ShapeId one = cluster.Intern(WholeGpus(1));
  const ShapeId two = cluster.Intern(WholeGpus(2));
  ASSERT_TRUE(scheduler.Place("t", one, RefusalDetail::kOutcome)->placed());
  const auto wait = scheduler.Decide(one, RefusalDetail::kOutcome);
  EXPECT_EQ(wait->kind, DecisionKind::kWait);
  EXPECT_EQ(wait->refusal.outcome, Outcome::kWait);
  EXPECT_EQ(wait->refusal.count(Reason::kTooFewWholeDevices), 0U);
  EXPECT_EQ(scheduler.Decide(two, RefusalDetail::kOutcome)->kind, DecisionKind::kReject);
  cluster.AddNode(GpuNode("b", 2));
  EXPECT_EQ(scheduler.Decide(two, RefusalDetail::kOutcome)->kind, DecisionKind::kPlace);
}

TEST(Scheduler, ABatchPlacesWhatOneAfterTheOtherWould) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    TestCluster one;
    TestCluster two;
    std::vector<ShapeId> shapes;
    for (TestCluster* cluster : {&one, &two}) {
      Rng rng(seed);
      FillRandomly(*cluster, rng, 20);
      shapes.clear();
      for (int i = 0; i < 30; ++i) shapes.push_back(cluster->Intern(RandomShape(rng)));
    }
    if (one.state.capacity()[ResourceKind::kGpuMilli] == 0) continue;  // asks for GPUs are errors
    Scheduler single(one.state, Random{seed});
    Scheduler batch(two.state, Random{seed});
    std::vector<BatchPlacement> out(shapes.size());
    ASSERT_TRUE(IsOk(batch.PlaceMany(shapes, out)));
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const auto decision = single.Place("batch-" + std::to_string(i), shapes[i]);
      ASSERT_TRUE(IsOk(decision.status()));
      ASSERT_EQ(out[i].kind, decision->kind);
      if (!decision->placed()) continue;
      EXPECT_EQ(out[i].node, decision->placement.node);
      EXPECT_EQ(out[i].devices, decision->placement.devices);
      EXPECT_EQ(out[i].score, decision->score);
      EXPECT_EQ(two.state.task_name(out[i].task), "");
    }
    EXPECT_EQ(batch.sequence(), single.sequence());
    // Without their names they are not the same tasks, but what is free is.
    for (const std::uint32_t slot : one.state.nodes().order()) {
      EXPECT_EQ(one.state.nodes().used(slot), two.state.nodes().used(slot));
    }
  }
}

TEST(Scheduler, ABatchIsPlacedWholeOrNotAtAll) {
  TestCluster cluster;
  cluster.AddNode(GpuNode("a", 4));
  Scheduler scheduler(cluster.state, BestFit());
  const ShapeId one = cluster.Intern(WholeGpus(1));
  const std::uint64_t hash = cluster.hash();
  const std::vector<ShapeId> shapes = {one, one, ShapeId{.slot = 77}};
  std::vector<BatchPlacement> out(3);
  EXPECT_TRUE(Refused(scheduler.PlaceMany(shapes, out), Code::kInvalidArgument, {"shape", "#77"}));
  EXPECT_EQ(cluster.hash(), hash);
  EXPECT_EQ(scheduler.sequence(), 0U);
  out.resize(2);
  EXPECT_TRUE(Refused(scheduler.PlaceMany(shapes, out), Code::kInvalidArgument, {"out", "2", "3"}));
}

TEST(Scheduler, ATaskWithoutANameIsKnownByItsHandle) {
  TestCluster cluster;
  cluster.AddNode(GpuNode("a", 2));
  Scheduler scheduler(cluster.state, BestFit());
  const ShapeId one = cluster.Intern(WholeGpus(1));
  const std::uint64_t hash = cluster.hash();
  const auto first = scheduler.PlaceUnnamed(one);
  ASSERT_TRUE(IsOk(first.status()));
  const std::uint64_t with_one = cluster.hash();
  EXPECT_NE(with_one, hash);
  const auto second = scheduler.PlaceUnnamed(one);
  EXPECT_NE(cluster.hash(), with_one);
  EXPECT_EQ(scheduler.PlaceUnnamed(one)->kind, DecisionKind::kWait);
  EXPECT_EQ(cluster.state.FindTask(""), std::nullopt);
  EXPECT_TRUE(IsOk(scheduler.Release(second->task)));
  EXPECT_EQ(cluster.hash(), with_one);
  EXPECT_TRUE(IsOk(scheduler.Release(first->task)));
  EXPECT_TRUE(Refused(scheduler.Release(first->task), Code::kNotFound, {"not running"}));
  EXPECT_EQ(cluster.hash(), hash);
  // A slot that had a task with a name before, and has one again afterwards.
  ASSERT_TRUE(IsOk(scheduler.Place("named", one).status()));
  ASSERT_TRUE(IsOk(scheduler.Release(*cluster.state.FindTask("named"))));
  const auto third = scheduler.PlaceUnnamed(one);
  EXPECT_EQ(cluster.state.task_name(third->task), "");
  EXPECT_EQ(cluster.state.FindTask("named"), std::nullopt);
  {
    Transaction transaction(cluster.state);
    ASSERT_TRUE(IsOk(transaction.Release(third->task)));
    ASSERT_TRUE(
        IsOk(transaction.PlaceUnnamed(one, {*cluster.state.FindNode("a"), Devices({1})}).status()));
  }
  EXPECT_TRUE(IsOk(scheduler.Release(third->task)));
  EXPECT_EQ(cluster.hash(), hash);
}

TEST(Scheduler, CountsDecisionsByTheWayInWhichTheyWereComputed) {
  TestCluster cluster;
  for (int i = 0; i < 20; ++i) cluster.AddNode(GpuNode("n" + std::to_string(i), 1));
  const ShapeId one = cluster.Intern(WholeGpus(1));
  Scheduler by_index(cluster.state, BestFit());
  EXPECT_EQ(by_index.Decide(one)->path, DecisionPath::kIndex);
  EXPECT_EQ(by_index.path_counts(), (PathCounts{0, 1, 0}));
  EXPECT_GT(by_index.index_bytes(), 0U);
  Scheduler by_scan(cluster.state, BestFit(), {}, {.path = SearchPath::kScan});
  EXPECT_EQ(by_scan.Decide(one)->path, DecisionPath::kScan);
  EXPECT_EQ(by_scan.path_counts(), (PathCounts{1, 0, 0}));
  Scheduler random(cluster.state, Random{1}, {}, {.path = SearchPath::kIndex});
  EXPECT_EQ(random.Decide(one)->path, DecisionPath::kColumns);
  EXPECT_EQ(random.path_counts(), (PathCounts{0, 0, 1}));
}

TEST(Scheduler, RefusesRequestsThatAreErrors) {
  TestCluster cluster;
  Scheduler scheduler(cluster.state, BestFit());
  EXPECT_TRUE(
      Refused(scheduler.Decide(ShapeId{.slot = 3}), Code::kInvalidArgument, {"shape is #3"}));
  const ShapeId gpu = cluster.Intern(WholeGpus(2));
  EXPECT_TRUE(scheduler.Decide(gpu).ok()) << "an empty cluster may still get one";
  cluster.AddNode(GpuNode("cpu-only", 0));
  EXPECT_TRUE(
      Refused(scheduler.Decide(gpu), Code::kFailedPrecondition, {"gpu_count is 2", "no GPU"}));
  EXPECT_TRUE(scheduler.Decide(cluster.Intern(CpuTask(1))).ok());
}

TEST(Scheduler, RefusesARunningNameEvenIfNothingWouldFit) {
  TestCluster cluster;
  cluster.AddNode(GpuNode("a", 1));
  Scheduler scheduler(cluster.state, BestFit());
  const ShapeId shape = cluster.Intern(WholeGpus(1));
  ASSERT_TRUE(scheduler.Place("t", shape).ok());
  const std::uint64_t hash = cluster.hash();
  EXPECT_TRUE(Refused(scheduler.Place("t", shape), Code::kAlreadyExists, {"'t'"}));
  EXPECT_TRUE(Refused(scheduler.Place("", shape), Code::kInvalidArgument, {"name"}));
  EXPECT_EQ(scheduler.sequence(), 1U) << "what is refused is no decision";
  EXPECT_EQ(cluster.hash(), hash);
}

TEST(Scheduler, RefusesAPolicyWhoseParametersAreWrong) {
  TestCluster cluster;
  cluster.AddNode(GpuNode("a", 1));
  const BestFit broken{{.cpu_milli = 0}};
  const ShapeId shape = cluster.Intern(CpuTask(1));
  EXPECT_TRUE(Refused(Scheduler(cluster.state, broken).Place("t", shape), Code::kInvalidArgument,
                      {"norms.cpu_milli"}));
  EXPECT_TRUE(Refused(BasicScheduler(cluster.state, 0.0 * BestFit()).Place("t", shape),
                      Code::kInvalidArgument, {"weight"}));
  EXPECT_EQ(cluster.state.tasks().size(), 0U);
}

struct Liar {
  Score says;
  static constexpr Reads kReads = Reads::kNode;
  static constexpr ScoreRange range() { return {0, 10}; }
  Score operator()(const NodeView&, const Shape&, DeviceMask) const { return says; }
};

TEST(Scheduler, APolicyThatLeavesItsRangeIsAnErrorThatNamesTheNode) {
  TestCluster cluster;
  cluster.AddNode(GpuNode("a", 1));
  const ShapeId shape = cluster.Intern(CpuTask(1));
  const std::uint64_t hash = cluster.hash();
  for (const Score bad : {-1, 11}) {
    EXPECT_TRUE(Refused(BasicScheduler(cluster.state, Liar{bad}).Place("t", shape), Code::kInternal,
                        {"node 'a'", std::to_string(bad), "0 to 10"}));
  }
  EXPECT_EQ(cluster.hash(), hash);
  EXPECT_TRUE(BasicScheduler(cluster.state, Liar{0}).Decide(shape).ok());
  EXPECT_TRUE(BasicScheduler(cluster.state, Liar{10}).Decide(shape).ok());
}

struct Thrower {
  static constexpr Reads kReads = Reads::kNode;
  static constexpr ScoreRange range() { return {0, 1}; }
  Score operator()(const NodeView&, const Shape&, DeviceMask) const {
    throw std::runtime_error("x");
  }
};

TEST(Scheduler, StaysUsableWhenAPolicyThrows) {
  TestCluster cluster;
  cluster.AddNode(GpuNode("a", 1));
  const ShapeId shape = cluster.Intern(CpuTask(1));
  const std::uint64_t hash = cluster.hash();
  Scheduler scheduler(cluster.state, Thrower());
  EXPECT_THROW((void)scheduler.Place("t", shape), std::runtime_error);
  EXPECT_EQ(cluster.hash(), hash);
  EXPECT_TRUE(Scheduler(cluster.state, BestFit()).Place("t", shape)->placed());
}

struct Only {
  NodeId node;
  Shortfall operator()(const NodeView& candidate, const Shape&) const {
    if (candidate.id() == node) return {};
    return {.verdict = Verdict::Wait(Reason::kFilteredByUser)};
  }
};

TEST(Scheduler, AFilterOfTheUsersHoldsBesideTheBuiltIn) {
  TestCluster cluster;
  cluster.AddNode(GpuNode("a", 4));
  const NodeId b = cluster.AddNode(GpuNode("b", 1));
  cluster.AddNode(GpuNode("c", 4));
  BasicScheduler scheduler(cluster.state, FirstFit(), Filters(Only{b}));
  const ShapeId shape = cluster.Intern(WholeGpus(1));
  EXPECT_EQ(scheduler.Place("t", shape)->placement.node, b);
  const auto full = scheduler.Place("u", shape);
  ASSERT_TRUE(full.ok());
  EXPECT_EQ(full->kind, DecisionKind::kWait);
  EXPECT_EQ(full->refusal.count(Reason::kFilteredByUser), 2U);
  EXPECT_EQ(full->refusal.count(Reason::kTooFewWholeDevices), 1U);
}

// Every node counted once; the nearest by the rule in words.
TEST(Scheduler, RefusalsAgreeWithANaiveAccount) {
  int refusals = 0;
  std::array<int, kReasons> seen{};
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Rng rng(seed);
    TestCluster cluster;
    FillRandomly(cluster, rng, 8);
    Scheduler scheduler(cluster.state, BestFit());
    for (int i = 0; i < 10; ++i) {
      const ShapeId id = cluster.Intern(RandomShape(rng));
      const Shape& shape = cluster.state.shapes()[id];
      const std::uint64_t hash = cluster.hash();
      const auto decision = scheduler.Decide(id);
      ASSERT_EQ(cluster.hash(), hash);
      if (!decision.ok() || decision->placed()) continue;
      ++refusals;
      std::array<std::uint32_t, kReasons> counts{};
      bool all_never = true;
      std::tuple<int, double, bool> nearest{100, 0, false};
      NodeId nearest_node;
      for (const std::uint32_t slot : cluster.state.nodes().order()) {
        const NodeView node = cluster.state.node(slot);
        const Shortfall answers[] = {ModelAllowed()(node, shape), EnoughCpu()(node, shape),
                                     EnoughMemory()(node, shape), EnoughDevices()(node, shape)};
        int failing = 0;
        bool never = false;
        double share = 0;
        for (const Shortfall& answer : answers) {
          if (answer.verdict.ok()) continue;
          ++failing;
          ++counts[static_cast<std::size_t>(answer.verdict.reason)];
          const double lack = answer.need == 0 ? 1
                                               : static_cast<double>(answer.need - answer.have) /
                                                     static_cast<double>(answer.need);
          // What no event can mend outweighs what one can.
          const bool for_ever = answer.verdict.outcome == Outcome::kNever;
          share = for_ever && !never ? lack : for_ever == never ? std::max(share, lack) : share;
          never = never || for_ever;
        }
        all_never = all_never && never;
        if (std::tuple(failing, share, never) < nearest) {
          nearest = {failing, share, never};
          nearest_node = node.id();
        }
      }
      const Refusal& refusal = decision->refusal;
      ASSERT_EQ(refusal.nodes_by_reason, counts) << "seed " << seed;
      if (cluster.state.node_count() == 0) continue;
      ASSERT_EQ(refusal.nearest, nearest_node) << "seed " << seed;
      ASSERT_EQ(decision->kind, all_never ? DecisionKind::kReject : DecisionKind::kWait);
      ++seen[static_cast<std::size_t>(refusal.dominant())];
    }
  }
  EXPECT_GT(refusals, 500);
  for (const Reason reason :
       {Reason::kModelNotAllowed, Reason::kInsufficientCpu, Reason::kInsufficientMemory,
        Reason::kNoDeviceWithRoom, Reason::kTooFewWholeDevices}) {
    EXPECT_GT(seen[static_cast<std::size_t>(reason)], 10) << ReasonName(reason);
  }
}

}  // namespace
}  // namespace gpusched
