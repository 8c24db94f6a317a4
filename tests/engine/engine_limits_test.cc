// What bounds a search, and what must not slip past it.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "engine/engine_fixture.h"

namespace gpusched {
namespace {

TEST(SearchLimit, HoldsForJobsThatStartTogetherOnManyModels) {
  TestEngine world(EngineSettings{.gang_search_limit = 50});
  for (const char* model : {"T4", "A30", "A10", "L4"}) {
    world.Node(GpuNode(std::string("n-") + model, 1, model));
  }
  // Twelve jobs on four models each: 4^12 ways, none of which has room for all.
  for (int i = 0; i < 12; ++i) {
    JobSpec job = Gang("j" + std::to_string(i), 1, WholeGpus(1));
    job.homogeneous = true;
    job.co_schedule = CoSchedule{.group = "all", .size = 12};
    world.Submit(job);
  }
  const Plan plan = world.Decide();
  EXPECT_LE(plan.searches(), 50U + 12U + 12U);
  EXPECT_EQ(plan.steps().size(), 12U);
}

TEST(SearchLimit, IsForAllAlternativesTogether) {
  TestEngine world(EngineSettings{.gang_search_limit = 10});
  world.Node(GpuNode("n", 4));
  JobSpec job = Job("j", {Group("a", 2, WholeGpus(2)), Group("b", 2, WholeGpus(1))});
  job.alternatives = {job.groups, job.groups};
  world.Submit(job);
  const Plan plan = world.Decide();
  // One search a task in each of the three, and ten.
  EXPECT_LE(plan.searches(), 10U + 3 * 4U);
}

TEST(SearchLimit, NeverKeepsAGangFromStartingThatNeedsNoSecondTry) {
  TestEngine world(EngineSettings{.gang_search_limit = 1});
  world.Node(GpuNode("a", 8));
  world.Node(GpuNode("b", 8));
  world.Submit(Gang("j", 16, WholeGpus(1)));
  EXPECT_EQ(world.Decide().steps().size(), 16U);
  EXPECT_TRUE(std::holds_alternative<Place>(world.Decide().steps().front()));
}

TEST(StrictFifoPools, AJobBehindAnotherKeepsYoungerOnesOffItsOtherModels) {
  TestEngine world(EngineSettings{.strict_fifo = true});
  world.Node(GpuNode("t", 1, "T4"));
  world.Node(GpuNode("a", 2, "A10"));
  const auto of = [](const char* model) {
    ShapeSpec shape = WholeGpus(1);
    shape.models = {model};
    return shape;
  };
  world.Submit(Gang("busy-t", 1, of("T4")));
  world.Submit(Gang("busy-a", 1, of("A10")));
  world.Cycle();
  world.Submit(Gang("first", 1, of("T4")));
  world.Submit(Job("second", {Group("t", 1, of("T4")), Group("a", 2, of("A10"))}));
  world.Submit(Gang("third", 1, of("A10")));
  EXPECT_EQ(world.Cycle(),
            "first waits TooFewWholeDevices, second waits BehindInPool, third waits BehindInPool")
      << Story(world.plan);
}

TEST(Reasons, ArentThoseOfAJobThatOwnsAHold) {
  TestEngine world;
  world.Node(GpuNode("n", 4));
  world.Submit(Gang("busy", 1, WholeGpus(1)));
  world.Cycle();
  world.Tell(HoldOf("h", "owner", "n", WholeGpus(3), DeviceMask(0b1110)));
  world.Submit(Gang("owner", 1, WholeGpus(4)));
  world.Submit(Gang("other", 1, WholeGpus(4)));
  EXPECT_EQ(world.Why("owner").have, 3);
  EXPECT_EQ(world.Why("other").have, 0);
}

TEST(Reasons, NameTheJobWhoseGroupItIs) {
  TestEngine world;
  world.Node(GpuNode("n", 1));
  for (const auto& [name, gpus] : {std::pair("small", 1), std::pair("large", 8)}) {
    JobSpec job = Gang(name, 1, WholeGpus(gpus));
    job.co_schedule = CoSchedule{.group = "both", .size = 2};
    world.Submit(job);
  }
  EXPECT_EQ(world.Why("small").group, "large/main");
  EXPECT_EQ(world.Why("large").group, "main");
}

TEST(Abort, IgnoresATaskThatOnlyLooksLikeOneInFewerBits) {
  TestEngine world;
  world.Node(GpuNode("n", 1));
  world.Submit(Gang("j", 1, WholeGpus(1)));
  world.Cycle();
  const std::int64_t far = std::int64_t{1} << 32;
  const Plan odd(0, 0, 0, {Place{.task = Key("j", far), .node = "n", .devices = DeviceMask(1)}});
  const auto effect = world.engine.Abort(odd);
  ASSERT_TRUE(IsOk(effect.status()));
  EXPECT_FALSE(effect->changed);
}

TEST(Started, OfAParkedTaskOnAnotherNodeIsRefused) {
  TestEngine world;
  world.Submit(Gang("j", 1, WholeGpus(1)));
  world.Tell(Found(Key("j"), "x", DeviceMask(1)));
  EXPECT_TRUE(Refused(world.Refusal(Found(Key("j"), "y", DeviceMask(1))),
                      absl::StatusCode::kInvalidArgument, {"place", "'x'"}));
}

TEST(Started, WithAnAttemptBeyondAllIsRefused) {
  TestEngine world;
  world.Submit(Gang("j", 1, WholeGpus(1)));
  EXPECT_TRUE(Refused(world.Refusal(Found(Key("j", 0, kMaxAttempt + 1), "x", DeviceMask(1))),
                      absl::StatusCode::kInvalidArgument, {"attempt", "9007199254740992"}));
}

TEST(Submit, ThatIsRefusedUsesUpNoModelNames) {
  TestEngine world(*Engine::Create({}, {}, [] {
    ModelCatalog catalog;
    for (int i = 0; i < 70; ++i) catalog.DeclareOpaque("m" + std::to_string(i));
    return catalog;
  }()));
  for (int i = 0; i < 63; ++i)
    world.Node(GpuNode("n" + std::to_string(i), 1, "m" + std::to_string(i)));
  const auto of = [](const char* model) {
    ShapeSpec shape = WholeGpus(1);
    shape.models = {model};
    return shape;
  };
  JobSpec job = Gang("j", 1, of("m63"));
  job.alternatives = {{Group("main", 1, of("m64"))}};
  EXPECT_TRUE(Refused(world.Refusal(SubmitJob{job}), absl::StatusCode::kResourceExhausted));
  world.Node(GpuNode("last", 1, "m65"));
}

}  // namespace
}  // namespace gpusched
