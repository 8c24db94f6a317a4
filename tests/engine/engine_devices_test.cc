// Shared devices through the engine: plans, news, holds, journal.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "engine_fixture.h"
#include "gpusched/engine/restore.h"
#include "gpusched/policy/score/mig_start.h"
#include "gpusched/spec/validate_model.h"

namespace gpusched {
namespace {

NodeSpec Partitioned(std::string name, int devices = 1) {
  NodeSpec node{.name = std::move(name), .cpu_milli = 1'000, .mem_mib = 1'000, .devices = {}};
  node.devices.assign(
      static_cast<std::size_t>(devices),
      {.model = "A100-SXM4-40GB", .gpu_mem_mib = 40'960, .partition_on_demand = true});
  return node;
}

ShapeSpec Profile(const std::string& name, std::int64_t count = 1) {
  return {.gpu_count = count, .models = {}, .mig_profile = name};
}

JobSpec Job(const std::string& name, const std::vector<ShapeSpec>& shapes) {
  JobSpec job;
  job.name = name;
  for (const ShapeSpec& shape : shapes) {
    job.groups.push_back({.name = "g" + std::to_string(job.groups.size()),
                          .shape = shape,
                          .count = 1,
                          .min_available = std::nullopt,
                          .max_tasks_per_node = std::nullopt});
  }
  return job;
}

// "g0 3g.20gb@4 of 0" for each placement with instances.
std::vector<std::string> Instances(const Plan& plan) {
  std::vector<std::string> texts;
  for (const Step& step : plan.steps()) {
    const auto* const place = std::get_if<Place>(&step);
    if (place == nullptr) continue;
    for (const MigInstance& instance : place->grant.instances) {
      texts.push_back(place->task.group + " " + instance.profile + "@" +
                      std::to_string(instance.start) + " of " + std::to_string(instance.device));
    }
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST(EngineDevices, ThreeAndFourInOneRequestWhateverTheOrder) {
  for (const bool three_first : {true, false}) {
    TestEngine engine;
    engine.Tell(AddNode{Partitioned("n")});
    const std::vector<ShapeSpec> shapes =
        three_first ? std::vector<ShapeSpec>{Profile("3g.20gb"), Profile("4g.20gb")}
                    : std::vector<ShapeSpec>{Profile("4g.20gb"), Profile("3g.20gb")};
    engine.Tell(SubmitJob{Job("j", shapes)});
    const Plan plan = *engine.engine.Decide(0);
    const Texts expected = three_first ? Texts{"g0 3g.20gb@4 of 0", "g1 4g.20gb@0 of 0"}
                                       : Texts{"g0 4g.20gb@0 of 0", "g1 3g.20gb@4 of 0"};
    Texts texts = Instances(plan);
    std::sort(texts.begin(), texts.end());
    EXPECT_EQ(texts, expected);
  }
}

TEST(EngineDevices, WhatOneDeviceCannotHoldFindsNoPlace) {
  TestEngine engine;
  engine.Tell(AddNode{Partitioned("n")});
  engine.Tell(SubmitJob{Job("j", {Profile("1g.10gb", 4), Profile("1g.5gb", 3)})});
  const Plan plan = *engine.engine.Decide(0);
  ASSERT_EQ(plan.steps().size(), 1U);
  EXPECT_TRUE(std::holds_alternative<Wait>(plan.steps()[0])) << Story(plan);
  const auto account = engine.engine.Explain("j");
  ASSERT_TRUE(account.ok());
  EXPECT_EQ(account->groups[0].refusal.dominant(), Reason::kNoMigPlacement);
}

TEST(EngineDevices, AJournalBringsTheInstancesBack) {
  std::string bytes;
  TestEngine engine;
  ASSERT_TRUE(IsOk(engine.engine.SetJournal(std::make_unique<StringJournal>(bytes))));
  engine.Tell(AddNode{Partitioned("n", 2)});
  engine.Tell(SubmitJob{Job("j", {Profile("2g.10gb", 2), Profile("3g.20gb")})});
  ASSERT_TRUE(engine.engine.Commit(*engine.engine.Decide(0)).ok());
  engine.Tell(TaskStarted{.task = Key("j", 0, 1, "g0"), .place = std::nullopt});
  const auto restored = Restore(bytes, {}, ReplayMode::kVerify);
  ASSERT_TRUE(IsOk(restored.status()));
  EXPECT_EQ(restored->report.problem, "");
  EXPECT_EQ(StateHash(restored->engine.state()), engine.hash());
  const auto loaded = Engine::Load(*engine.engine.Save());
  ASSERT_TRUE(IsOk(loaded.status()));
  EXPECT_EQ(StateHash(loaded->state()), engine.hash());
  EXPECT_EQ(loaded->Job("j")->tasks[0].grant, engine.engine.Job("j")->tasks[0].grant);
  EXPECT_EQ(loaded->Job("j")->tasks[0].grant.mode, SharingMode::kMig);
}

TEST(EngineDevices, AdoptedInstancesArriveInAnyOrder) {
  TestEngine first;
  TestEngine second;
  const SubmitJob submit{Job("j", {Profile("3g.20gb")})};
  const TaskStarted started{
      .task = Key("j", 0, 1, "g0"),
      .place =
          TaskPlace{.node = "n", .devices = DeviceMask::Of(0), .instances = {{0, "3g.20gb", 0}}}};
  first.Tell(AddNode{Partitioned("n")});
  first.Tell(submit);
  first.Tell(started);
  second.Tell(submit);
  second.Tell(started);
  EXPECT_EQ(second.engine.Job("j")->tasks[0].grant.instances, started.place->instances);
  second.Tell(AddNode{Partitioned("n")});
  EXPECT_EQ(first.hash(), second.hash());
  EXPECT_EQ(first.engine.state().nodes().devices(0)[0].used.gpu_milli, 428);
}

TEST(EngineDevices, NewsMustNameInstancesAsAsked) {
  TestEngine engine;
  engine.Tell(AddNode{Partitioned("n")});
  engine.Tell(SubmitJob{Job("j", {Profile("3g.20gb")})});
  TaskStarted started{.task = Key("j", 0, 1, "g0"),
                      .place = TaskPlace{.node = "n", .devices = DeviceMask::Of(0)}};
  const std::uint64_t before = engine.hash();
  EXPECT_TRUE(Refused(engine.engine.Apply(started), absl::StatusCode::kInvalidArgument,
                      {"j/g0/0", "instances"}));
  started.place->instances = {{0, "3g.20gb", 9}};
  EXPECT_TRUE(Refused(engine.engine.Apply(started), absl::StatusCode::kInvalidArgument,
                      {"instances[0].start", "9"}));
  EXPECT_EQ(engine.hash(), before);
}

TEST(EngineDevices, AHoldKeepsAnInstance) {
  TestEngine engine({}, {.placer = PlacerOf(MigStart{}), .order = {}});
  engine.Tell(AddNode{Partitioned("n")});
  engine.Tell(HoldCapacity{.name = "h",
                           .owner = "later",
                           .node = "n",
                           .shape = Profile("4g.20gb"),
                           .devices = DeviceMask::Of(0),
                           .instances = {{0, "4g.20gb", 0}}});
  engine.Tell(SubmitJob{Job("now", {Profile("3g.20gb")})});
  engine.Tell(SubmitJob{Job("more", {Profile("1g.5gb")})});
  const Plan plan = *engine.engine.Decide(0);
  EXPECT_EQ(Instances(plan), Texts{"g0 3g.20gb@4 of 0"});
  EXPECT_EQ(Story(plan), "now/g0/0@n, more waits NoMigPlacement");
}

TEST(EngineDevices, ADeviceInUseStaysWhatItIs) {
  TestEngine engine;
  engine.Tell(AddNode{Partitioned("n")});
  engine.Tell(SubmitJob{Job("j", {Profile("1g.5gb")})});
  ASSERT_TRUE(engine.engine.Commit(*engine.engine.Decide(0)).ok());
  UpdateNode update{
      .node = "n", .cpu_milli = {}, .mem_mib = {}, .devices = {}, .foreign = std::nullopt};
  update.devices = Partitioned("n").devices;
  (*update.devices)[0].sharing = SharingMode::kExclusive;
  EXPECT_TRUE(Refused(engine.engine.Apply(update), absl::StatusCode::kFailedPrecondition,
                      {"devices[0].sharing", "exclusive", "fraction", "somebody uses it"}));
  (*update.devices)[0].sharing = SharingMode::kFraction;
  (*update.devices)[0].partition_on_demand = false;
  EXPECT_TRUE(Refused(engine.engine.Apply(update), absl::StatusCode::kFailedPrecondition,
                      {"devices[0].partition_on_demand"}));
}

// A catalogue of one's own is saved with the state.
TEST(EngineDevices, AddedModelsAreSaved) {
  ModelCatalog catalog;
  ASSERT_TRUE(IsOk(AddMigGeometry(catalog, {.name = "half",
                                            .compute_slices = 2,
                                            .memory_slices = 2,
                                            .profiles = {{.name = "1h",
                                                          .compute_slices = 1,
                                                          .memory_slices = 1,
                                                          .mem_mib = 100,
                                                          .starts = {0, 1}}},
                                            .unsourced = {}})));
  ASSERT_TRUE(IsOk(AddModel(catalog, {.name = "X1", .memory_gib = 5, .mig = "half"})));
  TestEngine engine(*Engine::Create({}, {}, catalog));
  NodeSpec node{.name = "n", .cpu_milli = 0, .mem_mib = 0, .devices = {}};
  node.devices.push_back({.model = "X1", .gpu_mem_mib = std::nullopt});
  node.devices[0].partition_on_demand = true;
  engine.Tell(AddNode{node});
  engine.Tell(SubmitJob{Job("j", {Profile("1h")})});
  ASSERT_TRUE(engine.engine.Commit(*engine.engine.Decide(0)).ok());
  auto loaded = Engine::Load(*engine.engine.Save());
  ASSERT_TRUE(IsOk(loaded.status()));
  EXPECT_EQ(StateHash(loaded->state()), engine.hash());
  EXPECT_EQ(loaded->state().catalog().Find("X1")->memory_gib, 5);
  EXPECT_TRUE(loaded->Apply(SubmitJob{Job("k", {Profile("1h")})}).ok());
  EXPECT_EQ(Instances(*loaded->Decide(0)), Texts{"g0 1h@1 of 0"});
}

}  // namespace
}  // namespace gpusched
