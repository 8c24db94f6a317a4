#include "gpusched/engine/engine.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "engine/engine_fixture.h"
#include "gpusched/journal/codec.h"
#include "gpusched/policy/score/random.h"

namespace gpusched {
namespace {

using Code = absl::StatusCode;

EnginePolicies With(PlacerFactory placer) {
  EnginePolicies policies;
  policies.placer = std::move(placer);
  return policies;
}

TEST(Engine, AnEmptyOneHasNothingToDo) {
  TestEngine world;
  EXPECT_EQ(world.Cycle(), "");
  EXPECT_EQ(world.engine.version(), 0U) << "to do nothing is no change";
  EXPECT_TRUE(world.engine.Jobs().empty());
}

TEST(Engine, RefusesSettingsOutOfRange) {
  EXPECT_TRUE(
      Refused(Engine::Create({.start_timeout = 0}), Code::kInvalidArgument, {"start_timeout"}));
}

TEST(Engine, SaysWhatThePlacersFactorySays) {
  const auto broken = [](ClusterState&) -> absl::StatusOr<std::unique_ptr<Placer>> {
    return absl::UnimplementedError("not today");
  };
  EXPECT_TRUE(Refused(Engine::Create({}, With(broken)), Code::kUnimplemented, {"not today"}));
  const auto none = [](ClusterState&) -> absl::StatusOr<std::unique_ptr<Placer>> {
    return std::unique_ptr<Placer>();
  };
  EXPECT_TRUE(Refused(Engine::Create({}, With(none)), Code::kInvalidArgument));
}

TEST(Engine, PlacesWhatIsSubmittedAndTakesItAsAssumed) {
  TestEngine world({.start_timeout = 100});
  world.Node(GpuNode("a", 2));
  world.Submit(Gang("j", 1, WholeGpus(2)));
  EXPECT_EQ(world.Cycle(50), "j/main/0@a");
  const TaskStatus task = world.Task("j");
  EXPECT_EQ(task.phase, TaskPhase::kAssumed);
  EXPECT_EQ(task.node, "a");
  EXPECT_EQ(task.devices, Devices({0, 1}));
  EXPECT_EQ(task.deadline, 150);
  EXPECT_EQ(world.engine.state().now(), 50);
  EXPECT_EQ(world.Cycle(), "") << "once placed, it is not placed again";
}

TEST(Engine, DecidesTheSameHoweverOftenItIsAsked) {
  TestEngine world({}, With(PlacerOf(Random{.seed = 3})));
  for (const char* name : {"a", "b", "c", "d"}) world.Node(GpuNode(name, 2));
  world.Submit(Gang("j", 5, WholeGpus(1)));
  const std::string first = Encode(world.Decide(7));
  for (int i = 0; i < 5; ++i) {
    world.Decide(1'000);
    EXPECT_TRUE(world.engine.Explain("j").ok());
  }
  EXPECT_EQ(Encode(world.Decide(7)), first);
}

TEST(Engine, ARandomScoreDrawsOnAfterACommit) {
  TestEngine world({}, With(PlacerOf(Random{.seed = 3})));
  for (int i = 0; i < 8; ++i) world.Node(GpuNode("n" + std::to_string(i), 0));
  std::string nodes;
  for (int i = 0; i < 12; ++i) {
    const std::string name = "j" + std::to_string(i);
    world.Submit(Gang(name, 1, CpuTask(1)));
    world.Cycle();
    nodes += world.Task(name).node;
  }
  EXPECT_NE(nodes.substr(0, 12), nodes.substr(12));
  EXPECT_GT(world.plan.searches(), 0U);
}

TEST(Engine, TimeDoesNotGoBackwards) {
  TestEngine world;
  world.Tell(Tick{100});
  EXPECT_TRUE(Refused(world.engine.Decide(99), Code::kInvalidArgument, {"99", "100"}));
  EXPECT_TRUE(Refused(world.Refusal(Tick{99}), Code::kInvalidArgument, {"99"}));
  EXPECT_NE(world.Ignored(Tick{100}).find("100"), std::string::npos);
}

TEST(EngineCommit, RefusesAStalePlan) {
  TestEngine world;
  world.Node(GpuNode("a", 1));
  world.Submit(Gang("j", 1, WholeGpus(1)));
  const Plan plan = world.Decide();
  world.Node(GpuNode("b", 1));
  const std::uint64_t hash = world.hash();
  EXPECT_TRUE(
      Refused(world.engine.Commit(plan), Code::kFailedPrecondition, {"version", "decide again"}));
  EXPECT_EQ(world.hash(), hash);
  EXPECT_EQ(world.Cycle(), "j/main/0@a");
}

TEST(EngineCommit, RefusesAPlanTheSecondTime) {
  TestEngine world;
  world.Node(GpuNode("a", 1));
  world.Submit(Gang("j", 1, WholeGpus(1)));
  world.Cycle();
  EXPECT_TRUE(Refused(world.engine.Commit(world.plan), Code::kFailedPrecondition));
}

TEST(EngineCommit, AnIgnoredEventDoesNotMakeAPlanStale) {
  TestEngine world;
  world.Node(GpuNode("a", 1));
  world.Submit(Gang("j", 1, WholeGpus(1)));
  const Plan plan = world.Decide();
  world.Ignored(CancelJob{"nobody"});
  EXPECT_TRUE(IsOk(world.engine.Commit(plan).status()));
}

// A plan that was written by hand, or for another engine.
TEST(EngineCommit, RefusesStepsThatCanNotBe) {
  TestEngine world;
  world.Node(GpuNode("a", 1));
  world.Submit(Gang("j", 1, WholeGpus(1)));
  const std::uint64_t hash = world.hash();
  const auto refused = [&](const Step& step, Code code, std::string_view part) {
    const Plan plan(0, world.engine.version(), 1, {step});
    return Refused(world.engine.Commit(plan), code, {part});
  };
  Place good{.task = Key("j"), .node = "a", .devices = Devices({0})};
  Place bad = good;
  bad.task.job = "k";
  EXPECT_TRUE(refused(bad, Code::kInvalidArgument, "'k'"));
  bad = good;
  bad.task.group = "other";
  EXPECT_TRUE(refused(bad, Code::kInvalidArgument, "no such task"));
  bad = good;
  bad.task.index = 1;
  EXPECT_TRUE(refused(bad, Code::kInvalidArgument, "no such task"));
  bad = good;
  bad.task.attempt = 2;
  EXPECT_TRUE(refused(bad, Code::kInvalidArgument, "attempt"));
  bad = good;
  bad.alternative = 1;
  EXPECT_TRUE(refused(bad, Code::kInvalidArgument, "alternative"));
  bad = good;
  bad.node = "b";
  EXPECT_TRUE(refused(bad, Code::kInvalidArgument, "'b'"));
  bad = good;
  bad.devices = Devices({1});
  EXPECT_TRUE(refused(bad, Code::kFailedPrecondition, "devices[1] is missing"));
  EXPECT_TRUE(refused(Evict{.task = Key("j"), .node = "a"}, Code::kInvalidArgument, "evicted"));
  EXPECT_EQ(world.hash(), hash);
  EXPECT_TRUE(IsOk(world.engine.Commit(Plan(0, world.engine.version(), 1, {good})).status()));
}

TEST(EngineCommit, RefusesToPlaceATaskThatIsPlacedOrFinished) {
  TestEngine world;
  world.Node(GpuNode("a", 3));
  world.Submit(Loose("j", 2, WholeGpus(1)));
  world.Cycle();
  world.Tell(TaskFinished{Key("j", 1)});
  const std::uint64_t hash = world.hash();
  for (const std::int64_t index : {0, 1}) {
    const Place again{.task = Key("j", index), .node = "a", .devices = Devices({2})};
    EXPECT_FALSE(world.engine.Commit(Plan(0, world.engine.version(), 1, {again})).ok()) << index;
    EXPECT_EQ(world.hash(), hash);
  }
}

TEST(EngineAbort, TakesBackWhatHasNotStarted) {
  TestEngine world;
  world.Node(GpuNode("a", 2));
  world.Submit(Loose("j", 2, WholeGpus(1)));
  world.Cycle();
  world.Tell(TaskStarted{Key("j", 0), {}});
  const auto effect = world.engine.Abort(world.plan);
  ASSERT_TRUE(IsOk(effect.status()));
  EXPECT_EQ(Requeued(*effect), "j/main/1#1");
  EXPECT_EQ(world.Task("j", 0).phase, TaskPhase::kRunning);
  EXPECT_EQ(world.Task("j", 1).phase, TaskPhase::kPending);
  EXPECT_EQ(world.Cycle(), "j/main/1#2@a");
}

TEST(EngineAbort, WithoutAnythingToTakeBackChangesNothing) {
  TestEngine world;
  world.Node(GpuNode("a", 2));
  world.Submit(Gang("j", 1, WholeGpus(1)));
  world.Cycle();
  world.Tell(TaskStarted{Key("j"), {}});
  const std::uint64_t version = world.engine.version();
  const auto effect = world.engine.Abort(world.plan);
  ASSERT_TRUE(IsOk(effect.status()));
  EXPECT_FALSE(effect->changed);
  EXPECT_NE(effect->note, "");
  EXPECT_EQ(world.engine.version(), version);
}

TEST(EngineAbort, LeavesLaterAttemptsAlone) {
  TestEngine world;
  world.Node(GpuNode("a", 2));
  world.Submit(Gang("j", 1, WholeGpus(1)));
  world.Cycle();
  const Plan first = world.plan;
  world.Tell(TaskFailed{Key("j")});
  world.Cycle();
  EXPECT_FALSE(world.engine.Abort(first)->changed);
  EXPECT_EQ(world.Task("j").phase, TaskPhase::kAssumed);
}

// --- copies -------------------------------------------------------------------------------------

TEST(EngineFork, IsAnEngineOfItsOwn) {
  TestEngine world;
  world.Node(GpuNode("a", 1));
  world.Submit(Gang("j", 1, WholeGpus(1)));
  TestEngine fork(*world.engine.Fork());
  EXPECT_EQ(fork.hash(), world.hash());
  EXPECT_EQ(fork.engine.version(), world.engine.version());
  const std::uint64_t hash = world.hash();
  EXPECT_EQ(fork.Cycle(), "j/main/0@a");
  fork.Tell(RemoveNode{"a"});
  EXPECT_EQ(world.hash(), hash);
  EXPECT_EQ(world.Cycle(), "j/main/0@a");
  EXPECT_EQ(fork.Decide().version(), fork.engine.version());
}

TEST(EngineFork, WritesToNoJournal) {
  TestEngine world;
  std::string bytes;
  ASSERT_TRUE(IsOk(world.engine.SetJournal(std::make_unique<StringJournal>(bytes))));
  const std::size_t size = bytes.size();
  TestEngine fork(*world.engine.Fork());
  fork.Node(GpuNode("a", 1));
  EXPECT_EQ(bytes.size(), size);
}

TEST(EngineSave, LoadGivesTheEngineBack) {
  const EngineSettings settings{.start_timeout = 77, .repair_timeout = 88, .strict_fifo = true};
  TestEngine world(settings, With(PlacerOf(Random{.seed = 1})));
  for (const char* name : {"a", "b", "c"}) world.Node(GpuNode(name, 2));
  world.Submit(Gang("j", 2, WholeGpus(1)));
  world.Cycle(10);
  world.Submit(Gang("k", 2, WholeGpus(1)));
  auto loaded = Engine::Load(*world.engine.Save(), With(PlacerOf(Random{.seed = 1})));
  ASSERT_TRUE(IsOk(loaded.status()));
  EXPECT_EQ(StateHash(loaded->state()), world.hash());
  EXPECT_EQ(loaded->settings(), settings);
  EXPECT_EQ(loaded->version(), world.engine.version());
  EXPECT_EQ(Encode(*loaded->Decide(20)), Encode(world.Decide(20)));
}

TEST(EngineSave, KeepsTheModelsThatTheOwnerHasDeclared) {
  ModelCatalog catalog;
  catalog.DeclareOpaque("G2");
  TestEngine world(*Engine::Create({}, {}, catalog));
  world.Node(GpuNode("a", 1, "G2"));
  TestEngine loaded(*Engine::Load(*world.engine.Save()));
  loaded.Node(GpuNode("b", 1, "G2"));
  EXPECT_FALSE(loaded.Refusal(AddNode{GpuNode("c", 1, "G3")}).ok());
}

TEST(EngineSave, LoadRefusesWhatIsDamaged) {
  TestEngine world;
  world.Node(GpuNode("a", 1));
  const std::string bytes = *world.engine.Save();
  EXPECT_TRUE(Refused(Engine::Load("nonsense"), Code::kInvalidArgument));
  EXPECT_TRUE(Refused(Engine::Load(bytes.substr(0, bytes.size() - 1)), Code::kDataLoss));
  EXPECT_TRUE(Refused(Engine::Load(bytes + "x"), Code::kDataLoss));
  std::string flipped = bytes;
  flipped[bytes.size() / 2] = static_cast<char>(flipped[bytes.size() / 2] ^ 1);
  EXPECT_FALSE(Engine::Load(flipped).ok());
}

TEST(Engine, AJobThatIsNotThereIsNotFound) {
  TestEngine world;
  EXPECT_TRUE(Refused(world.engine.Job("j"), Code::kNotFound, {"'j'"}));
  EXPECT_TRUE(Refused(world.engine.Explain("j"), Code::kNotFound, {"'j'"}));
}

}  // namespace
}  // namespace gpusched
