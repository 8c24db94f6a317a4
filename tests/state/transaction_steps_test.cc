// Each step of a Transaction beyond nodes and tasks (updates, holds, jobs, time), and its undoing.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cluster_fixture.h"
#include "gpusched/state/audit.h"
#include "gpusched/state/transaction.h"
#include "job_specs.h"
#include "state/state_details.h"
#include "status_matchers.h"

namespace gpusched {
namespace {

using Code = absl::StatusCode;

// Two nodes, a task on each, a job with a placed task and a hold.
class TransactionSteps : public testing::Test {
 protected:
  TransactionSteps() {
    spec = GpuNode("a", 4);
    spec.devices[3].gpu_mem_mib = 100;
    a = cluster.AddNode(spec);
    b = cluster.AddNode(GpuNode("b", 1, "A30"));
    cluster.SetForeign(a, {.cpu_milli = 1, .mem_mib = 2, .device_milli = {0, 0, 300, 5}});
    Transaction transaction(cluster.state);
    JobSpec wish = Gang("j", 3, ShareOf(500, 1'000));
    wish.anti_affinity = {{.key = "team", .value = "x"}};
    wish.alternatives = {{Group("cpu", 2, CpuTask(1)), Group("more", 1, CpuTask(2))}};
    job = *transaction.AddJob(wish, 5);
    const ShapeId shape = cluster.state.jobs()[job.slot].groups[0].shape;
    TaskState task;
    task.phase = TaskPhase::kRunning;
    task.ledger = *transaction.Place("j/main/0", shape, {a, DeviceMask::Of(3)}, {job, 0, 0});
    EXPECT_TRUE(IsOk(transaction.SetTask(job, 0, 0, task)));
    EXPECT_TRUE(IsOk(transaction.AddHold(HoldOn("h", a, Devices({1})))));
    EXPECT_TRUE(IsOk(transaction.SetNow(1'000)));
    transaction.Commit();
  }

  Hold HoldOn(std::string name, NodeId node, DeviceMask devices) {
    return {.name = std::move(name),
            .owner = "j",
            .shape = cluster.Intern(ShareOf(200)),
            .placement = {node, devices}};
  }

  NodeSpec Smaller(std::size_t devices) {
    NodeSpec smaller = spec;
    smaller.devices.resize(devices, spec.devices[0]);
    return smaller;
  }

  // Does it, sees that it shows, undoes it, and sees nothing of it.
  void Undone(const std::function<absl::Status(Transaction&)>& step) {
    const std::uint64_t hash = cluster.hash();
    const std::string details = Details(cluster.state);
    Transaction transaction(cluster.state);
    ASSERT_TRUE(IsOk(step(transaction)));
    EXPECT_TRUE(IsOk(Audit(cluster.state)));
    EXPECT_TRUE(cluster.hash() != hash || Details(cluster.state) != details) << "it does nothing";
    transaction.RollbackTo(0);
    EXPECT_EQ(cluster.hash(), hash);
    EXPECT_EQ(Details(cluster.state), details);
    EXPECT_TRUE(IsOk(Audit(cluster.state)));
  }

  TestCluster cluster;
  NodeSpec spec;
  NodeId a, b;
  JobId job;
};

TEST_F(TransactionSteps, ANodeThatShrinksUnderUseIsUndone) {
  Undone([&](Transaction& t) { return t.UpdateNode(a, Smaller(2)); });
  Undone([&](Transaction& t) { return t.UpdateNode(a, Smaller(0)); });
}

TEST_F(TransactionSteps, ANodeThatGrowsIsUndone) {
  Undone([&](Transaction& t) { return t.UpdateNode(a, Smaller(7)); });
  Undone([&](Transaction& t) {
    NodeSpec larger = GpuNode("b", 9, "A30");
    larger.devices[5].model = "K80";
    return t.UpdateNode(b, larger);
  });
}

TEST_F(TransactionSteps, ANodeThatShrinksAndGrowsAgainIsUndone) {
  Undone([&](Transaction& t) {
    const absl::Status shrunk = t.UpdateNode(a, Smaller(1));
    return shrunk.ok() ? t.UpdateNode(a, Smaller(6)) : shrunk;
  });
}

// The task on device 3 keeps the list at four; the node is told to have three of them again.
TEST_F(TransactionSteps, ANodeMayGrowUpToADeviceThatIsStillLost) {
  Undone([&](Transaction& t) {
    const absl::Status shrunk = t.UpdateNode(a, Smaller(2));
    return shrunk.ok() ? t.UpdateNode(a, Smaller(3)) : shrunk;
  });
}

TEST_F(TransactionSteps, WhatOthersUseOfALostDeviceIsForgotten) {
  Transaction transaction(cluster.state);
  ASSERT_TRUE(IsOk(transaction.UpdateNode(a, Smaller(2))));
  EXPECT_EQ(cluster.state.nodes().foreign(a.slot)[ResourceKind::kGpuMilli], 0);
  ASSERT_TRUE(IsOk(transaction.UpdateNode(a, spec)));
  EXPECT_EQ(cluster.node(a).devices()[2].gpu_milli, 1'000);
}

TEST_F(TransactionSteps, ALostDeviceThatComesBackHasItsTaskOnIt) {
  Transaction transaction(cluster.state);
  ASSERT_TRUE(IsOk(transaction.UpdateNode(a, Smaller(2))));
  EXPECT_EQ(cluster.node(a).devices().size(), 2U);
  EXPECT_EQ(cluster.state.nodes().devices(a.slot).size(), 4U);
  ASSERT_TRUE(IsOk(transaction.UpdateNode(a, spec)));
  EXPECT_EQ(cluster.node(a).devices()[3].gpu_milli, 500);
  EXPECT_TRUE(IsOk(Audit(cluster.state)));
}

TEST_F(TransactionSteps, TheClusterSumFollowsANodeThatChanges) {
  Transaction transaction(cluster.state);
  ASSERT_TRUE(IsOk(transaction.UpdateNode(a, Smaller(1))));
  EXPECT_EQ(cluster.state.capacity()[ResourceKind::kGpuMilli], 2'000);
  NodeSpec larger = Smaller(8);
  larger.cpu_milli = 1;
  ASSERT_TRUE(IsOk(transaction.UpdateNode(a, larger)));
  EXPECT_EQ(cluster.state.capacity()[ResourceKind::kGpuMilli], 9'000);
  EXPECT_EQ(cluster.state.capacity()[ResourceKind::kCpuMilli], 96'001);
}

TEST_F(TransactionSteps, UpdateNodeSaysWhatItRefuses) {
  const std::uint64_t hash = cluster.hash();
  const std::string details = Details(cluster.state);
  Transaction transaction(cluster.state);
  NodeSpec other = spec;
  other.name = "c";
  EXPECT_TRUE(Refused(transaction.UpdateNode(a, other), Code::kFailedPrecondition,
                      {"'a'", "a node keeps its name"}));
  other = spec;
  other.cpu_milli = -1;
  EXPECT_TRUE(Refused(transaction.UpdateNode(a, other), Code::kInvalidArgument, {"cpu_milli"}));
  other = spec;
  other.devices[3].model = "A30";
  EXPECT_TRUE(Refused(transaction.UpdateNode(a, other), Code::kFailedPrecondition,
                      {"devices[3].model", "'T4'", "somebody uses it"}));
  other = spec;
  other.devices[1].model = "A30";
  EXPECT_TRUE(
      Refused(transaction.UpdateNode(a, other), Code::kFailedPrecondition, {"devices[1].model"}))
      << "it is held";
  other = spec;
  other.devices[0].model = "A30";
  EXPECT_TRUE(Refused(transaction.UpdateNode(NodeId(), spec), Code::kNotFound));
  EXPECT_EQ(cluster.hash(), hash);
  EXPECT_EQ(Details(cluster.state), details);
  EXPECT_TRUE(IsOk(transaction.UpdateNode(a, other))) << "nobody uses device 0";
}

// The task was placed on a T4, which is lost; an A30 in its slot is another device.
TEST_F(TransactionSteps, ALostDeviceInUseDoesNotComeBackAsAnotherModel) {
  Transaction transaction(cluster.state);
  ASSERT_TRUE(IsOk(transaction.UpdateNode(a, Smaller(2))));
  const std::uint64_t hash = cluster.hash();
  NodeSpec other = spec;
  other.devices[3].model = "A30";
  EXPECT_TRUE(Refused(transaction.UpdateNode(a, other), Code::kFailedPrecondition,
                      {"devices[3].model", "somebody uses it"}));
  EXPECT_EQ(cluster.hash(), hash);
}

TEST_F(TransactionSteps, CordonsAreUndone) {
  Undone([&](Transaction& t) { return t.SetCordoned(a, true); });
  Transaction transaction(cluster.state);
  EXPECT_TRUE(Refused(transaction.SetCordoned(NodeId(), true), Code::kNotFound));
}

TEST_F(TransactionSteps, ACordonedNodeTakesWhatIsPlacedByName) {
  Transaction transaction(cluster.state);
  ASSERT_TRUE(IsOk(transaction.SetCordoned(a, true)));
  EXPECT_TRUE(transaction.Place("t", cluster.Intern(ShareOf(100)), {a, DeviceMask::Of(0)}).ok());
}

TEST_F(TransactionSteps, AdoptTakesMoreThanThereIsAndIsUndone) {
  const ShapeId large = cluster.Intern(WholeGpus(1, 95'500));
  Undone([&](Transaction& t) {
    const absl::Status first = t.Adopt("x", large, {a, DeviceMask::Of(3)}).status();
    EXPECT_EQ(cluster.node(a).cpu_free(), 0);
    EXPECT_EQ(cluster.node(a).devices()[3].gpu_milli, 0);
    return first;
  });
  Transaction transaction(cluster.state);
  const Placement there{a, DeviceMask::Of(3)};
  EXPECT_TRUE(Refused(transaction.Place("x", large, there), Code::kFailedPrecondition));
  EXPECT_TRUE(Refused(transaction.Adopt("", large, there), Code::kInvalidArgument));
  EXPECT_TRUE(Refused(transaction.Adopt("j/main/0", large, there), Code::kAlreadyExists));
  EXPECT_TRUE(Refused(transaction.Adopt("x", ShapeId(), there), Code::kInvalidArgument));
  EXPECT_TRUE(Refused(transaction.Adopt("x", large, {NodeId(), {}}), Code::kNotFound));
}

TEST_F(TransactionSteps, HoldsAreUndone) {
  Undone([&](Transaction& t) { return t.AddHold(HoldOn("g", b, Devices({0}))); });
  Undone([&](Transaction& t) { return t.DropHold(0); });
  Undone([&](Transaction& t) {
    const absl::Status dropped = t.DropHold(0);
    return dropped.ok() ? t.AddHold(HoldOn("h", a, Devices({0}))) : dropped;
  });
}

TEST_F(TransactionSteps, AHoldSaysWhatItLacks) {
  const std::uint64_t hash = cluster.hash();
  Transaction transaction(cluster.state);
  EXPECT_TRUE(Refused(transaction.AddHold(HoldOn("h", b, Devices({0}))), Code::kAlreadyExists,
                      {"'h'", "drop it first"}));
  EXPECT_TRUE(Refused(transaction.AddHold(HoldOn("", b, Devices({0}))), Code::kInvalidArgument));
  EXPECT_TRUE(Refused(transaction.AddHold(HoldOn("g", NodeId(), {})), Code::kNotFound));
  EXPECT_TRUE(Refused(transaction.AddHold(HoldOn("g", b, Devices({1}))), Code::kFailedPrecondition,
                      {"devices[1] is missing"}));
  Hold large = HoldOn("g", a, Devices({1}));
  large.shape = cluster.Intern(ShareOf(801));
  EXPECT_TRUE(Refused(transaction.AddHold(large), Code::kFailedPrecondition,
                      {"devices[1].gpu_milli is 800 free"}));
  large.shape = ShapeId();
  EXPECT_TRUE(Refused(transaction.AddHold(large), Code::kInvalidArgument, {"shape"}));
  EXPECT_TRUE(Refused(transaction.DropHold(1), Code::kNotFound, {"there are 1 holds"}));
  EXPECT_EQ(cluster.hash(), hash);
}

TEST_F(TransactionSteps, ANodeWithAHoldIsNotRemoved) {
  Transaction transaction(cluster.state);
  ASSERT_TRUE(IsOk(transaction.Release(*cluster.state.FindTask("j/main/0"))));
  EXPECT_TRUE(Refused(transaction.RemoveNode(a), Code::kFailedPrecondition, {"1 hold"}));
  ASSERT_TRUE(IsOk(transaction.DropHold(0)));
  EXPECT_TRUE(IsOk(transaction.RemoveNode(a)));
}

TEST_F(TransactionSteps, JobsThatComeAndGoAreUndone) {
  Undone([&](Transaction& t) { return t.AddJob(Gang("new", 2, CpuTask(1)), 7).status(); });
  Undone([&](Transaction& t) { return t.RemoveJob(job); });
  Undone([&](Transaction& t) {
    std::vector<std::vector<TaskState>> tasks(1);
    tasks[0].resize(3);
    tasks[0][2].phase = TaskPhase::kFinished;
    return t.RestoreJob(Gang("new", 2, CpuTask(1)), 7, 0, 1, JobHeader(), tasks).status();
  });
}

TEST_F(TransactionSteps, WhatIsSetOfAJobIsUndone) {
  Undone([&](Transaction& t) { return t.SetHeader(job, {.repair_deadline = 9, .ending = {}}); });
  Undone([&](Transaction& t) {
    TaskState task = cluster.state.jobs()[job.slot].groups[0].tasks[1];
    task.phase = TaskPhase::kFinished;
    return t.SetTask(job, 0, 1, task);
  });
  Undone([&](Transaction& t) {
    return t.SetParked(job, {{.group = 0, .index = 1, .node = "x", .devices = {}}});
  });
  Undone([&](Transaction& t) {
    JobSpec wish = cluster.state.jobs()[job.slot].spec;
    wish.groups[0].count = 1;
    wish.groups[0].min_available = 1;
    return t.SetSpec(job, wish);
  });
  Undone([&](Transaction& t) { return t.SetAlternative(job, 1); });
}

TEST_F(TransactionSteps, TheTimeIsUndoneAndDoesNotGoBackwards) {
  Undone([&](Transaction& t) { return t.SetNow(2'000); });
  Transaction transaction(cluster.state);
  EXPECT_TRUE(Refused(transaction.SetNow(999), Code::kInvalidArgument, {"1000"}));
  EXPECT_TRUE(Refused(transaction.SetNow(kMaxTime + 1), Code::kInvalidArgument));
  EXPECT_TRUE(IsOk(transaction.SetNow(1'000)));
}

TEST_F(TransactionSteps, NamesOfLiveJobsAreTaken) {
  Transaction transaction(cluster.state);
  EXPECT_TRUE(Refused(transaction.AddJob(Gang("j", 1, CpuTask(1)), 0), Code::kAlreadyExists,
                      {"'j'", "live"}));
  ASSERT_TRUE(IsOk(transaction.RemoveJob(job)));
  EXPECT_TRUE(transaction.AddJob(Gang("j", 1, CpuTask(1)), 0).ok());
}

TEST_F(TransactionSteps, AStaleJobIsNotFound) {
  Transaction transaction(cluster.state);
  ASSERT_TRUE(IsOk(transaction.RemoveJob(job)));
  EXPECT_TRUE(Refused(transaction.RemoveJob(job), Code::kNotFound, {"look it up anew"}));
  EXPECT_TRUE(Refused(transaction.SetHeader(job, {}), Code::kNotFound));
  EXPECT_TRUE(Refused(transaction.SetTask(job, 0, 0, {}), Code::kNotFound));
  EXPECT_TRUE(Refused(transaction.SetAlternative(job, 1), Code::kNotFound));
  EXPECT_TRUE(Refused(transaction.SetSpec(job, {}), Code::kNotFound));
  EXPECT_TRUE(Refused(transaction.SetParked(job, {}), Code::kNotFound));
}

TEST_F(TransactionSteps, ASecondTransactionMayDoNoneOfThis) {
  const Transaction first(cluster.state);
  Transaction second(cluster.state);
  constexpr Code kCode = Code::kFailedPrecondition;
  EXPECT_TRUE(Refused(second.UpdateNode(a, spec), kCode));
  EXPECT_TRUE(Refused(second.SetCordoned(a, true), kCode));
  EXPECT_TRUE(Refused(second.AddHold(HoldOn("g", b, Devices({0}))), kCode));
  EXPECT_TRUE(Refused(second.DropHold(0), kCode));
  EXPECT_TRUE(Refused(second.AddJob(Gang("k", 1, CpuTask(1)), 0), kCode));
  EXPECT_TRUE(Refused(second.RemoveJob(job), kCode));
  EXPECT_TRUE(Refused(second.SetNow(5'000), kCode));
}

TEST_F(TransactionSteps, AttemptsGoOnUnderAnotherAlternativeAndBack) {
  Transaction transaction(cluster.state);
  const JobRow& row = cluster.state.jobs()[job.slot];
  TaskState task;
  task.attempt = 4;
  task.phase = TaskPhase::kPending;
  ASSERT_TRUE(IsOk(transaction.SetTask(job, 0, 0, task)));
  ASSERT_TRUE(IsOk(transaction.SetAlternative(job, 1)));
  EXPECT_EQ(row.groups.size(), 2U);
  EXPECT_EQ(row.groups[0].tasks[0].attempt, 4);
  ASSERT_TRUE(IsOk(transaction.SetAlternative(job, 0)));
  EXPECT_EQ(row.groups[0].tasks[0].attempt, 4) << "nothing was placed between";
}

}  // namespace
}  // namespace gpusched
