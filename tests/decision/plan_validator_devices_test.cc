// Rules about devices (docs/devices.md): for each a plan that keeps it and one that just breaks it.
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpusched/decision/plan_validator.h"
#include "status_matchers.h"

namespace gpusched {
namespace {

using Instances = std::vector<MigInstance>;
using Modes = std::vector<SharingMode>;
using Slices = std::vector<std::int64_t>;

constexpr std::int64_t kMem = 40'960;

DeviceMask Devices(std::initializer_list<int> indices) {
  DeviceMask mask;
  for (const int index : indices) mask.Insert(index);
  return mask;
}

// Seven compute slices, eight memory slices; an instance of g compute slices is 1000 · g / 7 milli.
DeviceSpec A100(SharingMode sharing, bool on_demand = false) {
  return {.model = "A100-SXM4-40GB",
          .gpu_mem_mib = kMem,
          .sharing = sharing,
          .partition_on_demand = on_demand};
}

DeviceSpec Replicated(SharingMode sharing, std::int64_t replicas) {
  DeviceSpec device = A100(sharing);
  device.replicas = replicas;
  return device;
}

DeviceSpec Partitioned(std::vector<MigPartition> partitions, bool on_demand = false) {
  DeviceSpec device = A100(SharingMode::kMig, on_demand);
  device.partitions = std::move(partitions);
  return device;
}

ShapeSpec Whole(std::int64_t count = 1, std::int64_t mem_mib = 0) {
  return {.gpu_count = count, .gpu_milli = 1000, .gpu_mem_mib = mem_mib, .models = {}};
}

ShapeSpec Share(std::int64_t milli, std::int64_t mem_mib = 0, Modes sharing = {}) {
  return {.gpu_count = 1,
          .gpu_milli = milli,
          .gpu_mem_mib = mem_mib,
          .models = {},
          .sharing = std::move(sharing)};
}

ShapeSpec Memory(std::int64_t mem_mib, Modes sharing = {}) {
  return Share(0, mem_mib, std::move(sharing));
}

ShapeSpec Replica(SharingMode mode) { return Share(0, 0, {mode}); }

ShapeSpec Profile(const std::string& name, std::int64_t count = 1) {
  return {.gpu_count = count, .models = {}, .mig_profile = name};
}

DeviceGrant Has(SharingMode mode, std::int64_t milli, std::int64_t mem_mib = 0) {
  return {.mode = mode, .gpu_milli = milli, .gpu_mem_mib = mem_mib};
}

DeviceGrant HasWhole(std::int64_t mem_mib = 0) {
  return Has(SharingMode::kExclusive, 1000, mem_mib);
}

DeviceGrant HasMig(std::int64_t milli, std::int64_t mem_mib, Instances instances) {
  return {.mode = SharingMode::kMig,
          .gpu_milli = milli,
          .gpu_mem_mib = mem_mib,
          .instances = std::move(instances)};
}

// One instance on device 0 of an A100.
DeviceGrant One(const std::string& profile, std::int32_t start) {
  const std::int64_t compute = profile[0] - '0';
  const std::int64_t mem = profile.starts_with("1g.5gb") ? 4864
                           : profile.ends_with("10gb")   ? 9856
                           : profile.ends_with("20gb")   ? 19'968
                                                         : 40'192;
  return HasMig(1000 * compute / 7, mem, {{0, profile, start}});
}

// One node, "n"; jobs of one task that are on it; and the job "new", which is to come.
class DeviceRules : public testing::Test {
 protected:
  void Node(std::vector<DeviceSpec> devices, std::vector<std::int64_t> foreign_milli = {}) {
    validator_.Observe(RemoveNode{"n"});
    validator_.Observe(
        AddNode{{.name = "n", .cpu_milli = 1000, .mem_mib = 0, .devices = std::move(devices)}});
    Foreign(std::move(foreign_milli));
  }

  void Update(std::vector<DeviceSpec> devices) {
    UpdateNode update;
    update.node = "n";
    update.devices = std::move(devices);
    validator_.Observe(update);
  }

  void Foreign(std::vector<std::int64_t> milli) {
    UpdateNode update;
    update.node = "n";
    update.foreign = ForeignUsage{.device_milli = std::move(milli)};
    validator_.Observe(update);
  }

  void Submit(const std::string& name, ShapeSpec shape) {
    JobSpec job;
    job.name = name;
    job.groups = {{.name = "main",
                   .shape = std::move(shape),
                   .count = 1,
                   .min_available = std::nullopt,
                   .max_tasks_per_node = std::nullopt}};
    validator_.Observe(SubmitJob{job});
  }

  // A task that was found there, whether it would be placed so or not.
  void Found(const std::string& name, ShapeSpec shape, DeviceMask devices = Devices({0}),
             Instances instances = {}) {
    Submit(name, std::move(shape));
    validator_.Observe(TaskStarted{
        .task = {name, "main", 0, 1},
        .place = TaskPlace{.node = "n", .devices = devices, .instances = std::move(instances)}});
  }

  void Gone(const std::string& name) {
    validator_.Observe(TaskFinished{.task = {name, "main", 0, 1}});
  }

  void Hold(const std::string& owner, ShapeSpec shape, Instances instances = {}) {
    validator_.Observe(HoldCapacity{.name = "hold of " + owner,
                                    .owner = owner,
                                    .node = "n",
                                    .shape = std::move(shape),
                                    .devices = Devices({0}),
                                    .instances = std::move(instances)});
  }

  static Place Put(const std::string& job, DeviceGrant grant, DeviceMask devices = Devices({0})) {
    return {
        .task = {job, "main", 0, 1}, .node = "n", .devices = devices, .grant = std::move(grant)};
  }

  absl::Status Check(std::vector<Step> steps) const {
    return validator_.Check(Plan(0, 0, 0, std::move(steps)));
  }

  absl::Status New(ShapeSpec shape, DeviceGrant grant, DeviceMask devices) {
    Submit("new", std::move(shape));
    return Check({Put("new", std::move(grant), devices)});
  }

  testing::AssertionResult Accepts(ShapeSpec shape, DeviceGrant grant,
                                   DeviceMask devices = Devices({0})) {
    return IsOk(New(std::move(shape), std::move(grant), devices));
  }

  // The message names the step and device 0.
  testing::AssertionResult Refuses(ShapeSpec shape, DeviceGrant grant, std::string_view why,
                                   DeviceMask devices = Devices({0})) {
    return Refused(New(std::move(shape), std::move(grant), devices), absl::StatusCode::kInternal,
                   {"steps[0], Place of 'new/main/0' attempt 1 on 'n'", "devices[0]", why});
  }

  // As before, where no single device is to blame.
  testing::AssertionResult RefusesForm(ShapeSpec shape, DeviceGrant grant, DeviceMask devices,
                                       std::string_view why) {
    return Refused(New(std::move(shape), std::move(grant), devices), absl::StatusCode::kInternal,
                   {"steps[0], Place of 'new/main/0' attempt 1 on 'n'", why});
  }

  DeviceLoad Used(std::size_t device = 0) const {
    return validator_.Used().at(0).devices.at(device);
  }
  DeviceLoad Held() const { return validator_.Held().at(0).devices.at(0); }

  PlanValidator validator_;
};

// ---- What is counted

TEST_F(DeviceRules, SharesAndMemoryAreCountedAsAsked) {
  Node({A100(SharingMode::kFraction)});
  EXPECT_EQ(Used(), DeviceLoad());
  Found("a", Share(300, 1000));
  EXPECT_EQ(Used(), (DeviceLoad{.gpu_milli = 300, .gpu_mem_mib = 1000, .tenants = 1}));
  Found("b", Memory(500));
  EXPECT_EQ(Used(), (DeviceLoad{.gpu_milli = 300, .gpu_mem_mib = 1500, .tenants = 2}));
}

TEST_F(DeviceRules, AWholeDeviceIsCountedAsAThousand) {
  Node({A100(SharingMode::kFraction), A100(SharingMode::kExclusive)});
  Found("a", Whole(2, 700), Devices({0, 1}));
  EXPECT_EQ(Used(0), (DeviceLoad{.gpu_milli = 1000, .gpu_mem_mib = 700, .tenants = 1}));
  EXPECT_EQ(Used(1), Used(0));
}

TEST_F(DeviceRules, ReplicasAreCountedTogetherAndRoundedOnce) {
  Node({Replicated(SharingMode::kMps, 3)});
  Found("a", Share(333, 100));  // ⌈333 · 3 / 1000⌉ is one
  EXPECT_EQ(Used(), (DeviceLoad{.gpu_milli = 333, .gpu_mem_mib = 100, .parts = 1, .tenants = 1}));
  Found("b", Share(334));
  EXPECT_EQ(Used(), (DeviceLoad{.gpu_milli = 1000, .gpu_mem_mib = 100, .parts = 3, .tenants = 2}));
  Gone("a");
  EXPECT_EQ(Used(), (DeviceLoad{.gpu_milli = 666, .parts = 2, .tenants = 1}));
  Found("c", Memory(50));
  EXPECT_EQ(Used(), (DeviceLoad{.gpu_milli = 1000, .gpu_mem_mib = 50, .parts = 3, .tenants = 2}));
}

TEST_F(DeviceRules, AReplicaIsOneReplica) {
  Node({Replicated(SharingMode::kTimeSlicing, 4)});
  Found("a", Replica(SharingMode::kTimeSlicing));
  EXPECT_EQ(Used(), (DeviceLoad{.gpu_milli = 250, .parts = 1, .tenants = 1}));
}

TEST_F(DeviceRules, AWholeDeviceWithReplicasIsAllOfThem) {
  Node({Replicated(SharingMode::kTimeSlicing, 4)});
  Found("a", Whole(1, 9));
  EXPECT_EQ(Used(), (DeviceLoad{.gpu_milli = 1000, .gpu_mem_mib = 9, .parts = 4, .tenants = 1}));
}

TEST_F(DeviceRules, InstancesAreCountedAsTheirProfileSays) {
  Node({A100(SharingMode::kMig, true)});
  Found("a", Profile("3g.20gb"), Devices({0}), {{0, "3g.20gb", 4}});
  EXPECT_EQ(Used(), (DeviceLoad{.gpu_milli = 428,
                                .gpu_mem_mib = 19'968,
                                .parts = 3,
                                .tenants = 1,
                                .slices = {0, 0, 0, 0, 1, 1, 1, 1}}));
  Found("b", Memory(5000), Devices({0}), {{0, "1g.10gb", 2}});
  EXPECT_EQ(Used(), (DeviceLoad{.gpu_milli = 571,
                                .gpu_mem_mib = 29'824,
                                .parts = 4,
                                .tenants = 2,
                                .slices = {0, 0, 1, 1, 1, 1, 1, 1}}));
}

TEST_F(DeviceRules, EachInstanceOfATaskIsATenant) {
  Node({A100(SharingMode::kMig, true), A100(SharingMode::kMig, true)});
  Found("a", Profile("1g.5gb", 3), Devices({0, 1}),
        {{0, "1g.5gb", 0}, {0, "1g.5gb", 6}, {1, "1g.5gb", 3}});
  EXPECT_EQ(Used(0), (DeviceLoad{.gpu_milli = 285,
                                 .gpu_mem_mib = 9728,
                                 .parts = 2,
                                 .tenants = 2,
                                 .slices = {1, 0, 0, 0, 0, 0, 1, 0}}));
  EXPECT_EQ(Used(1).tenants, 1);
  EXPECT_EQ(Used(1).slices, (Slices{0, 0, 0, 1, 0, 0, 0, 0}));
}

TEST_F(DeviceRules, MemoryThatIsNotStatedIsNotCounted) {
  DeviceSpec device = A100(SharingMode::kMig, true);
  device.gpu_mem_mib.reset();
  Node({device});
  Found("a", Profile("1g.5gb"), Devices({0}), {{0, "1g.5gb", 0}});
  EXPECT_EQ(Used().gpu_mem_mib, 0);
  EXPECT_EQ(Used().parts, 1);
}

TEST_F(DeviceRules, HoldsAreCountedAsTasksAre) {
  Node({A100(SharingMode::kMig, true)});
  Hold("x", Profile("2g.10gb"), {{0, "2g.10gb", 4}});
  EXPECT_EQ(Held(), (DeviceLoad{.gpu_milli = 285,
                                .gpu_mem_mib = 9856,
                                .parts = 2,
                                .tenants = 1,
                                .slices = {0, 0, 0, 0, 1, 1, 0, 0}}));
  EXPECT_EQ(Used(), DeviceLoad());
}

TEST_F(DeviceRules, PlacedTasksTellTheirInstances) {
  Node({A100(SharingMode::kMig, true)});
  Submit("a", Profile("1g.5gb"));
  const Plan plan(0, 0, 0, {Put("a", One("1g.5gb", 2))});
  EXPECT_TRUE(IsOk(validator_.Check(plan)));
  validator_.ObserveCommit(plan);
  ASSERT_EQ(validator_.Placed().size(), 1U);
  EXPECT_EQ(validator_.Placed()[0].instances, (Instances{{0, "1g.5gb", 2}}));
  validator_.ObserveAbort(plan);
  EXPECT_EQ(Used(), DeviceLoad());
  // The next attempt is somewhere else, and has nothing of the first.
  validator_.Observe(TaskStarted{
      .task = {"a", "main", 0, 2},
      .place = TaskPlace{.node = "n", .devices = Devices({0}), .instances = {{0, "1g.5gb", 5}}}});
  EXPECT_EQ(Used().slices, (Slices{0, 0, 0, 0, 0, 1, 0, 0}));
}

TEST_F(DeviceRules, InstancesOnNoDeviceOfACommitThatWasNeverCheckedDoNoHarm) {
  Node({A100(SharingMode::kMig, true)});
  Submit("a", Profile("1g.5gb", 2));
  validator_.ObserveCommit(
      Plan(0, 0, 0, {Put("a", HasMig(142, 4864, {{-1, "1g.5gb", 0}, {64, "1g.5gb", 0}}))}));
  EXPECT_EQ(Used(), DeviceLoad());
}

// ---- Adopted where none would be placed

TEST_F(DeviceRules, AnInstanceThatTheDeviceCannotHaveIsTheWholeDevice) {
  const DeviceLoad whole{.gpu_milli = 1000, .tenants = 1};
  const auto found = [&](const DeviceSpec& device, const std::string& profile, int start) {
    Node({device});
    Found("a", Profile(profile), Devices({0}), {{0, profile, start}});
    return Used();
  };
  EXPECT_EQ(found(A100(SharingMode::kMig, true), "2g.10gb", 1), whole) << "no such start";
  EXPECT_EQ(found(A100(SharingMode::kMig, true), "1g.6gb", 0), whole) << "no such profile";
  EXPECT_EQ(found(A100(SharingMode::kFraction), "1g.5gb", 0), whole) << "not partitioned";
  EXPECT_EQ(found(A100(SharingMode::kExclusive), "1g.5gb", 0), whole) << "not partitioned";
  EXPECT_EQ(found(Replicated(SharingMode::kMps, 4), "1g.5gb", 0),
            (DeviceLoad{.gpu_milli = 1000, .parts = 4, .tenants = 1}));
  DeviceSpec no_mig = A100(SharingMode::kMig, true);
  no_mig.model = "T4";
  EXPECT_EQ(found(no_mig, "1g.5gb", 0), whole) << "no such model";
  // One that is not a partition, but could be, is an instance like any other.
  EXPECT_EQ(found(Partitioned({{"3g.20gb", 4}}), "1g.5gb", 0).parts, 1);
}

TEST_F(DeviceRules, WhoHasNoInstanceOfAMigDeviceHasItWhole) {
  const auto found = [&](const DeviceSpec& device, const ShapeSpec& shape) {
    Node({device});
    Found("a", shape);
    return Used();
  };
  const DeviceLoad whole{.gpu_milli = 1000, .gpu_mem_mib = 10, .tenants = 1};
  for (const ShapeSpec& shape : {Share(1, 10), Memory(10), Whole(1, 10)}) {
    EXPECT_EQ(found(A100(SharingMode::kMig, true), shape), whole);
    EXPECT_EQ(found(A100(SharingMode::kExclusive), shape), whole);
  }
  EXPECT_EQ(found(A100(SharingMode::kMig, true), Profile("1g.5gb")).gpu_milli, 1000);
}

TEST_F(DeviceRules, NobodyComesToADeviceThatSomebodyHasWhole) {
  Node({A100(SharingMode::kMig, true)});
  Found("a", Memory(10));
  EXPECT_TRUE(
      Refuses(Profile("1g.5gb"), One("1g.5gb", 6), "somebody without an instance is on it"));
  Node({Replicated(SharingMode::kMps, 4)});
  Found("a", Whole());
  EXPECT_TRUE(Refuses(Memory(1), Has(SharingMode::kMps, 250, 1), "somebody has the whole of it"));
  Node({A100(SharingMode::kFraction)});
  Found("a", Whole());
  EXPECT_TRUE(
      Refuses(Memory(1), Has(SharingMode::kFraction, 0, 1), "somebody has the whole of it"));
  Node({A100(SharingMode::kExclusive)});
  Found("a", Share(1));
  EXPECT_TRUE(Refuses(Memory(1), HasWhole(1), "gpu_milli: 0 free"));
}

TEST_F(DeviceRules, ASliceIsFreeWhenAllOfItsUsersAreGone) {
  Node({A100(SharingMode::kMig, true)});
  Found("a", Profile("1g.5gb"), Devices({0}), {{0, "1g.5gb", 3}});
  Found("b", Profile("2g.10gb"), Devices({0}), {{0, "2g.10gb", 2}});
  EXPECT_EQ(Used().slices, (Slices{0, 0, 1, 2, 0, 0, 0, 0}));
  EXPECT_EQ(Used().parts, 3);
  Gone("b");
  EXPECT_EQ(Used().slices, (Slices{0, 0, 0, 1, 0, 0, 0, 0}));
  EXPECT_TRUE(Refuses(Profile("1g.5gb"), One("1g.5gb", 3), "overlaps an instance in use at 3"));
  Gone("a");
  EXPECT_EQ(Used(), DeviceLoad());
  EXPECT_TRUE(Accepts(Profile("1g.5gb"), One("1g.5gb", 3)));
}

// ---- Updates of devices

TEST_F(DeviceRules, TasksOnALostDeviceCountAsBefore) {
  Node({A100(SharingMode::kMig, true), Replicated(SharingMode::kMps, 4)});
  Found("a", Profile("3g.20gb"), Devices({0}), {{0, "3g.20gb", 0}});
  Found("b", Share(250), Devices({1}));
  const DeviceLoad first = Used(0);
  const DeviceLoad second = Used(1);
  Update({});
  EXPECT_EQ(Used(0), first);
  EXPECT_EQ(Used(1), second);
  EXPECT_TRUE(
      RefusesForm(Profile("1g.5gb"), One("1g.5gb", 6), Devices({0}), "the node has no device 0"));
  Update({A100(SharingMode::kMig, true)});
  EXPECT_TRUE(Accepts(Profile("1g.5gb"), One("1g.5gb", 6)));
}

TEST_F(DeviceRules, AnInstanceOutlivesItsPartition) {
  Node({Partitioned({{"3g.20gb", 0}})});
  Found("a", Profile("3g.20gb"), Devices({0}), {{0, "3g.20gb", 0}});
  const DeviceLoad before = Used();
  Update({Partitioned({{"1g.5gb", 3}, {"1g.5gb", 4}})});
  EXPECT_EQ(Used(), before);
  EXPECT_TRUE(Accepts(Profile("1g.5gb"), One("1g.5gb", 4)));
  EXPECT_TRUE(Refuses(Profile("1g.5gb"), One("1g.5gb", 3), "overlaps an instance in use at 0"));
}

// ---- How many devices and instances

TEST_F(DeviceRules, AsManyInstancesAsAsked) {
  Node({A100(SharingMode::kMig, true)});
  const Instances two{{0, "1g.5gb", 1}, {0, "1g.5gb", 2}};
  EXPECT_TRUE(Accepts(Profile("1g.5gb", 2), HasMig(142, 4864, two)));
  EXPECT_TRUE(RefusesForm(Profile("1g.5gb", 3), HasMig(142, 4864, two), Devices({0}),
                          "2 MIG instances, the task asks 3"));
  EXPECT_TRUE(RefusesForm(Profile("1g.5gb"), HasMig(142, 4864, two), Devices({0}),
                          "2 MIG instances, the task asks 1"));
  EXPECT_TRUE(RefusesForm(Profile("1g.5gb"), HasMig(142, 4864, {}), Devices({0}),
                          "0 MIG instances, the task asks 1"));
  EXPECT_TRUE(RefusesForm({.cpu_milli = 1, .models = {}}, One("1g.5gb", 0), Devices({0}),
                          "1 MIG instances, the task asks 0"));
}

TEST_F(DeviceRules, InstancesAreByDeviceAndStart) {
  Node({A100(SharingMode::kMig, true), A100(SharingMode::kMig, true)});
  const auto grant = [](Instances instances) { return HasMig(142, 4864, std::move(instances)); };
  const ShapeSpec shape = Profile("1g.5gb", 2);
  EXPECT_TRUE(Accepts(shape, grant({{0, "1g.5gb", 5}, {1, "1g.5gb", 0}}), Devices({0, 1})));
  EXPECT_TRUE(RefusesForm(shape, grant({{1, "1g.5gb", 0}, {0, "1g.5gb", 5}}), Devices({0, 1}),
                          "not by device and start"));
  EXPECT_TRUE(Accepts(shape, grant({{1, "1g.5gb", 0}, {1, "1g.5gb", 1}}), Devices({1})));
  EXPECT_TRUE(RefusesForm(shape, grant({{1, "1g.5gb", 1}, {1, "1g.5gb", 0}}), Devices({1}),
                          "not by device and start"));
  EXPECT_TRUE(RefusesForm(shape, grant({{1, "1g.5gb", 1}, {1, "1g.5gb", 1}}), Devices({1}),
                          "not by device and start"));
}

TEST_F(DeviceRules, DevicesAreThoseOfTheInstances) {
  Node({A100(SharingMode::kMig, true), A100(SharingMode::kMig, true)});
  EXPECT_TRUE(RefusesForm(Profile("1g.5gb"), One("1g.5gb", 0), Devices({0, 1}),
                          "the devices are not those of the MIG instances"));
  EXPECT_TRUE(RefusesForm(Profile("1g.5gb"), One("1g.5gb", 0), Devices({1}),
                          "the devices are not those of the MIG instances"));
  for (const int device : {-1, 64}) {
    EXPECT_TRUE(RefusesForm(Profile("1g.5gb"), HasMig(142, 4864, {{device, "1g.5gb", 0}}),
                            Devices({0}), "no such device"));
  }
  EXPECT_TRUE(RefusesForm(Profile("1g.5gb"), HasMig(142, 4864, {{63, "1g.5gb", 0}}), Devices({63}),
                          "the node has no device 63"));
}

TEST_F(DeviceRules, DistinctDevicesIfAsked) {
  Node({A100(SharingMode::kMig, true), A100(SharingMode::kMig, true)});
  ShapeSpec shape = Profile("1g.5gb", 2);
  const DeviceGrant together = HasMig(142, 4864, {{0, "1g.5gb", 0}, {0, "1g.5gb", 1}});
  EXPECT_TRUE(Accepts(shape, together));
  shape.distinct_devices = true;
  EXPECT_TRUE(RefusesForm(shape, together, Devices({0}), "two instances on device 0"));
  EXPECT_TRUE(
      Accepts(shape, HasMig(142, 4864, {{0, "1g.5gb", 0}, {1, "1g.5gb", 0}}), Devices({0, 1})));
}

// ---- Whole devices

TEST_F(DeviceRules, WholeDevicesAreIdle) {
  Node({A100(SharingMode::kFraction, true)});
  EXPECT_TRUE(Accepts(Whole(), HasWhole()));
  Found("a", Memory(1));  // has no milli
  EXPECT_TRUE(Refuses(Whole(), HasWhole(), "somebody is on it, the task needs the whole"));
  Gone("a");
  EXPECT_TRUE(Accepts(Whole(), HasWhole()));
  Found("a", Profile("1g.5gb"), Devices({0}), {{0, "1g.5gb", 0}});
  EXPECT_TRUE(Refuses(Whole(), HasWhole(), "somebody is on it, the task needs the whole"));
}

TEST_F(DeviceRules, WholeDevicesAreNotHeldForOthers) {
  Node({A100(SharingMode::kFraction)});
  Hold("x", Memory(1));
  EXPECT_TRUE(Refuses(Whole(), HasWhole(), "somebody is on it, the task needs the whole"));
  Hold("x", Whole());
  EXPECT_TRUE(Refuses(Whole(), HasWhole(),
                      "gpu_milli: 0 free (capacity 1000, used 0, foreign 0, "
                      "held for others 1000), the task asks 1000"));
  Submit("x", Whole());
  Submit("new", {.cpu_milli = 1, .models = {}});
  EXPECT_TRUE(IsOk(Check({Put("x", HasWhole()), Put("new", {}, {})})));
}

TEST_F(DeviceRules, WholeDevicesAreAThousandAndOurs) {
  DeviceSpec device = A100(SharingMode::kExclusive);
  device.gpu_milli = 999;
  Node({device});
  EXPECT_TRUE(Refuses(Whole(), HasWhole(), "gpu_milli: 999 free (capacity 999"));
  EXPECT_TRUE(Refuses(Memory(1), HasWhole(1), "gpu_milli: 999 free (capacity 999"));
  Node({A100(SharingMode::kExclusive)}, {1});
  EXPECT_TRUE(
      Refuses(Whole(), HasWhole(), "gpu_milli: 999 free (capacity 1000, used 0, foreign 1"));
  EXPECT_TRUE(Refuses(Memory(1), HasWhole(1), "foreign 1,"));
  Foreign({});
  EXPECT_TRUE(Accepts(Whole(), HasWhole()));
  EXPECT_TRUE(Accepts(Memory(1), HasWhole(1)));
}

TEST_F(DeviceRules, WholeDevicesInAnyModeButMig) {
  for (const SharingMode mode : {SharingMode::kExclusive, SharingMode::kFraction, SharingMode::kMps,
                                 SharingMode::kTimeSlicing}) {
    Node({A100(mode)});
    EXPECT_TRUE(Accepts(Whole(), HasWhole()));
    EXPECT_TRUE(Refuses(Whole(),
                        Has(mode == SharingMode::kExclusive ? SharingMode::kMig : mode, 1000),
                        "it is exclusive, gpu_milli 1000"));
  }
  Node({A100(SharingMode::kMig, true)});
  EXPECT_TRUE(Refuses(Whole(), HasWhole(), "it has MIG instances only"));
}

TEST_F(DeviceRules, WholeDevicesHaveTheMemoryThatIsAsked) {
  DeviceSpec device = A100(SharingMode::kFraction);
  device.reserved_mem_mib = 60;
  Node({A100(SharingMode::kFraction), device});
  EXPECT_TRUE(Accepts(Whole(2, kMem - 60), HasWhole(kMem - 60), Devices({0, 1})));
  EXPECT_TRUE(RefusesForm(Whole(2, kMem - 59), HasWhole(kMem - 59), Devices({0, 1}),
                          "devices[1].gpu_mem_mib: 40900 free (capacity 40900"));
}

TEST_F(DeviceRules, WholeDevicesWithReplicasHaveAllOfThem) {
  Node({Replicated(SharingMode::kMps, 4)});
  Found("a", Share(1));
  EXPECT_TRUE(Refuses(Whole(), HasWhole(), "somebody is on it"));
}

// ---- Shares

TEST_F(DeviceRules, SharesAreFree) {
  Node({A100(SharingMode::kFraction)}, {100});
  Found("a", Share(200));
  Hold("x", Share(50));
  EXPECT_TRUE(Accepts(Share(650), Has(SharingMode::kFraction, 650)));
  EXPECT_TRUE(Refuses(Share(651), Has(SharingMode::kFraction, 651),
                      "devices[0].gpu_milli: 650 free (capacity 1000, used 200, foreign 100, held "
                      "for others 50), the task asks 651"));
}

TEST_F(DeviceRules, MemoryOfADeviceIsFree) {
  DeviceSpec device = A100(SharingMode::kFraction);
  device.reserved_mem_mib = 960;
  Node({device});
  Found("a", Share(100, 10'000));
  Hold("x", Memory(5000));
  EXPECT_TRUE(Accepts(Share(1, 25'000), Has(SharingMode::kFraction, 1, 25'000)));
  EXPECT_TRUE(Refuses(Share(1, 25'001), Has(SharingMode::kFraction, 1, 25'001),
                      "devices[0].gpu_mem_mib: 25000 free (capacity 40000, used 10000, foreign 0, "
                      "held for others 5000), the task asks 25001"));
}

TEST_F(DeviceRules, MemoryThatIsNotStatedHoldsNobodyBack) {
  DeviceSpec device = A100(SharingMode::kFraction);
  device.gpu_mem_mib.reset();
  Node({device});
  EXPECT_TRUE(Accepts(Memory(kMem * 9), Has(SharingMode::kFraction, 0, kMem * 9)));
}

TEST_F(DeviceRules, SharesAreReplicasRoundedUp) {
  Node({Replicated(SharingMode::kMps, 4)});
  Found("a", Share(251));  // two
  Hold("x", Replica(SharingMode::kMps));
  EXPECT_TRUE(Accepts(Share(250), Has(SharingMode::kMps, 250)));
  EXPECT_TRUE(Refuses(Share(251), Has(SharingMode::kMps, 500),
                      "devices[0].replicas: 1 free (capacity 4, used 2, foreign 0, held for others "
                      "1), the task asks 2"));
}

TEST_F(DeviceRules, OthersTakeReplicasToo) {
  Node({Replicated(SharingMode::kTimeSlicing, 4)}, {500});
  EXPECT_TRUE(Accepts(Share(500), Has(SharingMode::kTimeSlicing, 500)));
  Foreign({501});
  EXPECT_TRUE(Accepts(Share(250), Has(SharingMode::kTimeSlicing, 250)));
  EXPECT_TRUE(Refuses(Share(500), Has(SharingMode::kTimeSlicing, 500),
                      "devices[0].replicas: 1 free (capacity 4, used 0, foreign 3"));
}

TEST_F(DeviceRules, ReplicasComeWithTheMemoryThatIsAsked) {
  Node({Replicated(SharingMode::kMps, 4)});
  Found("a", Share(250, kMem - 10));
  EXPECT_TRUE(Accepts(Share(250, 10), Has(SharingMode::kMps, 250, 10)));
  EXPECT_TRUE(Refuses(Share(250, 11), Has(SharingMode::kMps, 250, 11), "gpu_mem_mib: 10 free"));
}

TEST_F(DeviceRules, SharesAreNotOfExclusiveOrMigDevices) {
  Node({A100(SharingMode::kExclusive, true)});
  EXPECT_TRUE(Refuses(Share(999), HasWhole(), "it is exclusive, the task asks a share"));
  EXPECT_TRUE(Refuses(Share(1), One("1g.5gb", 0), "the task asks no MIG instance"));
  Node({A100(SharingMode::kMig, true)});
  EXPECT_TRUE(Refuses(Share(999), Has(SharingMode::kFraction, 999), "it has MIG instances only"));
  EXPECT_TRUE(Refuses(Share(1, 1), One("1g.5gb", 0), "the task asks no MIG instance"));
}

TEST_F(DeviceRules, SharesComeInTheModesThatAreAllowed) {
  Node({Replicated(SharingMode::kMps, 2)});
  const DeviceGrant grant = Has(SharingMode::kMps, 500);
  EXPECT_TRUE(Accepts(Share(100, 0, {SharingMode::kFraction, SharingMode::kMps}), grant));
  EXPECT_TRUE(Refuses(Share(100, 0, {SharingMode::kFraction, SharingMode::kTimeSlicing}), grant,
                      "the task does not allow its mode, mps"));
  Node({A100(SharingMode::kFraction)});
  EXPECT_TRUE(Refuses(Share(100, 0, {SharingMode::kMps}), Has(SharingMode::kFraction, 100),
                      "the task does not allow its mode, fraction"));
}

TEST_F(DeviceRules, AReplicaIsOfTheModeThatIsAsked) {
  Node({Replicated(SharingMode::kTimeSlicing, 3)});
  EXPECT_TRUE(Accepts(Replica(SharingMode::kTimeSlicing), Has(SharingMode::kTimeSlicing, 333)));
  EXPECT_TRUE(Refuses(Replica(SharingMode::kMps), Has(SharingMode::kTimeSlicing, 333),
                      "the task does not allow its mode, time_slicing"));
  Found("a", Share(667));
  EXPECT_TRUE(Refuses(Replica(SharingMode::kTimeSlicing), Has(SharingMode::kTimeSlicing, 333),
                      "replicas: 0 free"));
}

TEST_F(DeviceRules, WhoIsFirstDecidesBetweenSharesAndInstances) {
  Node({A100(SharingMode::kFraction, true)});
  Found("a", Profile("1g.5gb"), Devices({0}), {{0, "1g.5gb", 3}});
  EXPECT_TRUE(Refuses(Share(1), Has(SharingMode::kFraction, 1), "MIG instances are on it"));
  EXPECT_TRUE(Refuses(Memory(1), Has(SharingMode::kFraction, 0, 1), "MIG instances are on it"));
  EXPECT_TRUE(Accepts(Profile("1g.5gb"), One("1g.5gb", 2)));
  Gone("a");
  EXPECT_TRUE(Accepts(Share(1), Has(SharingMode::kFraction, 1)));
  Found("b", Share(1));
  EXPECT_TRUE(Accepts(Share(1), Has(SharingMode::kFraction, 1)));
  EXPECT_TRUE(
      Refuses(Profile("1g.5gb"), One("1g.5gb", 2), "somebody without an instance is on it"));
  Gone("b");
  Hold("x", Share(1));
  EXPECT_TRUE(
      Refuses(Profile("1g.5gb"), One("1g.5gb", 2), "somebody without an instance is on it"));
}

TEST_F(DeviceRules, TheStepsOfAPlanMeetOnADevice) {
  Node({A100(SharingMode::kFraction, true)});
  Submit("a", Profile("4g.20gb"));
  Submit("b", Profile("3g.20gb"));
  EXPECT_TRUE(IsOk(Check({Put("a", One("4g.20gb", 0)), Put("b", One("3g.20gb", 4))})));
  EXPECT_TRUE(Refused(Check({Put("a", One("4g.20gb", 0)), Put("b", One("3g.20gb", 0))}),
                      absl::StatusCode::kInternal,
                      {"steps[1], Place of 'b/main/0'", "devices[0]: 3g.20gb at 0 overlaps"}));
  Submit("b", Share(1));
  EXPECT_TRUE(
      Refused(Check({Put("a", One("4g.20gb", 0)), Put("b", Has(SharingMode::kFraction, 1))}),
              absl::StatusCode::kInternal, {"steps[1]", "MIG instances are on it"}));
}

TEST_F(DeviceRules, JobsThatStartTogetherMayUseEachOthersHolds) {
  Node({A100(SharingMode::kFraction), A100(SharingMode::kFraction)});
  const auto submit = [this](const std::string& name, bool together) {
    JobSpec job;
    job.name = name;
    job.groups = {{.name = "main",
                   .shape = Whole(),
                   .count = 1,
                   .min_available = std::nullopt,
                   .max_tasks_per_node = std::nullopt}};
    if (together) job.co_schedule = CoSchedule{.group = "both", .size = 2};
    validator_.Observe(SubmitJob{job});
  };
  submit("a", true);
  submit("b", true);
  Hold("a", Whole());
  const std::vector<Step> steps{Put("b", HasWhole()), Put("a", HasWhole(), Devices({1}))};
  EXPECT_TRUE(IsOk(Check(steps)));
  submit("b", false);
  EXPECT_TRUE(Refused(Check(steps), absl::StatusCode::kInternal,
                      {"steps[0], Place of 'b/main/0'", "devices[0].gpu_milli: 0 free",
                       "held for "
                       "others 1000"}));
}

// ---- Nothing to be had

TEST_F(DeviceRules, ADeviceThatOthersHaveOffersNothing) {
  const auto memory = [this] {
    return New(Memory(1), Has(SharingMode::kFraction, 0, 1), Devices({0}));
  };
  Node({A100(SharingMode::kFraction)}, {999});
  EXPECT_TRUE(IsOk(memory()));
  Foreign({1000});
  EXPECT_TRUE(Refused(memory(), absl::StatusCode::kInternal,
                      {"steps[0]", "devices[0]: others use all there is, 1000 of 1000"}));
  DeviceSpec device = A100(SharingMode::kFraction);
  device.gpu_milli = 0;
  Node({device});
  EXPECT_TRUE(Refused(memory(), absl::StatusCode::kInternal, {"others use all there is, 0 of 0"}));
  device.gpu_milli = 1;
  Node({device});
  EXPECT_TRUE(IsOk(memory()));
}

// ---- Device memory

TEST_F(DeviceRules, MemoryNeedsNoShare) {
  Node({A100(SharingMode::kFraction)});
  Found("a", Share(999, 1000));
  Found("b", Share(1));
  EXPECT_TRUE(Accepts(Memory(kMem - 1000), Has(SharingMode::kFraction, 0, kMem - 1000)));
  EXPECT_TRUE(Refuses(Memory(kMem - 999), Has(SharingMode::kFraction, 0, kMem - 999),
                      "gpu_mem_mib: 39960 free"));
}

TEST_F(DeviceRules, MemoryOfAReplicatedDeviceIsAReplicaToo) {
  Node({Replicated(SharingMode::kMps, 2)});
  EXPECT_TRUE(Accepts(Memory(kMem), Has(SharingMode::kMps, 500, kMem)));
  EXPECT_TRUE(Refuses(Memory(kMem + 1), Has(SharingMode::kMps, 500, kMem + 1), "gpu_mem_mib"));
  Found("a", Share(501));
  EXPECT_TRUE(Refuses(Memory(1), Has(SharingMode::kMps, 500, 1), "replicas: 0 free"));
}

TEST_F(DeviceRules, MemoryOfAnExclusiveDeviceIsTheWholeOfIt) {
  Node({A100(SharingMode::kExclusive)});
  EXPECT_TRUE(Accepts(Memory(kMem), HasWhole(kMem)));
  EXPECT_TRUE(Refuses(Memory(kMem + 1), HasWhole(kMem + 1), "gpu_mem_mib: 40960 free"));
  EXPECT_TRUE(Refuses(Memory(5), Has(SharingMode::kExclusive, 0, 5),
                      "it is exclusive, gpu_milli "
                      "1000"));
  EXPECT_TRUE(Accepts(Memory(5, {SharingMode::kExclusive}), HasWhole(5)));
  EXPECT_TRUE(Refuses(Memory(5, {SharingMode::kFraction}), HasWhole(5),
                      "the task does not allow its mode, exclusive"));
  Found("a", Memory(1));
  EXPECT_TRUE(Refuses(Memory(1), HasWhole(1), "gpu_milli: 0 free"));
}

TEST_F(DeviceRules, MemoryOfAMigDeviceIsAnInstance) {
  Node({A100(SharingMode::kMig, true)});
  EXPECT_TRUE(Accepts(Memory(4864), One("1g.5gb", 6)));
  EXPECT_TRUE(Refuses(Memory(4865), One("1g.5gb", 6), "1g.5gb has 4864 MiB, the task asks 4865"));
  EXPECT_TRUE(Refuses(Memory(5), Has(SharingMode::kFraction, 0, 5), "it has MIG instances only"));
  EXPECT_TRUE(Refuses(Memory(4864), One("1g.5gb+me", 6), "1g.5gb+me has media extensions"));
  EXPECT_TRUE(Accepts(Memory(5, {SharingMode::kMig}), One("1g.5gb", 6)));
  EXPECT_TRUE(Refuses(Memory(5, {SharingMode::kFraction, SharingMode::kExclusive}),
                      One("1g.5gb", 6), "the task asks no MIG instance"));
}

TEST_F(DeviceRules, MemoryInTheModesThatAreAllowed) {
  Node({A100(SharingMode::kFraction, true)});
  EXPECT_TRUE(Accepts(Memory(5), Has(SharingMode::kFraction, 0, 5)));
  EXPECT_TRUE(Accepts(Memory(5), One("1g.5gb", 6)));
  EXPECT_TRUE(Refuses(Memory(5, {SharingMode::kMig}), Has(SharingMode::kFraction, 0, 5),
                      "the task does not allow its mode, fraction"));
  Node({A100(SharingMode::kExclusive, true)});
  EXPECT_TRUE(Accepts(Memory(5), HasWhole(5)));
  EXPECT_TRUE(Accepts(Memory(5), One("1g.5gb", 6)));
}

TEST_F(DeviceRules, InstancesForMemoryAreMadeOfTheLeastProfile) {
  Node({A100(SharingMode::kMig, true)});
  EXPECT_TRUE(Accepts(Memory(9000), One("1g.10gb", 6)));
  EXPECT_TRUE(Refuses(Memory(9000), One("2g.10gb", 4), "made where 1g.10gb at 0 would do"))
      << "as many memory slices, more compute slices";
  EXPECT_TRUE(Refuses(Memory(9000), One("3g.20gb", 4), "made where 1g.10gb at 0 would do"));
  // The least profile has no start any more when these are there.
  Found("a", Profile("1g.5gb"), Devices({0}), {{0, "1g.5gb", 0}});
  Found("b", Profile("1g.5gb"), Devices({0}), {{0, "1g.5gb", 2}});
  EXPECT_TRUE(Refuses(Memory(9000), One("3g.20gb", 4), "made where 1g.10gb at 4 would do"));
  Found("c", Profile("1g.5gb"), Devices({0}), {{0, "1g.5gb", 4}});
  EXPECT_TRUE(Accepts(Memory(9000), One("1g.10gb", 6)));
  EXPECT_TRUE(Accepts(Memory(4000), One("1g.5gb", 1)));
}

TEST_F(DeviceRules, ALargerProfileIsMadeWhenTheLeastHasNoStart) {
  MigGeometrySpec geometry{.name = "Three",
                           .compute_slices = 4,
                           .memory_slices = 4,
                           .profiles = {{"small", 1, 1, 10, {0}, false},
                                        {"twin", 1, 2, 20, {0, 2}, false},
                                        {"other twin", 1, 2, 25, {0, 2}, false},
                                        {"large", 2, 2, 30, {0, 2}, false}},
                           .unsourced = {}};
  ModelCatalog catalog;
  catalog.Put(geometry);
  catalog.Put(GpuModel{.name = "X1", .mig = "Three"});
  validator_ = PlanValidator({}, catalog);
  DeviceSpec device = A100(SharingMode::kMig, true);
  device.model = "X1";
  Node({device});
  const auto grant = [](const std::string& profile, int start, std::int64_t milli,
                        std::int64_t mem) {
    return HasMig(milli, mem, {{0, profile, start}});
  };
  EXPECT_TRUE(Accepts(Memory(10), grant("small", 0, 250, 10)));
  EXPECT_TRUE(Refuses(Memory(10), grant("twin", 2, 250, 20), "small at 0 would do"));
  EXPECT_TRUE(Accepts(Memory(11), grant("twin", 2, 250, 20)));
  EXPECT_TRUE(Refuses(Memory(11), grant("other twin", 2, 250, 25), "twin at 0 would do"))
      << "the order of the geometry decides";
  EXPECT_TRUE(Accepts(Memory(21), grant("other twin", 2, 250, 25)));
  EXPECT_TRUE(Refuses(Memory(21), grant("large", 2, 500, 30), "other twin at 0 would do"));
  EXPECT_TRUE(Accepts(Memory(26), grant("large", 2, 500, 30)));
  Found("a", Profile("small"), Devices({0}), {{0, "small", 0}});
  EXPECT_TRUE(Accepts(Memory(10), grant("twin", 2, 250, 20)));
  EXPECT_TRUE(Refuses(Memory(10), grant("large", 2, 500, 30), "twin at 2 would do"));
}

TEST_F(DeviceRules, AnyFixedPartitionWithTheMemoryWillDo) {
  Node({Partitioned({{"1g.5gb", 0}, {"3g.20gb", 4}})});
  EXPECT_TRUE(Accepts(Memory(4000), One("1g.5gb", 0)));
  EXPECT_TRUE(Accepts(Memory(4000), One("3g.20gb", 4)));
  EXPECT_TRUE(Refuses(Memory(5000), One("1g.5gb", 0), "1g.5gb has 4864 MiB"));
  // On demand is compared with what is made on demand.
  Node({Partitioned({{"1g.5gb", 0}, {"1g.5gb", 2}, {"3g.20gb", 4}}, true)});
  EXPECT_TRUE(Accepts(Memory(4000), One("1g.5gb", 1)));
  EXPECT_TRUE(Accepts(Memory(4000), One("3g.20gb", 4)));
  Node({Partitioned(
      {{"1g.5gb", 0}, {"1g.5gb", 1}, {"1g.5gb", 4}, {"1g.5gb", 5}, {"1g.5gb", 6}, {"1g.5gb", 3}},
      true)});
  EXPECT_TRUE(Accepts(Memory(4000), One("1g.5gb", 2)));
  Node({Partitioned({{"1g.10gb", 6}, {"1g.5gb", 0}, {"1g.5gb", 3}, {"1g.5gb", 4}}, true)});
  EXPECT_TRUE(Accepts(Memory(9000), One("1g.10gb", 6)));
  EXPECT_TRUE(Refuses(Memory(9000), One("2g.10gb", 2), "overlaps the fixed partition at 3"));
}

TEST_F(DeviceRules, ALesserFixedPartitionDoesNotStopWhatIsMadeOnDemand) {
  MigGeometrySpec geometry{
      .name = "Two",
      .compute_slices = 4,
      .memory_slices = 4,
      .profiles = {{"small", 1, 1, 10, {0}, false}, {"large", 2, 2, 20, {0, 2}, false}},
      .unsourced = {}};
  ModelCatalog catalog;
  catalog.Put(geometry);
  catalog.Put(GpuModel{.name = "X2", .mig = "Two"});
  validator_ = PlanValidator({}, catalog);
  DeviceSpec device = Partitioned({{"small", 0}}, true);
  device.model = "X2";
  Node({device});
  EXPECT_TRUE(Accepts(Memory(10), HasMig(250, 10, {{0, "small", 0}})));
  EXPECT_TRUE(Accepts(Memory(10), HasMig(500, 20, {{0, "large", 2}})));
}

// ---- MIG instances

TEST_F(DeviceRules, InstancesAreOfTheProfileThatIsAsked) {
  Node({A100(SharingMode::kMig, true)});
  EXPECT_TRUE(Accepts(Profile("1g.5gb"), One("1g.5gb", 0)));
  EXPECT_TRUE(Refuses(Profile("1g.5gb"), One("1g.10gb", 0),
                      "the task asks profile '1g.5gb', not '1g.10gb'"));
  EXPECT_TRUE(Accepts(Profile("1g.5gb+me"), One("1g.5gb+me", 0)));
  EXPECT_TRUE(Refuses(Whole(), One("7g.40gb", 0), "the task asks no MIG instance"));
  EXPECT_TRUE(
      Refuses(Replica(SharingMode::kMps), One("1g.5gb", 0), "the task asks no MIG instance"));
}

TEST_F(DeviceRules, InstancesAreOfAProfileThatTheModelHas) {
  Node({A100(SharingMode::kMig, true)});
  EXPECT_TRUE(Refuses(Profile("1g.6gb"), HasMig(142, 5836, {{0, "1g.6gb", 0}}),
                      "its model has no profile '1g.6gb'"));
  DeviceSpec a30 = A100(SharingMode::kMig, true);
  a30.model = "A30";
  Node({a30});
  EXPECT_TRUE(Accepts(Profile("1g.6gb"), HasMig(250, 5836, {{0, "1g.6gb", 0}})));
}

TEST_F(DeviceRules, InstancesStartWhereTheyMay) {
  Node({A100(SharingMode::kMig, true)});
  EXPECT_TRUE(Accepts(Profile("1g.5gb"), One("1g.5gb", 6)));
  EXPECT_TRUE(Refuses(Profile("1g.5gb"), One("1g.5gb", 7), "1g.5gb at 7 is no legal start"));
  EXPECT_TRUE(Refuses(Profile("1g.5gb"), One("1g.5gb", -1), "1g.5gb at -1 is no legal start"));
  EXPECT_TRUE(Refuses(Profile("2g.10gb"), One("2g.10gb", 1), "2g.10gb at 1 is no legal start"));
}

TEST_F(DeviceRules, OnlySomeDevicesArePartitioned) {
  for (const SharingMode mode : {SharingMode::kExclusive, SharingMode::kFraction, SharingMode::kMps,
                                 SharingMode::kTimeSlicing}) {
    Node({A100(mode)});
    EXPECT_TRUE(Refuses(Profile("1g.5gb"), One("1g.5gb", 0), "it can't be partitioned"));
    EXPECT_TRUE(Refuses(Memory(1), One("1g.5gb", 0), "it can't be partitioned"));
  }
  for (const SharingMode mode : {SharingMode::kExclusive, SharingMode::kFraction}) {
    Node({A100(mode, true)});
    EXPECT_TRUE(Accepts(Profile("1g.5gb"), One("1g.5gb", 0)));
  }
}

TEST_F(DeviceRules, InstancesDoNotOverlapThoseInUse) {
  Node({A100(SharingMode::kMig, true)});
  Found("a", Profile("1g.10gb"), Devices({0}), {{0, "1g.10gb", 2}});
  EXPECT_TRUE(Accepts(Profile("2g.10gb"), One("2g.10gb", 0)));
  EXPECT_TRUE(Accepts(Profile("3g.20gb"), One("3g.20gb", 4)));
  EXPECT_TRUE(Accepts(Profile("1g.5gb"), One("1g.5gb", 1)));
  EXPECT_TRUE(Accepts(Profile("1g.5gb"), One("1g.5gb", 4)));
  for (const int start : {2, 3}) {
    EXPECT_TRUE(
        Refuses(Profile("1g.5gb"), One("1g.5gb", start), "overlaps an instance in use at 2"));
  }
  EXPECT_TRUE(Refuses(Profile("3g.20gb"), One("3g.20gb", 0), "overlaps an instance in use at 2"));
}

TEST_F(DeviceRules, InstancesDoNotOverlapThoseHeldForOthers) {
  Node({A100(SharingMode::kMig, true)});
  Hold("x", Profile("1g.5gb"), {{0, "1g.5gb", 3}});
  EXPECT_TRUE(Accepts(Profile("3g.20gb"), One("3g.20gb", 4)));
  EXPECT_TRUE(Refuses(Profile("3g.20gb"), One("3g.20gb", 0), "overlaps an instance in use at 3"));
  Hold("new", Profile("4g.20gb"), {{0, "4g.20gb", 0}});
  validator_.Observe(DropHold{"hold of x"});
  EXPECT_TRUE(Accepts(Profile("4g.20gb"), One("4g.20gb", 0))) << "held for itself";
}

TEST_F(DeviceRules, InstancesOfOneTaskDoNotOverlap) {
  Node({A100(SharingMode::kMig, true)});
  const auto pair = [](int a, int b) {
    return HasMig(285, 9856, {{0, "2g.10gb", a}, {0, "2g.10gb", b}});
  };
  EXPECT_TRUE(Accepts(Profile("2g.10gb", 2), pair(0, 2)));
  Found("a", Profile("2g.10gb"), Devices({0}), {{0, "2g.10gb", 4}});
  EXPECT_TRUE(Accepts(Profile("2g.10gb", 2), pair(0, 2)));
  EXPECT_TRUE(Refuses(Profile("2g.10gb", 2), pair(2, 4), "2g.10gb at 4 overlaps"));
}

TEST_F(DeviceRules, TheSecondInstanceOfATaskComesBesideTheFirst) {
  Node({A100(SharingMode::kMig, true)}, {500});  // leaves ⌊7 · 500 / 1000⌋ = 3 compute slices
  EXPECT_TRUE(Accepts(Profile("1g.5gb", 3),
                      HasMig(142, 4864, {{0, "1g.5gb", 0}, {0, "1g.5gb", 1}, {0, "1g.5gb", 2}})));
  EXPECT_TRUE(Refuses(Profile("2g.10gb", 2),
                      HasMig(285, 9856, {{0, "2g.10gb", 0}, {0, "2g.10gb", 2}}),
                      "devices[0].compute slices: 1 free (capacity 7, used 2, foreign 4, held for "
                      "others 0), the task asks 2"));
}

TEST_F(DeviceRules, OthersTakeComputeSlices) {
  Node({A100(SharingMode::kMig, true)});
  EXPECT_TRUE(Accepts(Profile("7g.40gb"), One("7g.40gb", 0)));
  Foreign({1});
  EXPECT_TRUE(Refuses(Profile("7g.40gb"), One("7g.40gb", 0),
                      "devices[0].compute slices: 6 free (capacity 7, used 0, foreign 1"));
  Found("a", Profile("3g.20gb"), Devices({0}), {{0, "3g.20gb", 4}});
  EXPECT_TRUE(Accepts(Profile("3g.20gb"), One("3g.20gb", 0)));
  EXPECT_TRUE(Refuses(Profile("4g.20gb"), One("4g.20gb", 0), "compute slices: 3 free"));
}

TEST_F(DeviceRules, AFixedPartitionKeepsTheMediaEnginesUsedOrNot) {
  DeviceSpec device = A100(SharingMode::kMig, true);
  device.partitions = {{"1g.5gb+me", 0}};
  Node({device});
  EXPECT_TRUE(Accepts(Profile("1g.5gb+me"), One("1g.5gb+me", 0)));
  EXPECT_TRUE(Refuses(Profile("1g.5gb+me"), One("1g.5gb+me", 1),
                      "needs the media engines, which the partition at 0 has"));
  EXPECT_TRUE(Accepts(Profile("1g.5gb"), One("1g.5gb", 1))) << "it needs none";
  device.partitions = {{"1g.5gb", 0}};
  Node({device});
  EXPECT_TRUE(Accepts(Profile("1g.5gb+me"), One("1g.5gb+me", 1))) << "the partition has none";
}

TEST_F(DeviceRules, MediaEnginesAreGivenOnce) {
  Node({A100(SharingMode::kMig, true)});
  Found("a", Profile("1g.5gb+me"), Devices({0}), {{0, "1g.5gb+me", 0}});
  EXPECT_TRUE(Accepts(Profile("1g.5gb"), One("1g.5gb", 1)));
  EXPECT_TRUE(Refuses(Profile("1g.5gb+me"), One("1g.5gb+me", 1),
                      "1g.5gb+me at 1 needs the media engines, which another instance has"));
  Gone("a");
  EXPECT_TRUE(Accepts(Profile("1g.5gb+me"), One("1g.5gb+me", 1)));
  EXPECT_TRUE(Refuses(Profile("1g.5gb+me", 2),
                      HasMig(142, 4864, {{0, "1g.5gb+me", 1}, {0, "1g.5gb+me", 2}}),
                      "1g.5gb+me at 2 needs the media engines"));
  Hold("x", Profile("1g.5gb+me"), {{0, "1g.5gb+me", 6}});
  EXPECT_TRUE(Refuses(Profile("1g.5gb+me"), One("1g.5gb+me", 1), "needs the media engines"));
}

TEST_F(DeviceRules, FixedPartitionsAreTakenWhole) {
  Node({Partitioned({{"1g.5gb", 6}, {"2g.10gb", 2}}, true)});
  EXPECT_TRUE(Accepts(Profile("2g.10gb"), One("2g.10gb", 2)));
  EXPECT_TRUE(Accepts(Profile("1g.5gb"), One("1g.5gb", 1)));
  EXPECT_TRUE(Accepts(Profile("1g.5gb"), One("1g.5gb", 4)));
  for (const int start : {2, 3}) {
    EXPECT_TRUE(
        Refuses(Profile("1g.5gb"), One("1g.5gb", start), "overlaps the fixed partition at 2"));
  }
  EXPECT_TRUE(Refuses(Profile("1g.10gb"), One("1g.10gb", 2), "overlaps the fixed partition at 2"))
      << "as large, but another profile";
  EXPECT_TRUE(Refuses(Profile("3g.20gb"), One("3g.20gb", 0), "overlaps the fixed partition at 2"));
}

TEST_F(DeviceRules, AFixedPartitionInUseIsNotFree) {
  Node({Partitioned({{"2g.10gb", 2}})});
  EXPECT_TRUE(Accepts(Profile("2g.10gb"), One("2g.10gb", 2)));
  Found("a", Profile("1g.5gb"), Devices({0}), {{0, "1g.5gb", 3}});
  EXPECT_TRUE(Refuses(Profile("2g.10gb"), One("2g.10gb", 2), "overlaps an instance in use at 3"));
}

TEST_F(DeviceRules, WithoutOnDemandOnlyPartitionsThatExist) {
  Node({Partitioned({{"2g.10gb", 0}})});
  EXPECT_TRUE(Accepts(Profile("2g.10gb"), One("2g.10gb", 0)));
  EXPECT_TRUE(
      Refuses(Profile("2g.10gb"), One("2g.10gb", 2), "2g.10gb at 2 is none of its partitions"));
  EXPECT_TRUE(
      Refuses(Profile("1g.10gb"), One("1g.10gb", 0), "1g.10gb at 0 is none of its partitions"));
  EXPECT_TRUE(Refuses(Memory(9000), One("1g.10gb", 4), "is none of its partitions"));
}

TEST_F(DeviceRules, EveryDeviceOfATaskIsLookedAt) {
  Node({A100(SharingMode::kMig, true), A100(SharingMode::kMig, true)});
  const DeviceGrant grant = HasMig(142, 4864, {{0, "1g.5gb", 0}, {1, "1g.5gb", 1}});
  EXPECT_TRUE(Accepts(Profile("1g.5gb", 2), grant, Devices({0, 1})));
  Found("a", Profile("1g.5gb"), Devices({1}), {{1, "1g.5gb", 1}});
  EXPECT_TRUE(RefusesForm(Profile("1g.5gb", 2), grant, Devices({0, 1}),
                          "devices[1]: 1g.5gb at 1 overlaps"));
  ShapeSpec shape = Profile("1g.5gb", 2);
  shape.models = {"H100"};
  EXPECT_TRUE(RefusesForm(shape, grant, Devices({0, 1}), "devices[0] is of model"));
}

TEST_F(DeviceRules, GeometriesOfAddedModelsAreKnown) {
  DeviceSpec device = A100(SharingMode::kMig, true);
  device.model = "X9";
  Node({device});
  const DeviceGrant grant = HasMig(666, 30, {{0, "2x", 1}});
  EXPECT_TRUE(Refuses(Profile("2x"), grant, "it can't be partitioned"));
  ModelCatalog catalog;
  catalog.Put(MigGeometrySpec{.name = "Odd",
                              .compute_slices = 3,
                              .memory_slices = 3,
                              .profiles = {{"2x", 2, 2, 30, {1}, false}},
                              .unsourced = {}});
  catalog.Put(GpuModel{.name = "X9", .mig = "Odd"});
  validator_ = PlanValidator({}, catalog);
  Node({device});
  EXPECT_TRUE(Accepts(Profile("2x"), grant));
  EXPECT_TRUE(Refuses(Profile("2x"), HasMig(666, 30, {{0, "2x", 0}}), "2x at 0 is no legal start"));
}

// ---- The grant

TEST_F(DeviceRules, TheGrantOfAnInstanceIsThatOfItsProfile) {
  Node({A100(SharingMode::kMig, true)});
  const DeviceGrant right = One("3g.20gb", 4);
  EXPECT_TRUE(Accepts(Profile("3g.20gb"), right));
  DeviceGrant wrong = right;
  wrong.gpu_milli = 429;
  EXPECT_TRUE(Refuses(Profile("3g.20gb"), wrong,
                      "grant of devices[0]: mig, gpu_milli 429, gpu_mem_mib 19968; it is mig, "
                      "gpu_milli 428, gpu_mem_mib 19968"));
  wrong = right;
  wrong.gpu_mem_mib = 0;
  EXPECT_TRUE(Refuses(Profile("3g.20gb"), wrong, "mig, gpu_milli 428, gpu_mem_mib 0; it is"));
  wrong = right;
  wrong.mode = SharingMode::kFraction;
  EXPECT_TRUE(Refuses(Profile("3g.20gb"), wrong, "fraction, gpu_milli 428"));
  // To one who asks memory, all of it.
  EXPECT_TRUE(Refuses(Memory(4000), HasMig(142, 4000, {{0, "1g.5gb", 0}}),
                      "it is mig, gpu_milli 142, gpu_mem_mib 4864"));
}

TEST_F(DeviceRules, TheGrantOfReplicasIsRoundedDown) {
  Node({Replicated(SharingMode::kMps, 3)});
  EXPECT_TRUE(Accepts(Share(334, 7), Has(SharingMode::kMps, 666, 7)));
  EXPECT_TRUE(Refuses(Share(334, 7), Has(SharingMode::kMps, 667, 7), "it is mps, gpu_milli 666"));
  EXPECT_TRUE(Refuses(Share(334, 7), Has(SharingMode::kMps, 334, 7), "it is mps, gpu_milli 666"));
  EXPECT_TRUE(Refuses(Share(334, 7), Has(SharingMode::kMps, 666), "gpu_mem_mib 7"));
  EXPECT_TRUE(Refuses(Share(334, 7), Has(SharingMode::kTimeSlicing, 666, 7), "time_slicing, "));
}

TEST_F(DeviceRules, TheGrantOfAShareIsAsAsked) {
  Node({A100(SharingMode::kFraction)});
  EXPECT_TRUE(Accepts(Share(5, 7), Has(SharingMode::kFraction, 5, 7)));
  EXPECT_TRUE(
      Refuses(Share(5, 7), Has(SharingMode::kFraction, 6, 7), "it is fraction, gpu_milli 5"));
  EXPECT_TRUE(Refuses(Share(5, 7), Has(SharingMode::kFraction, 5, 8), "gpu_mem_mib 7"));
  EXPECT_TRUE(Refuses(Share(5, 7), Has(SharingMode::kExclusive, 5, 7), "it is fraction"));
  EXPECT_TRUE(Refuses(Memory(7), Has(SharingMode::kFraction, 1, 7), "it is fraction, gpu_milli 0"));
}

TEST_F(DeviceRules, WhoHasNoDeviceIsGrantedNothing) {
  Node({});
  const ShapeSpec shape{.cpu_milli = 1, .models = {}};
  EXPECT_TRUE(Accepts(shape, {}, {}));
  EXPECT_TRUE(RefusesForm(shape, Has(SharingMode::kFraction, 0), {},
                          "grant: fraction, gpu_milli 0, gpu_mem_mib 0; it is exclusive"));
  EXPECT_TRUE(RefusesForm(shape, Has(SharingMode::kExclusive, 1), {}, "gpu_milli 1,"));
}

}  // namespace
}  // namespace gpusched
