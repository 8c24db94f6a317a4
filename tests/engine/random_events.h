// RandomEvents: a stream of events as a hostile world would send them, from a seed.
#ifndef GPUSCHED_TESTS_ENGINE_RANDOM_EVENTS_H_
#define GPUSCHED_TESTS_ENGINE_RANDOM_EVENTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gpusched/base/rng.h"
#include "gpusched/engine/engine.h"
#include "gpusched/spec/event.h"

namespace gpusched {

// Few names, so that they meet: nodes that come, shrink, grow and go, jobs of every kind, news that
// is true, late, early, doubled or about nobody.
class RandomEvents {
 public:
  explicit RandomEvents(std::uint64_t seed) : rng_(seed) {}

  Event Next(const Engine& engine) {
    now_ = engine.state().now();
    const std::uint64_t kind = Draw(100);
    if (kind < 8) return AddNode{SomeNode()};
    if (kind < 12) return SomeUpdate();
    if (kind < 14) return RemoveNode{NodeName()};
    if (kind < 18) return CordonNode{NodeName(), Draw(3) == 0};
    if (kind < 36) return SubmitJob{SomeJob()};
    if (kind < 42) return SomeJobUpdate();
    if (kind < 45) return CancelJob{JobName()};
    if (kind < 47) return SomeHold();
    if (kind < 48) return DropHold{"h" + std::to_string(Draw(3))};
    if (kind < 54) return Tick{now_ + Pick({0, 1, 50, 400})};
    return SomeNews(engine);
  }

  // Below `bound`.
  std::uint64_t Draw(std::uint64_t bound) { return rng_.Below(bound); }

 private:
  std::int64_t Pick(std::vector<std::int64_t> values) {
    return values[static_cast<std::size_t>(Draw(values.size()))];
  }
  std::string NodeName() { return "n" + std::to_string(Draw(6)); }
  std::string JobName() { return "j" + std::to_string(Draw(9)); }
  std::string ModelName() { return Draw(2) == 0 ? "T4" : "A30"; }

  std::vector<DeviceSpec> SomeDevices() {
    std::vector<DeviceSpec> devices(static_cast<std::size_t>(Draw(5)));
    const std::string model = ModelName();
    for (DeviceSpec& device : devices) {
      device.model = Draw(6) == 0 ? ModelName() : model;
      device.gpu_milli = Draw(8) == 0 ? 0 : 1000;
      if (Draw(2) == 0) device.gpu_mem_mib = Pick({8, 16, 24});
      if (Draw(3) == 0) ShareOtherwise(device);
    }
    return devices;
  }

  // In another way than by shares.
  void ShareOtherwise(DeviceSpec& device) {
    if (device.gpu_mem_mib && Draw(2) == 0) device.reserved_mem_mib = 2;
    if (device.model == "A30" && Draw(2) == 0) {
      device.sharing = static_cast<SharingMode>(Pick({0, 1, 4}));
      device.partition_on_demand = device.sharing != SharingMode::kMig || Draw(2) == 0;
      if (device.sharing != SharingMode::kMig) return;
      if (!device.partition_on_demand || Draw(2) == 0) {
        device.partitions = {{"2g.12gb", 2}, {"1g.6gb+me", 0}};
      }
      return;
    }
    device.sharing = static_cast<SharingMode>(Pick({0, 2, 3}));
    if (HasReplicas(device.sharing)) device.replicas = Pick({1, 3, 4});
  }

  std::string Profile() {
    const std::vector<std::string> names = {"1g.6gb", "1g.6gb", "2g.12gb", "4g.24gb", "1g.6gb+me"};
    return names[static_cast<std::size_t>(Draw(names.size()))];
  }

  // Where instances may or may not be.
  std::vector<MigInstance> SomeInstances(std::int64_t count) {
    std::vector<MigInstance> instances;
    for (std::int64_t i = 0; i < count; ++i) {
      instances.push_back({.device = static_cast<std::int32_t>(Draw(3)),
                           .profile = Profile(),
                           .start = static_cast<std::int32_t>(Draw(4))});
    }
    std::sort(instances.begin(), instances.end(), Before);
    return instances;
  }

  static DeviceMask DevicesOf(const std::vector<MigInstance>& instances) {
    DeviceMask devices;
    for (const MigInstance& instance : instances) devices.Insert(instance.device);
    return devices;
  }

  NodeSpec SomeNode() {
    return {.name = NodeName(),
            .cpu_milli = Pick({4000, 8000, 16000}),
            .mem_mib = Pick({64, 128}),
            .devices = SomeDevices()};
  }

  UpdateNode SomeUpdate() {
    UpdateNode update{
        .node = NodeName(), .cpu_milli = {}, .mem_mib = {}, .devices = {}, .foreign = {}};
    if (Draw(2) == 0) update.cpu_milli = Pick({0, 2000, 8000});
    if (Draw(3) == 0) update.mem_mib = Pick({16, 64});
    if (Draw(2) == 0) update.devices = SomeDevices();
    if (Draw(3) == 0) {
      update.foreign =
          ForeignUsage{.cpu_milli = Pick({0, 1000}), .mem_mib = Pick({0, 8}), .device_milli = {}};
      for (std::uint64_t i = Draw(3); i > 0; --i)
        update.foreign->device_milli.push_back(Pick({0, 200, 1000}));
    }
    return update;
  }

  ShapeSpec SomeShape() {
    ShapeSpec shape{
        .cpu_milli = Pick({0, 500, 2000, 5000}), .mem_mib = Pick({0, 4, 20}), .models = {}};
    const std::uint64_t kind = Draw(6);
    if (kind == 4) {
      shape.gpu_count = Pick({1, 1, 2, 3});
      shape.mig_profile = Profile();
      shape.distinct_devices = Draw(4) == 0;
      return shape;
    }
    if (kind == 5) {
      shape.gpu_count = 1;
      shape.gpu_mem_mib = Pick({0, 4, 12, 20});
      const bool replica = shape.gpu_mem_mib == 0;
      if (replica || Draw(3) == 0) {
        shape.sharing = {Draw(2) == 0 ? SharingMode::kMps : SharingMode::kTimeSlicing};
      }
      return shape;
    }
    if (kind == 1) {
      shape.gpu_count = 1;
      shape.gpu_milli = Pick({100, 300, 600});
    } else if (kind >= 2) {
      shape.gpu_count = Pick({1, 1, 2, 4});
      shape.gpu_milli = 1000;
    }
    if (shape.gpu_count > 0) {
      if (Draw(3) == 0) shape.gpu_mem_mib = Pick({4, 12, 20});
      if (Draw(3) == 0) shape.models.push_back(ModelName());
    }
    return shape;
  }

  std::vector<TaskGroupSpec> SomeGroups() {
    std::vector<TaskGroupSpec> groups;
    for (std::uint64_t i = 1 + Draw(2); i > 0; --i) {
      TaskGroupSpec group{.name = "g" + std::to_string(i),
                          .shape = SomeShape(),
                          .count = Pick({0, 1, 2, 3, 4}),
                          .min_available = {},
                          .max_tasks_per_node = {}};
      if (Draw(3) == 0) group.min_available = Draw(static_cast<std::uint64_t>(group.count) + 1);
      if (Draw(4) == 0) group.max_tasks_per_node = Pick({1, 2});
      groups.push_back(std::move(group));
    }
    return groups;
  }

  Label SomeLabel() { return {.key = "team", .value = Draw(2) == 0 ? "a" : "b"}; }

  JobSpec SomeJob() {
    JobSpec job;
    job.name = JobName();
    job.groups = SomeGroups();
    job.kind = Draw(3) == 0 ? JobKind::kService : JobKind::kBatch;
    job.priority = Pick({0, 0, 0, 5});
    if (Draw(4) == 0) job.max_attempts = Pick({1, 2, 3});
    if (Draw(4) == 0) job.alternatives.push_back(SomeGroups());
    job.homogeneous = Draw(5) == 0;
    if (Draw(3) == 0) job.labels.push_back(SomeLabel());
    if (Draw(8) == 0) job.affinity.push_back(SomeLabel());
    if (Draw(8) == 0) job.anti_affinity.push_back(SomeLabel());
    if (Draw(8) == 0) {
      job.co_schedule = CoSchedule{.group = "together" + std::to_string(Draw(2)), .size = 2};
    }
    return job;
  }

  UpdateJob SomeJobUpdate() {
    UpdateJob update{
        .job = JobName(), .queue = {}, .priority = {}, .expected_duration = {}, .groups = {}};
    if (Draw(3) == 0) update.priority = Pick({0, 1, 9});
    if (Draw(3) > 0) {
      GroupUpdate group{.group = "g" + std::to_string(1 + Draw(2)),
                        .count = {},
                        .min_available = {},
                        .shape = {}};
      if (Draw(3) > 0) group.count = Pick({0, 1, 2, 5});
      if (Draw(3) == 0) group.min_available = Pick({0, 1, 2});
      if (Draw(6) == 0) group.shape = SomeShape();
      update.groups.push_back(std::move(group));
    }
    return update;
  }

  HoldCapacity SomeHold() {
    HoldCapacity hold{.name = "h" + std::to_string(Draw(3)),
                      .owner = JobName(),
                      .node = NodeName(),
                      .shape = SomeShape(),
                      .devices = {},
                      .until = now_ + Pick({10, 500})};
    if (hold.shape.mig_profile.empty()) {
      for (int i = 0; i < hold.shape.gpu_count; ++i) hold.devices.Insert(i);
    } else {
      hold.instances = SomeInstances(hold.shape.gpu_count);
      for (MigInstance& instance : hold.instances) instance.profile = hold.shape.mig_profile;
      hold.devices = DevicesOf(hold.instances);
    }
    return hold;
  }

  Event SomeNews(const Engine& engine) {
    TaskKey key{.job = JobName(),
                .group = "g1",
                .index = static_cast<std::int64_t>(Draw(3)),
                .attempt = static_cast<std::int64_t>(1 + Draw(2))};
    DeviceMask devices;
    const std::vector<JobStatus> jobs = engine.Jobs();
    if (!jobs.empty() && Draw(12) > 0) {
      const auto& tasks = jobs[static_cast<std::size_t>(Draw(jobs.size()))].tasks;
      if (!tasks.empty()) {
        const TaskStatus& task = tasks[static_cast<std::size_t>(Draw(tasks.size()))];
        key = task.task;
        if (Draw(10) == 0) key.attempt += Pick({-1, 1});
        if (Draw(20) == 0 || task.phase == TaskPhase::kPending) {
          for (std::uint64_t i = Draw(3); i > 0; --i) devices.Insert(static_cast<int>(i));
          TaskPlace place{.node = NodeName(), .devices = devices};
          if (Draw(3) == 0) {
            place.instances = SomeInstances(1 + static_cast<std::int64_t>(Draw(2)));
            place.devices = DevicesOf(place.instances);
          }
          if (Draw(3) == 0) return TaskStarted{key, place};
        }
      }
    }
    switch (Draw(8)) {
      case 0:
        return TaskFailed{key};
      case 1:
      case 2:
        return TaskFinished{key};
      case 3:
      case 4:
        return TaskEvicted{key};
      default:
        return TaskStarted{key, {}};
    }
  }

  Rng rng_;
  Time now_ = 0;
};

}  // namespace gpusched

#endif  // GPUSCHED_TESTS_ENGINE_RANDOM_EVENTS_H_
