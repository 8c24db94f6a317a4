#include "gpusched/journal/text.h"

#include <gtest/gtest.h>

#include <string>

#include "gpusched/base/rng.h"
#include "gpusched/journal/codec.h"
#include "gpusched/journal/commit_record.h"
#include "journal/random_values.h"

namespace gpusched {
namespace {

const TaskKey kTask{.job = "j", .group = "main", .index = 0, .attempt = 2};

DeviceMask Devices01() { return DeviceMask(3); }

TaskGroupSpec Group(std::string name, std::int64_t count) {
  TaskGroupSpec group;
  group.name = std::move(name);
  group.count = count;
  return group;
}

TEST(EventText, SaysWhatWasTold) {
  NodeSpec node{.name = "n1", .cpu_milli = 96'000, .mem_mib = 1'000, .devices = {}};
  EXPECT_EQ(EventText(AddNode{node}), "add node 'n1': cpu_milli 96000, mem_mib 1000, 0 devices");
  for (const char* model : {"T4", "A10", "T4"})
    node.devices.push_back({.model = model, .gpu_mem_mib = {}});
  EXPECT_EQ(EventText(AddNode{node}),
            "add node 'n1': cpu_milli 96000, mem_mib 1000, 3 devices (2 T4, 1 A10)");
  EXPECT_EQ(EventText(RemoveNode{"n1"}), "remove node 'n1'");
  EXPECT_EQ(EventText(CordonNode{"n1", true}), "cordon node 'n1'");
  EXPECT_EQ(EventText(CordonNode{"n1", false}), "uncordon node 'n1'");
  EXPECT_EQ(EventText(CancelJob{"j"}), "cancel job 'j'");
  EXPECT_EQ(EventText(TaskStarted{kTask, {}}), "started j/main/0 attempt 2");
  EXPECT_EQ(EventText(TaskStarted{kTask, TaskPlace{"n1", DeviceMask::Of(5)}}),
            "started j/main/0 attempt 2 on n1 device 5");
  EXPECT_EQ(EventText(TaskFinished{kTask}), "finished j/main/0 attempt 2");
  EXPECT_EQ(EventText(TaskFailed{kTask}), "failed j/main/0 attempt 2");
  EXPECT_EQ(EventText(TaskEvicted{kTask}), "evicted j/main/0 attempt 2");
  EXPECT_EQ(EventText(DropHold{"h"}), "drop hold 'h'");
  EXPECT_EQ(EventText(Tick{60'000'000}), "tick to 60000000 us");
}

TEST(EventText, OfAnUpdateSaysWhatChanges) {
  UpdateNode node;
  node.node = "n1";
  EXPECT_EQ(EventText(node), "update node 'n1': nothing");
  node.cpu_milli = 5;
  node.devices.emplace(1, DeviceSpec{.model = "T4", .gpu_mem_mib = {}});
  node.foreign = ForeignUsage{.cpu_milli = 1, .mem_mib = 2, .device_milli = {1000, 0}};
  EXPECT_EQ(EventText(node),
            "update node 'n1': cpu_milli 5, 1 device (1 T4), "
            "foreign (cpu_milli 1, mem_mib 2, device_milli 1000,0)");
  UpdateJob job;
  job.job = "j";
  EXPECT_EQ(EventText(job), "update job 'j': nothing");
  job.queue = "q";
  job.priority = -1;
  job.groups = {{.group = "main", .count = 3, .min_available = 1, .shape = ShapeSpec()}};
  EXPECT_EQ(EventText(job),
            "update job 'j': queue 'q', priority -1, group 'main' count 3 min_available 1 "
            "shape (cpu_milli 0, mem_mib 0)");
}

TEST(EventText, OfAJobSaysWhatItAsks) {
  JobSpec job;
  job.name = "j";
  job.groups = {Group("main", 4)};
  EXPECT_EQ(EventText(SubmitJob{job}),
            "submit job 'j': batch, 4 tasks (main 4), queue 'default', priority 0");
  job.kind = JobKind::kService;
  job.groups.push_back(Group("ps", 1));
  job.alternatives = {{Group("main", 8)}};
  job.submit_time = 5;
  job.max_attempts = 3;
  job.homogeneous = true;
  job.anti_affinity = {{"app", "web"}};
  job.co_schedule = CoSchedule{.group = "both", .size = 2};
  EXPECT_EQ(EventText(SubmitJob{job}),
            "submit job 'j': service, 5 tasks (main 4 of which 1 at once, ps 1), "
            "else 8 tasks (main 8 of which 1 at once), queue 'default', priority 0, "
            "submitted at 5 us, max_attempts 3, homogeneous, anti_affinity app=web, "
            "one of 2 in 'both'");
}

TEST(EventText, OfAHoldSaysHowMuchOfWhat) {
  HoldCapacity hold{.name = "h",
                    .owner = "j",
                    .node = "n1",
                    .shape = {.cpu_milli = 8'000,
                              .mem_mib = 100,
                              .gpu_count = 2,
                              .gpu_milli = 1000,
                              .gpu_mem_mib = 7,
                              .models = {"T4", "A10"}},
                    .devices = Devices01()};
  EXPECT_EQ(EventText(hold),
            "hold 'h' for job 'j': cpu_milli 8000, mem_mib 100, 2 × gpu_milli 1000, "
            "gpu_mem_mib 7, on T4 or A10 of n1 devices 0,1");
  hold.until = 12;
  hold.shape = ShapeSpec();
  hold.devices = DeviceMask();
  EXPECT_EQ(EventText(hold), "hold 'h' for job 'j': cpu_milli 0, mem_mib 0 of n1 until 12 us");
}

TEST(StepText, SaysWhatIsToBeDone) {
  Place place{
      .task = kTask, .node = "n1", .devices = Devices01(), .alternative = 0, .rank = 0, .score = 0};
  EXPECT_EQ(StepText(place), "place j/main/0 attempt 2 on n1 devices 0,1");
  place.alternative = 1;
  place.devices = DeviceMask();
  EXPECT_EQ(StepText(place), "place j/main/0 attempt 2 on n1 by alternative 1");
  EXPECT_EQ(StepText(Evict{.task = kTask, .node = "n1", .cause = EvictCause::kScaledDown}),
            "evict j/main/0 attempt 2 from n1: ScaledDown");
  EXPECT_EQ(StepText(Wait{"j", {Reason::kInsufficientCpu, "main", "n1", 5, 3}}),
            "wait j: InsufficientCpu, group 'main', needs 5, has 3 (n1)");
  EXPECT_EQ(StepText(Reject{"j", {Reason::kNoNodes, "", "", 1, 0}}),
            "reject j: NoNodes, needs 1, has 0");
}

TEST(RecordText, SaysTheKindAndWhatItCarries) {
  const std::string event = Encode(Event(Tick{7}));
  EXPECT_EQ(RecordText({RecordKind::kEvent, event, 0}), "event: tick to 7 us");
  const std::string plan = Encode(Plan(7, 3, 0, {Place(), Place(), Wait()}));
  const std::string commit = EncodeCommit(Plan(7, 3, 0, {Place(), Place(), Wait()}));
  EXPECT_EQ(RecordText({RecordKind::kCommit, commit, 0}),
            "commit: at 7 us, from version 3: 2 place, 0 evict, 0 wait, 0 reject");
  EXPECT_EQ(RecordText({RecordKind::kAbort, plan, 0}),
            "abort: at 7 us, from version 3: 2 place, 0 evict, 1 wait, 0 reject");
  EXPECT_EQ(RecordText({RecordKind::kSnapshot, plan, 0}),
            "snapshot: " + std::to_string(plan.size()) + " bytes");
  EXPECT_EQ(RecordText({RecordKind::kEvent, "", 0}).substr(0, 35),
            "event: event: byte 1 of 0 is unread");
}

// Whatever is in it, on one line and nothing that a terminal would obey.
TEST(Text, IsOneLineWhateverIsInIt) {
  Rng rng(1);
  for (int i = 0; i < 2'000; ++i) {
    for (const std::string& text :
         {EventText(RandomValue<Event>(rng)), StepText(RandomValue<Step>(rng))}) {
      EXPECT_FALSE(text.empty());
      for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        EXPECT_TRUE(byte >= 0x20 && byte != 0x7F) << text;
      }
    }
  }
}

}  // namespace
}  // namespace gpusched
