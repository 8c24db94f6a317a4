#include "gpusched/spec/validate_job.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "gpusched/base/device_mask.h"
#include "gpusched/base/quantity.h"
#include "gpusched/spec/validate.h"
#include "status_matchers.h"

namespace gpusched {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

ShapeSpec OneGpu() {
  return {.cpu_milli = 8'000,
          .mem_mib = 65'536,
          .gpu_count = 1,
          .gpu_milli = 1000,
          .gpu_mem_mib = 0,
          .models = {"T4"}};
}

TaskGroupSpec Group(std::string name, std::int64_t count) {
  TaskGroupSpec group;
  group.name = std::move(name);
  group.shape = OneGpu();
  group.count = count;
  return group;
}

JobSpec GoodJob() {
  JobSpec job;
  job.name = "j";
  job.priority = 7;
  job.submit_time = 5;
  job.expected_duration = kMinute;
  job.max_attempts = 3;
  job.labels = {{"app", "train"}, {"team", ""}};
  job.groups = {Group("main", 4), Group("ps", 0)};
  job.groups[0].min_available = 2;
  job.groups[0].max_tasks_per_node = 1;
  job.alternatives = {{Group("main", 8)}};
  job.affinity = {{"app", "data"}, {"app", "cache"}};
  job.anti_affinity = {{"app", "train"}};
  job.co_schedule = CoSchedule{.group = "both", .size = 2};
  return job;
}

UpdateJob GoodUpdateJob() {
  UpdateJob update;
  update.job = "j";
  update.queue = "q";
  update.priority = -1;
  update.expected_duration = 0;
  update.groups = {{.group = "main", .count = 3, .min_available = 1, .shape = OneGpu()},
                   {.group = "ps", .count = {}, .min_available = 5, .shape = {}}};
  return update;
}

UpdateNode GoodUpdateNode() {
  UpdateNode update;
  update.node = "n1";
  update.cpu_milli = 1;
  update.mem_mib = 0;
  update.devices.emplace(2, DeviceSpec{.model = "T4", .gpu_mem_mib = 16'384});
  update.foreign = ForeignUsage{.cpu_milli = 1, .mem_mib = 1, .device_milli = {1000, 0}};
  return update;
}

HoldCapacity GoodHold() {
  return {.name = "h",
          .owner = "j",
          .node = "n1",
          .shape = OneGpu(),
          .devices = DeviceMask::Of(3),
          .until = 12};
}

template <class T>
struct BadField {
  std::function<void(T&)> spoil;
  std::string message;  // a part of it, or all of it
};

// Refused by its own overload and as an event.
template <class T, class ToEvent>
void ExpectEachRefused(const T& good, const std::vector<BadField<T>>& cases, ToEvent to_event) {
  ASSERT_TRUE(IsOk(Validate(to_event(good), ModelCatalog())));
  for (const BadField<T>& bad : cases) {
    T spoilt = good;
    bad.spoil(spoilt);
    EXPECT_TRUE(Refused(Validate(to_event(spoilt), ModelCatalog()), kInvalid, {bad.message}));
  }
}

TEST(ValidateJob, EachBadFieldIsNamedWithValueAndRemedy) {
  using Bad = BadField<JobSpec>;
  const std::vector<Bad> cases = {
      {[](JobSpec& j) { j.name = ""; }, "job: name is ''; give it a name"},
      {[](JobSpec& j) { j.name = "a\nb"; },
       "job: name is 'a\\nb'; use UTF-8 without control characters; byte 2 is none"},
      {[](JobSpec& j) { j.name = std::string(257, 'x'); }, "job: name is 257 bytes long"},
      {[](JobSpec& j) { j.kind = static_cast<JobKind>(2); },
       "job 'j': kind is 2; use kBatch (0) or kService (1)"},
      {[](JobSpec& j) { j.queue = ""; }, "job 'j': queue is ''"},
      {[](JobSpec& j) { j.priority = kMaxPriority + 1; },
       "job 'j': priority is 2147483648; use -2147483648 to 2147483647"},
      {[](JobSpec& j) { j.priority = kMinPriority - 1; }, "priority is -2147483649"},
      {[](JobSpec& j) { j.priority = kMin; }, "priority is -9223372036854775808"},
      {[](JobSpec& j) { j.submit_time = -1; }, "submit_time is -1; use 0 to 1152921504606846976"},
      {[](JobSpec& j) { j.submit_time = kMaxTime + 1; }, "submit_time is 1152921504606846977"},
      {[](JobSpec& j) { j.expected_duration = -1; }, "expected_duration is -1"},
      {[](JobSpec& j) { j.expected_duration = kNoDeadline; }, "expected_duration is 46116860"},
      {[](JobSpec& j) { j.max_attempts = 0; },
       "max_attempts is 0; use 1 or more, or leave it out to try for ever"},
      {[](JobSpec& j) { j.labels[1].key = ""; }, "labels[1].key is ''"},
      {[](JobSpec& j) { j.labels[1].value = "\x7F"; }, "labels[1].value is '\\x7f'"},
      {[](JobSpec& j) { j.labels[1].key = "app"; },
       "labels[1].key is 'app'; it stands in labels[0] already; keep one"},
      {[](JobSpec& j) {
         j.labels.assign(65, {"k", "v"});
       },
       "labels is 65 entries; use at most 64"},
      {[](JobSpec& j) { j.affinity[1].value = "data"; }, "affinity[1].key is 'app'; it stands in"},
      {[](JobSpec& j) {
         j.affinity.assign(65, {"k", "v"});
       },
       "affinity is 65 entries"},
      {[](JobSpec& j) { j.anti_affinity[0].key = "\xC3"; }, "anti_affinity[0].key is '\\xc3'"},
      {[](JobSpec& j) {
         j.anti_affinity.assign(65, {"k", "v"});
       },
       "anti_affinity is 65 entries"},
      {[](JobSpec& j) { j.co_schedule->group = ""; }, "co_schedule.group is ''"},
      {[](JobSpec& j) { j.co_schedule->size = 0; }, "co_schedule.size is 0; use 1 to 1024"},
      {[](JobSpec& j) { j.co_schedule->size = 1025; }, "co_schedule.size is 1025"},
      {[](JobSpec& j) { j.groups.clear(); },
       "job 'j': groups is empty; give it at least one group"},
      {[](JobSpec& j) { j.groups.resize(65, Group("g", 0)); },
       "groups is 65 entries; use at most 64"},
      {[](JobSpec& j) { j.alternatives.emplace_back(); }, "alternatives[1] is empty"},
      {[](JobSpec& j) { j.alternatives.resize(17, j.groups); },
       "alternatives is 17 entries; use at most 16"},
      {[](JobSpec& j) { j.groups[1].name = ""; }, "groups[1].name is ''"},
      {[](JobSpec& j) { j.groups[1].name = "a/b"; }, "groups[1].name is 'a/b'; use a name without"},
      {[](JobSpec& j) { j.groups[1].name = "main"; },
       "groups[1].name is 'main'; groups[0] has this name already"},
      {[](JobSpec& j) { j.alternatives[0].push_back(Group("main", 1)); },
       "alternatives[0][1].name is 'main'; alternatives[0][0] has this name already"},
      {[](JobSpec& j) { j.groups[0].count = -1; }, "groups[0].count is -1; use 0 to 1048576"},
      {[](JobSpec& j) { j.groups[0].count = kMax; }, "groups[0].count is 9223372036854775807"},
      {[](JobSpec& j) { j.groups[1].count = kMaxTasksPerJob - 3; },
       "sum of groups[].count is 1048577; use 0 to 1048576"},
      {[](JobSpec& j) { j.alternatives[0][0].count = kMaxTasksPerJob + 1; },
       "alternatives[0][0].count is 1048577"},
      {[](JobSpec& j) { j.groups[0].min_available = -1; },
       "groups[0].min_available is -1; use 0 to 4"},
      {[](JobSpec& j) { j.groups[0].min_available = 5; }, "groups[0].min_available is 5"},
      {[](JobSpec& j) { j.groups[0].max_tasks_per_node = 0; },
       "groups[0].max_tasks_per_node is 0; use 1 or more, or leave it out for no limit"},
      {[](JobSpec& j) { j.groups[0].shape.mem_mib = std::int64_t{1} << 62; },
       "job 'j': groups[0].shape: mem_mib is 4611686018427387904; use 0 to 1099511627776"},
      {[](JobSpec& j) { j.alternatives[0][0].shape.models[0] = "T5"; },
       "job 'j': alternatives[0][0].shape: models[0] is 'T5'; did you mean 'T4'?"}};
  ExpectEachRefused<JobSpec>(GoodJob(), cases, [](const JobSpec& j) { return SubmitJob{j}; });
  for (const Bad& bad : cases) {
    JobSpec job = GoodJob();
    bad.spoil(job);
    EXPECT_TRUE(Refused(Validate(job, ModelCatalog()), kInvalid, {bad.message}));
  }
}

TEST(ValidateJob, LimitsAreIncluded) {
  JobSpec job = GoodJob();
  job.name = std::string(kMaxNameBytes, 'x');
  job.priority = kMinPriority;
  job.submit_time = kMaxTime;
  job.expected_duration = kMaxTime;
  job.max_attempts = 1;
  job.labels.clear();
  for (std::size_t i = 0; i < kMaxLabels; ++i) job.labels.push_back({std::to_string(i), "v"});
  job.affinity = job.anti_affinity = job.labels;
  job.co_schedule->size = 1024;
  job.groups.clear();
  for (std::size_t i = 0; i < kMaxGroups; ++i) {
    job.groups.push_back(Group(std::to_string(i), kMaxTasksPerJob / 64));
    job.groups[i].min_available = job.groups[i].count;
  }
  job.alternatives.assign(kMaxAlternatives, job.groups);
  EXPECT_TRUE(IsOk(Validate(job, ModelCatalog())));
  job.priority = kMaxPriority;
  job.groups = {Group("none", 0)};
  EXPECT_TRUE(IsOk(Validate(job, ModelCatalog())));
}

TEST(ValidateJob, NamesAreUtf8WithoutControlCharacters) {
  JobSpec job = GoodJob();
  for (const char* name : {"größe", "任务", "\xF0\x9F\x9A\x80", "a b", "a/b", "'", "\xC2\xA0",
                           "\xED\x9F\xBF", "\xEE\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    job.name = name;
    EXPECT_TRUE(IsOk(Validate(job, ModelCatalog()))) << name;
  }
  const std::string bad[] = {"\x80",
                             "a\xC3",
                             "\xC0\x80",
                             "\xC1\xBF",
                             "\xE0\x9F\xBF",
                             "\xED\xA0\x80",
                             "\xE2\x82",
                             "\xE2\x28\xA1",
                             "\xF0\x8F\x80\x80",
                             "\xF4\x90\x80\x80",
                             "\xF5\x80\x80\x80",
                             "\xFF",
                             std::string(1, '\0'),
                             "\x1B[31m",
                             "\x7F",
                             "\xC2\x80",
                             "\xC2\x9F"};
  for (const std::string& name : bad) {
    job.name = name;
    const absl::Status status = Validate(job, ModelCatalog());
    EXPECT_TRUE(Refused(status, kInvalid, {"job: name is '", "UTF-8"}));
    for (const char c : status.message()) {
      EXPECT_GE(static_cast<unsigned char>(c), 0x20) << "a message carries a control character";
    }
  }
}

// One task may ask 2^46 MiB of device memory, so a job of 2^20 could ask 2^66.
TEST(ValidateJob, TotalsOverTasksAreLimited) {
  JobSpec job = GoodJob();
  ShapeSpec& shape = job.groups[0].shape;
  shape.gpu_count = kMaxDevicesPerNode;
  shape.gpu_mem_mib = kMaxQuantity;
  job.groups[0].count = std::int64_t{1} << 16;
  EXPECT_TRUE(IsOk(Validate(job, ModelCatalog())));
  job.groups[0].count += 1;
  EXPECT_TRUE(Refused(Validate(job, ModelCatalog()), kInvalid,
                      {"job 'j': groups[0].shape.gpu_mem_mib × gpu_count × count is "
                       "70368744177664 × 65537; use a product of at most 4611686018427387904"}));
  job.groups[0].count = kMaxTasksPerJob;  // beyond 64 bits
  EXPECT_TRUE(Refused(Validate(job, ModelCatalog()), kInvalid, {"70368744177664 × 1048576"}));
  job.groups[0].count = std::int64_t{1} << 16;
  job.groups[1] = job.groups[0];
  job.groups[1].name = "ps";
  job.groups[1].count = 1;
  job.groups[1].min_available.reset();
  EXPECT_TRUE(Refused(Validate(job, ModelCatalog()), kInvalid,
                      {"groups[1].shape.gpu_mem_mib × gpu_count × count is 70368744177664 besides",
                       "at most 4611686018427387904 in all groups together"}));
}

TEST(ValidateUpdateJob, EachBadFieldIsNamedWithValueAndRemedy) {
  ExpectEachRefused<UpdateJob>(
      GoodUpdateJob(),
      {{[](UpdateJob& u) { u.job = ""; }, "update job: job is ''"},
       {[](UpdateJob& u) { u.queue = ""; }, "job 'j': queue is ''"},
       {[](UpdateJob& u) { u.priority = kMax; }, "priority is 9223372036854775807"},
       {[](UpdateJob& u) { u.expected_duration = -2; }, "expected_duration is -2"},
       {[](UpdateJob& u) { u.groups[1].group = "main"; },
        "groups[1].group is 'main'; it stands in groups[0] already; keep one"},
       {[](UpdateJob& u) { u.groups[1].group = "m/n"; }, "groups[1].group is 'm/n'"},
       {[](UpdateJob& u) { u.groups.resize(65); }, "groups is 65 entries"},
       {[](UpdateJob& u) { u.groups[0].count = -1; }, "groups[0].count is -1; use 0 to 1048576"},
       {[](UpdateJob& u) { u.groups[0].count = kMaxTasksPerJob + 1; },
        "groups[0].count is 1048577"},
       {[](UpdateJob& u) { u.groups[0].min_available = 4; },
        "groups[0].min_available is 4; use 0 to 3"},
       {[](UpdateJob& u) { u.groups[1].min_available = -1; }, "groups[1].min_available is -1"},
       {[](UpdateJob& u) { u.groups[1].min_available = kMaxTasksPerJob + 1; },
        "groups[1].min_available is 1048577; use 0 to 1048576"},
       {[](UpdateJob& u) { u.groups[0].shape->gpu_milli = 0; },
        "job 'j': groups[0].shape: gpu_milli is 0"},
       {[](UpdateJob& u) {
          u.groups[0].shape->gpu_count = 64;
          u.groups[0].shape->gpu_mem_mib = kMaxQuantity;
          u.groups[0].count = kMaxTasksPerJob;
        },
        "groups[0].shape.gpu_mem_mib × gpu_count × count is"}},
      [](const UpdateJob& u) { return Event(u); });
  UpdateJob nothing;
  nothing.job = "j";
  EXPECT_TRUE(IsOk(Validate(nothing, ModelCatalog())));
}

TEST(ValidateUpdateNode, EachBadFieldIsNamedWithValueAndRemedy) {
  ExpectEachRefused<UpdateNode>(
      GoodUpdateNode(),
      {{[](UpdateNode& u) { u.node = ""; }, "update node: node is ''"},
       {[](UpdateNode& u) { u.node = "a\tb"; }, "update node: node is 'a\\tb'"},
       {[](UpdateNode& u) { u.cpu_milli = -4; }, "node 'n1': cpu_milli is -4; use 0 to"},
       {[](UpdateNode& u) { u.mem_mib = kMaxQuantity + 1; }, "mem_mib is 1099511627777"},
       {[](UpdateNode& u) { u.devices->at(1).model = "T5"; }, "devices[1].model is 'T5'"},
       {[](UpdateNode& u) { u.devices->at(0).gpu_milli = 1001; }, "devices[0].gpu_milli is 1001"},
       {[](UpdateNode& u) {
          u.devices->assign(65, {"T4", 1000, {}});
        },
        "devices is 65 devices"},
       {[](UpdateNode& u) { u.foreign->cpu_milli = -1; },
        "node 'n1': foreign.cpu_milli is -1; use 0 to 1099511627776"},
       {[](UpdateNode& u) { u.foreign->mem_mib = kMax; }, "foreign.mem_mib is 92233720368547758"},
       {[](UpdateNode& u) { u.foreign->device_milli[1] = 1001; },
        "foreign.device_milli[1] is 1001; use 0 to 1000"},
       {[](UpdateNode& u) { u.foreign->device_milli[0] = -1; }, "foreign.device_milli[0] is -1"},
       {[](UpdateNode& u) { u.foreign->device_milli.resize(3); },
        "foreign.device_milli is 3 entries; use at most 2"},
       {[](UpdateNode& u) {
          u.devices.reset();
          u.foreign->device_milli.resize(65);
        },
        "foreign.device_milli is 65 entries; use at most 64"}},
      [](const UpdateNode& u) { return Event(u); });
  UpdateNode nothing;
  nothing.node = "n1";
  EXPECT_TRUE(IsOk(Validate(nothing, ModelCatalog())));
}

TEST(ValidateHold, EachBadFieldIsNamedWithValueAndRemedy) {
  ExpectEachRefused<HoldCapacity>(
      GoodHold(),
      {{[](HoldCapacity& h) { h.name = ""; }, "hold: name is ''"},
       {[](HoldCapacity& h) { h.owner = ""; }, "hold 'h': owner is ''"},
       {[](HoldCapacity& h) { h.node = "\xFF"; }, "hold 'h': node is '\\xff'"},
       {[](HoldCapacity& h) { h.shape.cpu_milli = -1; }, "hold 'h': shape: cpu_milli is -1"},
       {[](HoldCapacity& h) { h.devices.Insert(4); },
        "hold 'h': devices is 2 devices; the shape asks 1; name so many"},
       {[](HoldCapacity& h) { h.devices = DeviceMask(); }, "devices is 0 devices"},
       {[](HoldCapacity& h) { h.until = -1; },
        "until is -1; use 0 to 1152921504606846976, or kNoDeadline (4611686018427387904)"},
       {[](HoldCapacity& h) { h.until = kMaxTime + 1; }, "until is 1152921504606846977"},
       {[](HoldCapacity& h) { h.until = kMax; }, "until is 9223372036854775807"}},
      [](const HoldCapacity& h) { return Event(h); });
  HoldCapacity hold = GoodHold();
  for (const Time until : {Time{0}, kMaxTime, kNoDeadline}) {
    hold.until = until;
    EXPECT_TRUE(IsOk(Validate(hold, ModelCatalog())));
  }
}

TEST(ValidateTaskKey, EachBadFieldIsNamedInEachEventThatCarriesIt) {
  const std::vector<BadField<TaskKey>> cases = {
      {[](TaskKey& t) { t.job = ""; }, "task: job is ''"},
      {[](TaskKey& t) { t.group = ""; }, "task: group is ''"},
      {[](TaskKey& t) { t.group = "/"; }, "task: group is '/'"},
      {[](TaskKey& t) { t.index = -1; }, "task 'j/main/-1': index is -1; use 0 to 1048575"},
      {[](TaskKey& t) { t.index = kMaxTasksPerJob; }, "index is 1048576"},
      {[](TaskKey& t) { t.attempt = 0; },
       "task 'j/main/0': attempt is 0; attempts count from 1; use 1 to 9007199254740992"}};
  const TaskKey good{.job = "j", .group = "main", .index = 0, .attempt = 1};
  EXPECT_TRUE(IsOk(Validate(good)));
  for (const auto& bad : cases) {
    TaskKey spoilt = good;
    bad.spoil(spoilt);
    EXPECT_TRUE(Refused(Validate(spoilt), kInvalid, {bad.message}));
  }
  ExpectEachRefused<TaskKey>(good, cases, [](const TaskKey& t) {
    return TaskStarted{.task = t, .place = TaskPlace{.node = "n1", .devices = {}}};
  });
  ExpectEachRefused<TaskKey>(good, cases, [](const TaskKey& t) { return TaskFinished{t}; });
  ExpectEachRefused<TaskKey>(good, cases, [](const TaskKey& t) { return TaskFailed{t}; });
  ExpectEachRefused<TaskKey>(good, cases, [](const TaskKey& t) { return TaskEvicted{t}; });
}

TEST(ValidateEvent, TheOthersAreCheckedByWhatTheyCarry) {
  const ModelCatalog catalog;
  const TaskKey task{.job = "j", .group = "main", .index = 0, .attempt = 1};
  NodeSpec node{.name = "n1", .cpu_milli = 1, .mem_mib = 1, .devices = {}};
  EXPECT_TRUE(IsOk(Validate(AddNode{node}, catalog)));
  node.cpu_milli = -1;
  EXPECT_TRUE(Refused(Validate(AddNode{node}, catalog), kInvalid, {"node 'n1': cpu_milli is -1"}));
  node.name = "\xFF";
  EXPECT_TRUE(Refused(Validate(AddNode{node}, catalog), kInvalid, {"node: name is '\\xff'"}));

  const struct {
    Event good;
    Event bad;
    std::string message;
  } cases[] = {{RemoveNode{"n1"}, RemoveNode{""}, "remove node: node is ''"},
               {CordonNode{"n1", true}, CordonNode{"", true}, "cordon node: node is ''"},
               {CancelJob{"j"}, CancelJob{"\n"}, "cancel job: job is '\\n'"},
               {DropHold{"h"}, DropHold{""}, "drop hold: name is ''"},
               {TaskStarted{task, TaskPlace{"n1", DeviceMask::Of(0)}},
                TaskStarted{task, TaskPlace{"", {}}}, "task 'j/main/0': place.node is ''"},
               {Tick{kMaxTime}, Tick{kMaxTime + 1}, "tick: now is 1152921504606846977; use 0 to"},
               {Tick{0}, Tick{-1}, "tick: now is -1"}};
  for (const auto& c : cases) {
    EXPECT_TRUE(IsOk(Validate(c.good, catalog)));
    EXPECT_TRUE(Refused(Validate(c.bad, catalog), kInvalid, {c.message}));
  }
}

TEST(ValidateShape, SaysWhereTheShapeIs) {
  ShapeSpec shape = OneGpu();
  shape.cpu_milli = -1;
  EXPECT_TRUE(Refused(Validate(shape, ModelCatalog(), "hold 'h': shape"), kInvalid,
                      {"hold 'h': shape: cpu_milli is -1; use 0 to 1099511627776"}));
  EXPECT_TRUE(Refused(Validate(shape, ModelCatalog()), kInvalid, {"shape: cpu_milli is -1"}));
}

}  // namespace
}  // namespace gpusched
