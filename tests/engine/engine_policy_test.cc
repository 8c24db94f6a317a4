// Scores, filters and orders of somebody else's, good and bad ones.
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <utility>

#include "engine/engine_fixture.h"
#include "gpusched/policy/score/best_fit.h"
#include "gpusched/policy/score/worst_fit.h"

namespace gpusched {
namespace {

using Code = absl::StatusCode;

EnginePolicies With(PlacerFactory placer) {
  EnginePolicies policies;
  policies.placer = std::move(placer);
  return policies;
}

// --- a score that misbehaves --------------------------------------------------------------------

// Behaves until it is told not to.
struct Moody {
  enum class Mood { kGood, kOutOfRange, kThrows };
  std::shared_ptr<Mood> mood = std::make_shared<Mood>(Mood::kGood);

  static constexpr Reads kReads = Reads::kNode;
  static constexpr ScoreRange range() { return {0, 10}; }
  Score operator()(const NodeView&, const Shape&, DeviceMask) const {
    if (*mood == Mood::kThrows) throw std::runtime_error("a policy of somebody else's");
    return *mood == Mood::kOutOfRange ? 11 : 5;
  }
};

class MoodyEngine : public testing::Test {
 protected:
  MoodyEngine() {
    world.Node(GpuNode("a", 2));
    world.Submit(Gang("j", 2, WholeGpus(1)));
  }

  Moody moody;
  TestEngine world{{}, With(PlacerOf(moody))};
};

TEST_F(MoodyEngine, AScoreOutsideItsRangeIsAnErrorAndChangesNothing) {
  const std::uint64_t hash = world.hash();
  *moody.mood = Moody::Mood::kOutOfRange;
  EXPECT_TRUE(Refused(world.engine.Decide(0), Code::kInternal, {"'a'", "11", "0 to 10"}));
  EXPECT_TRUE(Refused(world.engine.Explain("j"), Code::kInternal));
  EXPECT_EQ(world.hash(), hash);
  *moody.mood = Moody::Mood::kGood;
  EXPECT_EQ(world.Cycle(), "j/main/0@a, j/main/1@a");
}

TEST_F(MoodyEngine, AScoreThatThrowsChangesNothing) {
  const std::uint64_t hash = world.hash();
  *moody.mood = Moody::Mood::kThrows;
  EXPECT_THROW((void)world.engine.Decide(0), std::runtime_error);
  EXPECT_THROW((void)world.engine.Explain("j"), std::runtime_error);
  EXPECT_EQ(world.hash(), hash);
  EXPECT_TRUE(IsOk(Audit(world.engine.state())));
  *moody.mood = Moody::Mood::kGood;
  EXPECT_EQ(world.Cycle(), "j/main/0@a, j/main/1@a");
}

// Throws at the second task, when the first has been placed on trial.
struct SecondThrows {
  static constexpr Reads kReads = Reads::kNode;
  static constexpr ScoreRange range() { return {0, 10}; }
  Score operator()(const NodeView& node, const Shape&, DeviceMask) const {
    if (node.gpu_free_milli() < 2'000) throw std::runtime_error("not twice");
    return 1;
  }
};

TEST(EnginePolicy, AThrowInTheMiddleOfACycleTakesTheTrialBack) {
  TestEngine other({}, With(PlacerOf(SecondThrows())));
  other.Node(GpuNode("a", 2));
  other.Submit(Gang("j", 2, WholeGpus(1)));
  const std::uint64_t hash = other.hash();
  EXPECT_THROW((void)other.engine.Decide(0), std::runtime_error);
  EXPECT_EQ(other.hash(), hash);
  EXPECT_EQ(other.engine.state().tasks().size(), 0U);
}

TEST(EnginePolicy, APolicyWithWrongParametersIsRefused) {
  TestEngine world({}, With(PlacerOf(WorstFit{.norms = {.cpu_milli = -1, .gpu_milli = 8}})));
  world.Node(GpuNode("a", 2));
  world.Submit(Gang("j", 1, WholeGpus(1)));
  EXPECT_TRUE(Refused(world.engine.Decide(0), Code::kInvalidArgument));
}

// A filter of one's own is asked beside the built-in ones.
struct NotNode {
  std::uint32_t slot = 0;
  Shortfall operator()(const NodeView& node, const Shape&) const {
    if (node.slot() != slot) return {};
    return {.verdict = Verdict::Wait(Reason::kFilteredByUser)};
  }
};

TEST(EnginePolicy, AFilterOfYoursKeepsTasksOffANode) {
  TestEngine world({}, With(PlacerOf(BestFit{}, Filters<NotNode>(NotNode{.slot = 0}))));
  world.Node(GpuNode("a", 1));
  world.Submit(Gang("j", 1, WholeGpus(1)));
  EXPECT_EQ(world.Cycle(), "j waits FilteredByUser");
  world.Node(GpuNode("b", 1));
  EXPECT_EQ(world.Cycle(), "j/main/0@b");
}

struct LastSubmittedFirst {
  JobKey operator()(const StateView&, const JobRow& job) const {
    return {-static_cast<std::int64_t>(job.sequence), 0, 0, 0};
  }
};

TEST(EnginePolicy, AnOrderOfYoursSaysWhoIsServedFirst) {
  EnginePolicies policies;
  policies.order = LastSubmittedFirst();
  TestEngine world({}, std::move(policies));
  world.Node(GpuNode("a", 1));
  world.Submit(Gang("first", 1, WholeGpus(1)));
  world.Submit(Gang("second", 1, WholeGpus(1)));
  EXPECT_EQ(world.engine.Jobs().front().job, "second");
  EXPECT_EQ(world.Cycle(), "second/main/0@a, first waits TooFewWholeDevices");
}

}  // namespace
}  // namespace gpusched
