#include "gpusched/engine/account.h"

#include <gtest/gtest.h>

#include <string>

#include "engine/engine_fixture.h"

namespace gpusched {
namespace {

WaitReason Why(Reason reason, std::int64_t need = 0, std::int64_t have = 0) {
  WaitReason why;
  why.reason = reason;
  why.need = need;
  why.have = have;
  return why;
}

TEST(WaitText, HasTheReasonTheNumbersAndWhoIsMeant) {
  WaitReason gang = Why(Reason::kGangDoesNotFit, 4, 3);
  gang.group = "workers";
  gang.subject = "n3";
  EXPECT_EQ(WaitText(gang, Outcome::kWait),
            "GangDoesNotFit: 3 of 4 tasks that must start together find a place (group 'workers', "
            "nearest node 'n3')");
  gang.subject.clear();
  EXPECT_EQ(WaitText(gang, Outcome::kWait),
            "GangDoesNotFit: 3 of 4 tasks that must start together find a place (group 'workers')");
  WaitReason behind = Why(Reason::kBehindInPool);
  behind.subject = "other";
  EXPECT_EQ(WaitText(behind, Outcome::kWait),
            "BehindInPool: an older job waits for the same GPU models ('other')");
}

TEST(WaitText, SaysThatItIsForEver) {
  EXPECT_EQ(
      WaitText(Why(Reason::kInsufficientCpu, 9, 4), Outcome::kNever),
      "InsufficientCpu: 9 cpu_milli asked, 4 free; this cluster could not hold it when empty");
}

TEST(AccountText, HasALineForEachGroup) {
  JobAccount account;
  account.job = "j";
  EXPECT_FALSE(account.waits());
  EXPECT_EQ(AccountText(account),
            "job 'j' does not wait: it has what it asks for, or the next plan places it");
  account.outcome = Outcome::kWait;
  EXPECT_TRUE(account.waits());
  account.why = Why(Reason::kNoNodes);
  GroupAccount& own = account.groups.emplace_back();
  own.job = "j";
  own.group = "x";
  own.need = 2;
  own.text = "no.";
  GroupAccount& other = account.groups.emplace_back();
  other.job = "k";
  other.group = "y";
  other.alternative = 3;
  other.need = 5;
  other.placed = 4;
  other.text = "neither.";
  EXPECT_EQ(AccountText(account),
            "job 'j' waits: NoNodes: the cluster has no nodes\n"
            "  group 'x': 0 of 2 placed, then no.\n"
            "  job 'k', group 'y' of alternative 3: 4 of 5 placed, then neither.");
}

TEST(StatusOf, TellsAJobAsACallerSeesIt) {
  TestEngine world({.start_timeout = 300});
  world.Node(GpuNode("a", 2));
  world.Tell(Tick{100});
  JobSpec job = Service("s", 2, WholeGpus(1));
  job.priority = 4;
  job.queue = "q";
  job.groups.push_back(Group("cpu", 1, CpuTask(1)));
  world.Submit(job);
  world.Cycle();
  world.Tell(TaskStarted{Key("s", 1), {}});
  const JobStatus status = *world.engine.Job("s");
  EXPECT_EQ(status.job, "s");
  EXPECT_EQ(status.kind, JobKind::kService);
  EXPECT_EQ(status.queue, "q");
  EXPECT_EQ(status.priority, 4);
  EXPECT_EQ(status.submit_time, 100);
  EXPECT_EQ(status.alternative, 0);
  EXPECT_EQ(status.repair_deadline, kNoDeadline);
  EXPECT_FALSE(status.ending.has_value());
  ASSERT_EQ(status.tasks.size(), 3U);
  EXPECT_EQ(status.tasks[0].task, Key("s", 0));
  EXPECT_EQ(status.tasks[0].phase, TaskPhase::kAssumed);
  EXPECT_EQ(status.tasks[0].deadline, 400);
  EXPECT_EQ(status.tasks[1].phase, TaskPhase::kRunning);
  EXPECT_EQ(status.tasks[1].node, "a");
  EXPECT_EQ(status.tasks[1].devices, Devices({1}));
  EXPECT_EQ(status.tasks[2].task, Key("s", 0, 1, "cpu"));
  EXPECT_EQ(status.tasks[2].devices, DeviceMask());
}

TEST(StatusOf, APendingTaskHasNoPlaceAndTheNumberOfItsNextAttempt) {
  TestEngine world;
  world.Node(GpuNode("a", 1));
  world.Submit(Gang("j", 1, WholeGpus(1)));
  world.Cycle();
  world.Tell(TaskFailed{Key("j")});
  const TaskStatus task = world.Task("j");
  EXPECT_EQ(task.task.attempt, 2);
  EXPECT_EQ(task.node, "");
  EXPECT_EQ(task.devices, DeviceMask());
  EXPECT_EQ(task.deadline, kNoDeadline);
}

TEST(StatusOf, OverIsSaidByResourceAndDevice) {
  TestEngine world;
  NodeSpec node = GpuNode("a", 2, "T4", 4'000);
  for (DeviceSpec& device : node.devices) device.gpu_mem_mib = 16;
  world.Node(node);
  ShapeSpec shape = WholeGpus(1);
  shape.gpu_mem_mib = 12;
  world.Submit(Gang("gpu", 2, shape));
  world.Submit(Gang("cpu", 1, CpuTask(3'000)));
  world.Submit(Gang("memory", 1, CpuTask(0, 100)));
  world.Cycle();
  const auto over = [&] {
    std::string text;
    for (const JobStatus& job : world.engine.Jobs()) {
      for (const TaskStatus& task : job.tasks) {
        if (task.over) text += TaskName(task.task) + " ";
      }
    }
    return text;
  };
  EXPECT_EQ(over(), "");
  UpdateNode update = Change("a");
  update.devices = node.devices;
  (*update.devices)[1].gpu_mem_mib = 8;
  world.Tell(update);
  EXPECT_EQ(over(), "gpu/main/1 ");
  (*update.devices)[1].gpu_mem_mib = 16;
  (*update.devices)[0].gpu_milli = 500;
  world.Tell(update);
  EXPECT_EQ(over(), "gpu/main/0 ");
  update = Change("a");
  update.devices = node.devices;
  update.foreign = ForeignUsage{.cpu_milli = 2'000, .device_milli = {0, 1}};
  world.Tell(update);
  EXPECT_EQ(over(), "gpu/main/1 cpu/main/0 ");
  update.foreign = ForeignUsage{.mem_mib = node.mem_mib, .device_milli = {}};
  world.Tell(update);
  EXPECT_EQ(over(), "memory/main/0 ");
}

TEST(TaskNode, OfATaskThatIsNowhereIsEmpty) {
  TestEngine world;
  world.Submit(Gang("j", 2, WholeGpus(1)));
  world.Tell(Found(Key("j", 1), "to come", Devices({0})));
  const ClusterState& state = world.engine.state();
  EXPECT_EQ(TaskNode(state, state.jobs()[0], 0, 0), "");
  EXPECT_EQ(TaskNode(state, state.jobs()[0], 0, 1), "to come");
}

}  // namespace
}  // namespace gpusched
