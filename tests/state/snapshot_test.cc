#include "gpusched/state/snapshot.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cluster_fixture.h"
#include "gpusched/state/audit.h"
#include "job_specs.h"
#include "status_matchers.h"

namespace gpusched {
namespace {

using Code = absl::StatusCode;

TaskSnapshot PlacedTask(TaskPhase phase, std::string node, DeviceMask devices = {}) {
  TaskSnapshot task;
  task.phase = phase;
  task.node = std::move(node);
  task.devices = devices;
  return task;
}

// A bit of everything: two nodes, a job on its second alternative with a task of every phase, a
// parked one and one that is not wanted any more, and a hold.
StateSnapshot Everything() {
  StateSnapshot snapshot;
  snapshot.opaque_models = {"G2"};
  snapshot.now = 1'000;
  NodeSnapshot& a = snapshot.nodes.emplace_back();
  a.spec = GpuNode("a", 2);
  a.spec.devices[1].model = "G2";
  a.spec.devices[1].gpu_mem_mib = 16;
  a.lost.assign(2, {.model = "T4", .gpu_milli = 0, .gpu_mem_mib = {}});
  a.foreign = {.cpu_milli = 5, .mem_mib = 6, .device_milli = {0, 7}};
  NodeSnapshot& b = snapshot.nodes.emplace_back();
  b.spec = GpuNode("b", 0);
  b.cordoned = true;

  JobSnapshot& job = snapshot.jobs.emplace_back();
  job.spec = Gang("j", 1, CpuTask(1));
  job.spec.priority = 7;
  job.spec.labels = {{.key = "team", .value = "x"}};
  job.spec.alternatives = {{Group("cpu", 3, CpuTask(100)), Group("gpu", 2, ShareOf(200))}};
  job.spec.alternatives[0][0].min_available = 1;
  job.submit_time = 900;
  job.alternative = 1;
  job.first_attempt = 4;
  job.header.repair_deadline = 2'000;
  job.header.started_together = true;
  job.groups.resize(2);
  job.groups[0] = {PlacedTask(TaskPhase::kRunning, "b"), TaskSnapshot(),
                   PlacedTask(TaskPhase::kFinished, ""), PlacedTask(TaskPhase::kEvicting, "b")};
  job.groups[0][1].attempt = 5;
  job.groups[0][1].failures = 2;
  job.groups[1] = {PlacedTask(TaskPhase::kAssumed, "a", DeviceMask::Of(3)),
                   PlacedTask(TaskPhase::kRunning, "")};
  job.groups[1][0].deadline = 1'500;
  job.parked = {{.group = 1, .index = 1, .node = "to come", .devices = DeviceMask::Of(0)}};

  JobSnapshot& other = snapshot.jobs.emplace_back();
  other.spec = Service("s", 1, ShareOf(1));
  other.groups = {{TaskSnapshot()}};

  HoldSnapshot& hold = snapshot.holds.emplace_back();
  hold.name = "h";
  hold.owner = "s";
  hold.shape = ShareOf(100);
  hold.shape.models = {"A30", "G2"};
  hold.node = "a";
  hold.devices = DeviceMask::Of(1);
  hold.until = 3'000;
  return snapshot;
}

ClusterState Built(const StateSnapshot& snapshot) {
  absl::StatusOr<ClusterState> state = BuildState(snapshot);
  EXPECT_TRUE(IsOk(state.status()));
  return state.ok() ? *std::move(state) : ClusterState();
}

TEST(Snapshot, OfNothingIsNothing) {
  const StateSnapshot snapshot = *TakeSnapshot(ClusterState());
  EXPECT_TRUE(snapshot.nodes.empty() && snapshot.jobs.empty() && snapshot.holds.empty());
  EXPECT_EQ(StateHash(Built(snapshot)), StateHash(ClusterState()));
}

TEST(Snapshot, RoundTripGivesTheSameHash) {
  const ClusterState first = Built(Everything());
  const auto taken = TakeSnapshot(first);
  ASSERT_TRUE(IsOk(taken.status()));
  const ClusterState second = Built(*taken);
  EXPECT_EQ(StateHash(second), StateHash(first));
  EXPECT_TRUE(IsOk(Audit(first)));
  EXPECT_TRUE(IsOk(Audit(second)));
}

TEST(Snapshot, KeepsNodesInTheirOrderWithAllThatIsSaidOfThem) {
  const StateSnapshot taken = *TakeSnapshot(Built(Everything()));
  ASSERT_EQ(taken.nodes.size(), 2U);
  EXPECT_EQ(taken.nodes[0].spec, Everything().nodes[0].spec);
  EXPECT_EQ(taken.nodes[0].lost, Everything().nodes[0].lost);
  EXPECT_EQ(taken.nodes[0].foreign, Everything().nodes[0].foreign);
  EXPECT_FALSE(taken.nodes[0].cordoned);
  EXPECT_EQ(taken.nodes[1].spec.name, "b");
  EXPECT_TRUE(taken.nodes[1].cordoned);
  EXPECT_EQ(taken.opaque_models, Everything().opaque_models);
  EXPECT_EQ(taken.now, 1'000);
}

TEST(Snapshot, KeepsJobsInOrderOfSubmissionWithEachTask) {
  const StateSnapshot taken = *TakeSnapshot(Built(Everything()));
  ASSERT_EQ(taken.jobs.size(), 2U);
  const JobSnapshot& job = taken.jobs[0];
  const JobSnapshot expected = Everything().jobs[0];
  EXPECT_EQ(job.spec, expected.spec);
  EXPECT_EQ(job.submit_time, expected.submit_time);
  EXPECT_EQ(job.alternative, 1U);
  EXPECT_EQ(job.first_attempt, 4);
  EXPECT_EQ(job.header, expected.header);
  EXPECT_EQ(job.parked, expected.parked);
  ASSERT_EQ(job.groups.size(), 2U);
  for (std::size_t g = 0; g < 2; ++g) {
    ASSERT_EQ(job.groups[g].size(), expected.groups[g].size());
    for (std::size_t i = 0; i < job.groups[g].size(); ++i) {
      SCOPED_TRACE(testing::Message() << g << "/" << i);
      EXPECT_EQ(job.groups[g][i].phase, expected.groups[g][i].phase);
      EXPECT_EQ(job.groups[g][i].attempt, expected.groups[g][i].attempt);
      EXPECT_EQ(job.groups[g][i].failures, expected.groups[g][i].failures);
      EXPECT_EQ(job.groups[g][i].deadline, expected.groups[g][i].deadline);
      EXPECT_EQ(job.groups[g][i].node, expected.groups[g][i].node);
      EXPECT_EQ(job.groups[g][i].devices, expected.groups[g][i].devices);
    }
  }
  EXPECT_EQ(taken.jobs[1].spec.name, "s");
}

TEST(Snapshot, KeepsHolds) {
  const StateSnapshot taken = *TakeSnapshot(Built(Everything()));
  ASSERT_EQ(taken.holds.size(), 1U);
  EXPECT_EQ(taken.holds[0].name, "h");
  EXPECT_EQ(taken.holds[0].owner, "s");
  EXPECT_EQ(taken.holds[0].shape, Everything().holds[0].shape);
  EXPECT_EQ(taken.holds[0].node, "a");
  EXPECT_EQ(taken.holds[0].devices, DeviceMask::Of(1));
  EXPECT_EQ(taken.holds[0].until, 3'000);
}

TEST(Snapshot, ALostDeviceIsListedAndNotOfferedAgain) {
  const ClusterState state = Built(*TakeSnapshot(Built(Everything())));
  const std::uint32_t slot = state.FindNode("a")->slot;
  EXPECT_EQ(state.nodes().declared_devices(slot), 2U);
  ASSERT_EQ(state.nodes().devices(slot).size(), 4U);
  EXPECT_EQ(state.nodes().devices(slot)[3].used.gpu_milli, 200);
  EXPECT_EQ(state.nodes().device_free(slot)[3].gpu_milli, 0);
  EXPECT_EQ(state.node(slot).devices().size(), 2U);
}

TEST(Snapshot, TasksAreFoundInTheLedgerUnderTheirNames) {
  const ClusterState state = Built(Everything());
  EXPECT_EQ(state.tasks().size(), 3U);
  const auto task = state.FindTask("j/gpu/0");
  ASSERT_TRUE(task.has_value());
  EXPECT_EQ(state.tasks()[task->slot].owner.group, 1U);
  const JobRow& row = state.jobs()[state.FindJob("j")->slot];
  EXPECT_EQ(row.groups[1].tasks[0].ledger, *task);
  EXPECT_EQ(row.groups[0].surplus_placed, 1);
}

TEST(Snapshot, ANodeThatIsFullerThanItIsLargeIsKept) {
  StateSnapshot snapshot = Everything();
  snapshot.nodes[1].spec.cpu_milli = 50;
  const ClusterState state = Built(snapshot);
  EXPECT_EQ(state.node(state.FindNode("b")->slot).cpu_free(), 0);
  EXPECT_EQ(StateHash(Built(*TakeSnapshot(state))), StateHash(state));
}

TEST(TakeSnapshot, RefusesTasksWithoutAJob) {
  TestCluster cluster;
  cluster.Place("loose", CpuTask(1), cluster.AddNode(GpuNode("a", 1)));
  EXPECT_TRUE(
      Refused(TakeSnapshot(cluster.state), Code::kFailedPrecondition, {"'loose'", "no job"}));
}

// What somebody has written by hand, or a bug elsewhere.
TEST(BuildState, RefusesPartsThatDoNotGoTogether) {
  const std::vector<std::pair<std::string, std::function<void(StateSnapshot&)>>> cases = {
      {"a negative time", [](StateSnapshot& s) { s.now = -1; }},
      {"a model that is not known", [](StateSnapshot& s) { s.opaque_models.clear(); }},
      {"two nodes of one name", [](StateSnapshot& s) { s.nodes[1].spec.name = "a"; }},
      {"two jobs of one name", [](StateSnapshot& s) { s.jobs[1].spec.name = "j"; }},
      {"two holds of one name", [](StateSnapshot& s) { s.holds.push_back(s.holds[0]); }},
      {"a hold on no node", [](StateSnapshot& s) { s.holds[0].node = "x"; }},
      {"a task on no node", [](StateSnapshot& s) { s.jobs[0].groups[0][0].node = "x"; }},
      {"an alternative that is none", [](StateSnapshot& s) { s.jobs[0].alternative = 2; }},
      {"groups of another alternative", [](StateSnapshot& s) { s.jobs[0].alternative = 0; }},
      {"a job that is not valid", [](StateSnapshot& s) { s.jobs[0].spec.groups[0].count = -1; }},
      {"foreign use of no device", [](StateSnapshot& s) { s.nodes[1].foreign.device_milli = {1}; }},
  };
  for (const auto& [what, change] : cases) {
    StateSnapshot snapshot = Everything();
    change(snapshot);
    const auto state = BuildState(snapshot);
    EXPECT_FALSE(state.ok()) << what;
  }
}

// The same, where nothing but BuildState itself could notice.
TEST(BuildState, RefusesTasksThatStandNowhere) {
  const std::vector<std::pair<std::string, std::function<void(StateSnapshot&)>>> cases = {
      {"a running task without a place",
       [](StateSnapshot& s) { s.jobs[0].groups[0][0].node = ""; }},
      {"a pending task with a place", [](StateSnapshot& s) { s.jobs[0].groups[0][1].node = "b"; }},
      {"a finished task with a place", [](StateSnapshot& s) { s.jobs[0].groups[0][2].node = "b"; }},
      {"more devices than the task asks",
       [](StateSnapshot& s) {
         s.jobs[0].groups[1][0].devices = Devices({0, 3});
       }},
      {"no device for a task that asks one",
       [](StateSnapshot& s) { s.jobs[0].groups[1][0].devices = {}; }},
      {"a device that the node never had",
       [](StateSnapshot& s) { s.jobs[0].groups[1][0].devices = DeviceMask::Of(9); }},
      {"a hold on a device that the node never had",
       [](StateSnapshot& s) { s.holds[0].devices = DeviceMask::Of(9); }},
      {"a parked task of no group", [](StateSnapshot& s) { s.jobs[0].parked[0].group = 9; }},
      {"a parked task of no index", [](StateSnapshot& s) { s.jobs[0].parked[0].index = 9; }},
      {"a task that is parked and has a place",
       [](StateSnapshot& s) { s.jobs[0].parked[0].index = 0; }},
      {"a task that is parked twice",
       [](StateSnapshot& s) { s.jobs[0].parked.push_back(s.jobs[0].parked[0]); }},
  };
  for (const auto& [what, change] : cases) {
    StateSnapshot snapshot = Everything();
    change(snapshot);
    const auto state = BuildState(snapshot);
    EXPECT_FALSE(state.ok()) << what;
  }
}

}  // namespace
}  // namespace gpusched
