#include "gpusched/decision/plan_validator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "status_matchers.h"

namespace gpusched {
namespace {

using Steps = std::vector<Step>;

constexpr Time kStart = 1000 * kSecond;

DeviceMask Devices(std::initializer_list<int> indices) {
  DeviceMask mask;
  for (const int index : indices) mask.Insert(index);
  return mask;
}

ShapeSpec Cpu(std::int64_t cpu_milli, std::int64_t mem_mib = 0) {
  return {.cpu_milli = cpu_milli, .mem_mib = mem_mib, .models = {}};
}

ShapeSpec Gpus(std::int64_t count, std::int64_t gpu_mem_mib = 0) {
  return {.gpu_count = count, .gpu_milli = 1000, .gpu_mem_mib = gpu_mem_mib, .models = {}};
}

ShapeSpec Share(std::int64_t gpu_milli, std::int64_t gpu_mem_mib = 0) {
  return {.gpu_count = 1, .gpu_milli = gpu_milli, .gpu_mem_mib = gpu_mem_mib, .models = {}};
}

// A node with 10 CPU cores, 1000 MiB, and devices of the given models with 16,000 MiB each.
NodeSpec Machine(std::string name, const std::vector<std::string>& models = {}) {
  NodeSpec node{.name = std::move(name), .cpu_milli = 10'000, .mem_mib = 1000, .devices = {}};
  for (const std::string& model : models) {
    node.devices.push_back({.model = model, .gpu_mem_mib = 16'000});
  }
  return node;
}

TaskGroupSpec Group(std::string name, std::int64_t count, ShapeSpec shape,
                    std::optional<std::int64_t> min_available = std::nullopt) {
  return {.name = std::move(name),
          .shape = std::move(shape),
          .count = count,
          .min_available = min_available,
          .max_tasks_per_node = std::nullopt};
}

// A job with one group, "main".
JobSpec Job(std::string name, std::int64_t count, ShapeSpec shape,
            std::optional<std::int64_t> min_available = std::nullopt) {
  JobSpec job;
  job.name = std::move(name);
  job.groups = {Group("main", count, std::move(shape), min_available)};
  return job;
}

JobSpec Service(std::string name, std::int64_t count, ShapeSpec shape,
                std::optional<std::int64_t> min_available = std::nullopt) {
  JobSpec job = Job(std::move(name), count, std::move(shape), min_available);
  job.kind = JobKind::kService;
  return job;
}

struct Other {
  std::int64_t attempt = 1;
  std::string group = "main";
  std::int64_t alternative = 0;
  std::optional<std::int64_t> rank = std::nullopt;  // absent: the index
};

Place Put(const std::string& job, std::int64_t index, const std::string& node,
          DeviceMask devices = {}, const Other& other = {}) {
  return {.task = {job, other.group, index, other.attempt},
          .node = node,
          .devices = devices,
          .alternative = other.alternative,
          .rank = other.rank.value_or(index)};
}

Place Again(const std::string& job, std::int64_t index, const std::string& node,
            std::int64_t attempt) {
  return Put(job, index, node, {}, {.attempt = attempt});
}

Wait Waits(const std::string& job, Reason reason = Reason::kInsufficientCpu) {
  return {.job = job, .why = {.reason = reason, .group = "", .subject = ""}};
}

Reject Rejects(const std::string& job, Reason reason = Reason::kInsufficientCpu) {
  return {.job = job, .why = {.reason = reason, .group = "", .subject = ""}};
}

Evict Drop(const std::string& job, std::int64_t index, const std::string& node, EvictCause cause,
           std::int64_t attempt = 1) {
  return {.task = {job, "main", index, attempt}, .node = node, .cause = cause};
}

TaskKey Key(const std::string& job, std::int64_t index, std::int64_t attempt = 1) {
  return {job, "main", index, attempt};
}

GroupUpdate Resize(std::int64_t count, std::optional<std::int64_t> min_available = std::nullopt) {
  return {.group = "main", .count = count, .min_available = min_available, .shape = std::nullopt};
}

HoldCapacity Hold(const std::string& name, const std::string& owner, const std::string& node,
                  const ShapeSpec& shape, DeviceMask devices = {}, Time until = kNoDeadline) {
  return {.name = name,
          .owner = owner,
          .node = node,
          .shape = shape,
          .devices = devices,
          .until = until};
}

class PlanValidatorTest : public testing::Test {
 protected:
  PlanValidatorTest() { Tell(Tick{kStart}); }

  void Tell(const Event& event) {
    validator_.Observe(event);
    if (const auto* submit = std::get_if<SubmitJob>(&event)) {
      jobs_.insert_or_assign(submit->job.name, submit->job);
    }
  }

  void Update(const std::string& job, const GroupUpdate& update) {
    UpdateJob event;
    event.job = job;
    event.groups = {update};
    Tell(event);
  }

  void Started(const std::string& job, std::int64_t index, std::int64_t attempt = 1) {
    Tell(TaskStarted{.task = Key(job, index, attempt), .place = std::nullopt});
  }

  void Adopted(const std::string& job, std::int64_t index, const std::string& node,
               DeviceMask devices = {}, std::int64_t attempt = 1) {
    Tell(TaskStarted{.task = Key(job, index, attempt),
                     .place = TaskPlace{.node = node, .devices = devices}});
  }

  // Grants are what the group's shape says: the devices here are shared by shares alone.
  Plan PlanOf(Steps steps) const {
    for (Step& step : steps) {
      auto* const place = std::get_if<Place>(&step);
      if (place == nullptr || place->devices.empty()) continue;
      const auto job = jobs_.find(place->task.job);
      if (job == jobs_.end() ||
          place->alternative > static_cast<std::int64_t>(job->second.alternatives.size())) {
        continue;
      }
      const auto alternative = static_cast<std::size_t>(place->alternative);
      for (const TaskGroupSpec& group : job->second.Alternative(alternative)) {
        if (group.name != place->task.group) continue;
        const ShapeSpec& shape = group.shape;
        place->grant = {
            .mode = shape.gpu_milli == 1000 ? SharingMode::kExclusive : SharingMode::kFraction,
            .gpu_milli = shape.gpu_milli,
            .gpu_mem_mib = shape.gpu_mem_mib};
      }
    }
    return {now_, 0, 0, std::move(steps)};
  }

  testing::AssertionResult Accepts(Steps steps) const {
    return IsOk(validator_.Check(PlanOf(std::move(steps))));
  }

  testing::AssertionResult Breaks(Steps steps,
                                  std::initializer_list<std::string_view> parts) const {
    return Refused(validator_.Check(PlanOf(std::move(steps))), absl::StatusCode::kInternal, parts);
  }

  // A plan that must be in order, and is committed.
  Plan Commit(Steps steps) {
    Plan plan = PlanOf(std::move(steps));
    EXPECT_TRUE(IsOk(validator_.Check(plan)));
    validator_.ObserveCommit(plan);
    return plan;
  }

  std::optional<JobCount> Count(const std::string& job) const {
    for (const JobCount& count : validator_.Jobs()) {
      if (count.job == job) return count;
    }
    return std::nullopt;
  }

  NodeLoad Used(const std::string& node) const {
    for (const NodeLoad& load : validator_.Used()) {
      if (load.node == node) return load;
    }
    return {};
  }

  PlanValidator validator_{{.start_timeout = 5 * kMinute, .repair_timeout = 10 * kMinute}};
  std::map<std::string, JobSpec> jobs_;
  Time now_ = kStart;
};

// ---- The step and its job

TEST_F(PlanValidatorTest, AnEmptyPlanOfAnEmptyWorldIsFine) { EXPECT_TRUE(Accepts({})); }

TEST_F(PlanValidatorTest, TimeDoesNotGoBack) {
  now_ = kStart - 1;
  EXPECT_TRUE(Breaks({}, {"the plan is for time 999999999", "1000000000 already"}));
  now_ = kStart;
  EXPECT_TRUE(Accepts({}));
}

TEST_F(PlanValidatorTest, APlaceNamesALiveJobGroupAndIndex) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Job("j", 2, Cpu(1))});
  EXPECT_TRUE(Breaks({Put("k", 0, "n")}, {"steps[0]", "'k/main/0' attempt 1", "no such job"}));
  EXPECT_TRUE(Breaks({Put("j", 0, "n", {}, {.group = "side", .rank = 0})},
                     {"alternative 0 has no group 'side'"}));
  EXPECT_TRUE(Breaks({Put("j", 2, "n")}, {"index 2, the group has 2 tasks"}));
  EXPECT_TRUE(Breaks({Put("j", -1, "n")}, {"index -1"}));
  EXPECT_TRUE(Accepts({Put("j", 0, "n"), Put("j", 1, "n")}));
}

TEST_F(PlanValidatorTest, ATaskIsPlacedOnce) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Job("j", 1, Cpu(1))});
  EXPECT_TRUE(Breaks({Put("j", 0, "n"), Again("j", 0, "n", 2)},
                     {"steps[1]", "the task is placed already"}));
  Commit({Put("j", 0, "n")});
  EXPECT_TRUE(Breaks({Again("j", 0, "n", 2)}, {"the task is placed already"}));
  EXPECT_TRUE(Accepts({}));
}

TEST_F(PlanValidatorTest, AFinishedTaskIsNotPlaced) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Job("j", 2, Cpu(1))});
  Commit({Put("j", 0, "n"), Put("j", 1, "n")});
  Tell(TaskFinished{Key("j", 0)});
  EXPECT_TRUE(Breaks({Again("j", 0, "n", 2)}, {"the task has finished"}));
  EXPECT_TRUE(Accepts({}));
}

TEST_F(PlanValidatorTest, AnAttemptIsNotUsedTwice) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Job("j", 1, Cpu(1))});
  Commit({Put("j", 0, "n")});
  Tell(TaskFailed{Key("j", 0)});
  EXPECT_TRUE(Breaks({Put("j", 0, "n")}, {"attempt 1 is over; the next one is 2"}));
  EXPECT_TRUE(Accepts({Again("j", 0, "n", 2)}));
}

TEST_F(PlanValidatorTest, TheRankCountsTasksOfEarlierGroups) {
  Tell(AddNode{Machine("n")});
  JobSpec job = Job("j", 2, Cpu(1));
  job.groups.push_back(Group("side", 1, Cpu(1)));
  Tell(SubmitJob{job});
  const auto side = [](std::int64_t rank) {
    return Put("j", 0, "n", {}, {.group = "side", .rank = rank});
  };
  EXPECT_TRUE(Breaks({Put("j", 0, "n"), Put("j", 1, "n"), side(0)}, {"rank 0, it is 2"}));
  EXPECT_TRUE(Accepts({Put("j", 0, "n"), Put("j", 1, "n"), side(2)}));
}

TEST_F(PlanValidatorTest, OneAlternativeForAll) {
  Tell(AddNode{Machine("n")});
  JobSpec job = Job("j", 2, Cpu(1));
  job.alternatives = {{Group("main", 3, Cpu(1), 1)}};
  Tell(SubmitJob{job});
  const auto second = [](std::int64_t index, std::int64_t alternative, std::int64_t attempt = 1) {
    return Put("j", index, "n", {}, {.attempt = attempt, .alternative = alternative});
  };
  EXPECT_TRUE(Breaks({second(0, 2)}, {"alternative 2, the job has 2"}));
  EXPECT_TRUE(Breaks({second(0, -1)}, {"alternative -1, the job has 2"}));
  EXPECT_TRUE(Breaks({second(0, 1), second(1, 0)}, {"alternative 0, but the job is on 1"}));
  Commit({second(0, 1), Waits("j")});
  EXPECT_EQ(Count("j")->alternative, 1);
  EXPECT_EQ(Count("j")->pending, 2);
  EXPECT_TRUE(Breaks({second(1, 0), Waits("j")}, {"but the job is on 1 while a task"}));
  EXPECT_TRUE(Accepts({second(1, 1), second(2, 1)}));
  // When the last one is lost, any alternative will do, but no number that the job has used.
  Tell(TaskFailed{Key("j", 0)});
  EXPECT_EQ(Count("j")->alternative, 1) << "until it is placed under another";
  EXPECT_TRUE(Breaks({second(0, 0, 2), second(1, 0, 1)}, {"attempt 1 is over; the next one is 2"}));
  EXPECT_TRUE(Accepts({second(0, 0, 2), second(1, 0, 2)}));
}

TEST_F(PlanValidatorTest, AFinishedTaskPinsTheAlternative) {
  Tell(AddNode{Machine("n")});
  JobSpec job = Job("j", 2, Cpu(1), 1);
  job.alternatives = {{Group("main", 2, Cpu(1))}};
  Tell(SubmitJob{job});
  Commit({Put("j", 0, "n"), Waits("j")});
  Tell(TaskFinished{Key("j", 0)});
  EXPECT_TRUE(Breaks({Put("j", 1, "n", {}, {.alternative = 1, .rank = 1})}, {"the job is on 0"}));
  EXPECT_TRUE(Accepts({Put("j", 1, "n")}));
}

// ---- The node

TEST_F(PlanValidatorTest, TheNodeIsThereAndNotCordoned) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Job("j", 1, Cpu(1))});
  EXPECT_TRUE(Breaks({Put("j", 0, "m")}, {"on 'm'", "there is no such node"}));
  Tell(CordonNode{.node = "n"});
  EXPECT_TRUE(Breaks({Put("j", 0, "n")}, {"the node is cordoned"}));
  Tell(CordonNode{.node = "n", .cordoned = false});
  EXPECT_TRUE(Accepts({Put("j", 0, "n")}));
}

TEST_F(PlanValidatorTest, DevicesAreAsTheShapeAsks) {
  Tell(AddNode{Machine("n", {"T4", "T4"})});
  Tell(SubmitJob{Job("j", 1, Gpus(2))});
  EXPECT_TRUE(Breaks({Put("j", 0, "n", Devices({0}))}, {"1 devices, the task asks 2"}));
  EXPECT_TRUE(Breaks({Put("j", 0, "n")}, {"0 devices, the task asks 2"}));
  EXPECT_TRUE(Breaks({Put("j", 0, "n", Devices({0, 2}))}, {"the node has no device 2"}));
  EXPECT_TRUE(Accepts({Put("j", 0, "n", Devices({0, 1}))}));
}

TEST_F(PlanValidatorTest, ModelsAreAllowed) {
  Tell(AddNode{Machine("n", {"T4", "H100"})});
  ShapeSpec shape = Gpus(1);
  shape.models = {"H100", "A100"};
  Tell(SubmitJob{Job("j", 1, shape)});
  EXPECT_TRUE(Breaks({Put("j", 0, "n", Devices({0}))}, {"devices[0] is of model 'T4'"}));
  EXPECT_TRUE(Accepts({Put("j", 0, "n", Devices({1}))}));
}

TEST_F(PlanValidatorTest, CpuAndMemoryAreFree) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Job("j", 2, Cpu(5000, 400))});
  EXPECT_TRUE(Accepts({Put("j", 0, "n"), Put("j", 1, "n")}));
  UpdateNode foreign;
  foreign.node = "n";
  foreign.foreign = ForeignUsage{.cpu_milli = 1, .mem_mib = 0, .device_milli = {}};
  Tell(foreign);
  EXPECT_TRUE(Breaks({Put("j", 0, "n"), Put("j", 1, "n")},
                     {"steps[1]",
                      "cpu_milli: 4999 free (capacity 10000, used 5000, foreign 1, held for others "
                      "0), the task asks 5000"}));
  foreign.foreign = ForeignUsage{.cpu_milli = 0, .mem_mib = 201, .device_milli = {}};
  Tell(foreign);
  EXPECT_TRUE(Breaks({Put("j", 0, "n"), Put("j", 1, "n")}, {"mem_mib: 399 free"}));
}

TEST_F(PlanValidatorTest, SharesAndDeviceMemoryAreFree) {
  Tell(AddNode{Machine("n", {"T4", "T4"})});
  Tell(SubmitJob{Job("j", 2, Share(500, 8000))});
  Tell(SubmitJob{Job("k", 1, Share(600))});
  Tell(SubmitJob{Job("l", 1, Share(100, 8001))});
  const auto with = [](const Step& first, const Step& second) {
    return Steps{Put("j", 0, "n", Devices({0})), Put("j", 1, "n", Devices({1})), first, second};
  };
  EXPECT_TRUE(Accepts(
      {Put("j", 0, "n", Devices({0})), Put("j", 1, "n", Devices({0})), Waits("k"), Waits("l")}));
  EXPECT_TRUE(Breaks(with(Put("k", 0, "n", Devices({0})), Waits("l")),
                     {"devices[0].gpu_milli: 500 free", "asks 600"}));
  EXPECT_TRUE(Breaks(with(Waits("k"), Put("l", 0, "n", Devices({1}))),
                     {"devices[1].gpu_mem_mib: 8000 free", "asks 8001"}));
}

TEST_F(PlanValidatorTest, UntrackedDeviceMemoryHoldsNobodyBack) {
  NodeSpec node = Machine("n", {"T4"});
  node.devices[0].gpu_mem_mib = std::nullopt;
  Tell(AddNode{node});
  Tell(SubmitJob{Job("j", 1, Share(500, 99'999))});
  Commit({Put("j", 0, "n", Devices({0}))});
  EXPECT_EQ(Used("n").devices[0], (DeviceLoad{.gpu_milli = 500, .gpu_mem_mib = 0, .tenants = 1}));
}

TEST_F(PlanValidatorTest, ForeignShareOfADeviceIsNotFree) {
  Tell(AddNode{Machine("n", {"T4", "T4"})});
  Tell(SubmitJob{Job("j", 1, Gpus(1))});
  UpdateNode foreign;
  foreign.node = "n";
  foreign.foreign = ForeignUsage{.device_milli = {0, 1}};
  Tell(foreign);
  EXPECT_TRUE(Breaks({Put("j", 0, "n", Devices({1}))}, {"devices[1].gpu_milli: 999 free"}));
  EXPECT_TRUE(Accepts({Put("j", 0, "n", Devices({0}))}));
}

TEST_F(PlanValidatorTest, NothingIsAddedWhereANodeIsOver) {
  Tell(AddNode{Machine("n", {"T4", "T4"})});
  Tell(
      SubmitJob{Job("j", 1, {.cpu_milli = 8000, .gpu_count = 2, .gpu_milli = 1000, .models = {}})});
  Commit({Put("j", 0, "n", Devices({0, 1}))});
  UpdateNode smaller;
  smaller.node = "n";
  smaller.cpu_milli = 4000;
  smaller.devices = std::vector<DeviceSpec>{{.model = "T4", .gpu_mem_mib = 16'000}};
  Tell(smaller);
  EXPECT_EQ(Used("n").devices.size(), 2U);
  EXPECT_EQ(Used("n").devices[1].gpu_milli, 1000) << "what runs on a lost device runs on";
  Tell(SubmitJob{Job("c", 1, Cpu(1))});
  EXPECT_TRUE(Breaks({Put("c", 0, "n")}, {"cpu_milli: -4000 free"}));
  EXPECT_TRUE(Accepts({Waits("c")}));
  Tell(CancelJob{"c"});
  Tell(SubmitJob{Job("m", 1, Cpu(0, 10))});
  EXPECT_TRUE(Accepts({Put("m", 0, "n")})) << "asks nothing of what is over";
}

TEST_F(PlanValidatorTest, NothingComesToALostDevice) {
  Tell(AddNode{Machine("n", {"T4", "T4"})});
  UpdateNode smaller;
  smaller.node = "n";
  smaller.devices = std::vector<DeviceSpec>{{.model = "T4", .gpu_mem_mib = 16'000}};
  Tell(smaller);
  Tell(SubmitJob{Job("j", 1, Gpus(1))});
  EXPECT_TRUE(Breaks({Put("j", 0, "n", Devices({1}))}, {"the node has no device 1"}));
  smaller.devices->push_back({.model = "T4", .gpu_mem_mib = 16'000});
  Tell(smaller);
  EXPECT_TRUE(Accepts({Put("j", 0, "n", Devices({1}))}));
}

TEST_F(PlanValidatorTest, EvictedTasksKeepTheirCapacityInThePlan) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Job("a", 1, Cpu(10'000))});
  Commit({Put("a", 0, "n")});
  Tell(CancelJob{"a"});
  Tell(SubmitJob{Job("b", 1, Cpu(1))});
  const Step evict = Drop("a", 0, "n", EvictCause::kCancelled);
  EXPECT_TRUE(Breaks({evict, Put("b", 0, "n")}, {"cpu_milli: 0 free"}));
  Commit({evict, Waits("b")});
  EXPECT_TRUE(Breaks({Put("b", 0, "n")}, {"cpu_milli: 0 free"}));
  Tell(TaskEvicted{Key("a", 0)});
  EXPECT_FALSE(Count("a"));
  EXPECT_TRUE(Accepts({Put("b", 0, "n")}));
}

TEST_F(PlanValidatorTest, AHomogeneousJobStaysOnOneModel) {
  Tell(AddNode{Machine("n", {"T4", "T4", "H100", "H100"})});
  JobSpec job = Service("j", 2, Gpus(1));
  Tell(SubmitJob{job});
  const Steps mixed{Put("j", 0, "n", Devices({0})), Put("j", 1, "n", Devices({2}))};
  EXPECT_TRUE(Accepts(mixed));
  job.name = "h";
  job.homogeneous = true;
  Tell(SubmitJob{job});
  Commit({Put("j", 0, "n", Devices({3})), Waits("j"), Put("h", 0, "n", Devices({0})), Waits("h")});
  EXPECT_TRUE(Breaks({Waits("j"), Put("h", 1, "n", Devices({2}))},
                     {"homogeneous", "on model 'H100'", "main/0 on 'T4'"}));
  EXPECT_TRUE(Accepts({Waits("j"), Put("h", 1, "n", Devices({1}))}));
}

TEST_F(PlanValidatorTest, AHomogeneousTaskIsOnOneModel) {
  Tell(AddNode{Machine("n", {"T4", "T4", "H100"})});
  JobSpec job = Job("j", 1, Gpus(2));
  job.homogeneous = true;
  Tell(SubmitJob{job});
  EXPECT_TRUE(Breaks({Put("j", 0, "n", Devices({0, 2}))}, {"homogeneous"}));
  EXPECT_TRUE(Accepts({Put("j", 0, "n", Devices({0, 1}))}));
}

TEST_F(PlanValidatorTest, AtMostSoManyTasksOfAGroupOnANode) {
  Tell(AddNode{Machine("n")});
  Tell(AddNode{Machine("o")});
  JobSpec job = Job("j", 3, Cpu(1), 1);
  job.groups[0].max_tasks_per_node = 2;
  Tell(SubmitJob{job});
  EXPECT_TRUE(Breaks({Put("j", 0, "n"), Put("j", 1, "n"), Put("j", 2, "n")},
                     {"group 'main' has 2 tasks on the node, max_tasks_per_node is 2"}));
  EXPECT_TRUE(Accepts({Put("j", 0, "n"), Put("j", 1, "n"), Put("j", 2, "o")}));
  Commit({Put("j", 0, "n"), Put("j", 1, "n"), Waits("j", Reason::kTooManyTasksOnNode)});
  EXPECT_TRUE(Breaks({Put("j", 2, "n")}, {"max_tasks_per_node"}));
  EXPECT_TRUE(Accepts({Put("j", 2, "o")}));
}

TEST_F(PlanValidatorTest, AffinityWantsEachLabelOnTheNode) {
  Tell(AddNode{Machine("n")});
  Tell(AddNode{Machine("o")});
  JobSpec cache = Job("cache", 1, Cpu(1));
  cache.labels = {{"app", "cache"}};
  JobSpec web = Job("web", 1, Cpu(1));
  web.affinity = {{"app", "cache"}, {"app", "db"}};
  JobSpec db = Job("db", 1, Cpu(1));
  db.labels = {{"app", "db"}};
  Tell(SubmitJob{cache});
  Tell(SubmitJob{web});
  Tell(SubmitJob{db});
  EXPECT_TRUE(Breaks({Put("web", 0, "n")}, {"affinity to 'app=cache', which no placed task has"}));
  EXPECT_TRUE(Breaks({Put("cache", 0, "n"), Put("db", 0, "o"), Put("web", 0, "n")},
                     {"affinity to 'app=db', which no task on the node has, but job 'db'"}));
  EXPECT_TRUE(Breaks({Put("web", 0, "n"), Put("cache", 0, "n"), Put("db", 0, "n")},
                     {"steps[0]", "affinity to 'app=cache'"}))
      << "the order of steps counts";
  EXPECT_TRUE(Accepts({Put("cache", 0, "n"), Put("db", 0, "n"), Put("web", 0, "n")}));
}

TEST_F(PlanValidatorTest, TheFirstOfItsKindNeedsNoCompany) {
  Tell(AddNode{Machine("n")});
  Tell(AddNode{Machine("o")});
  JobSpec job = Job("j", 2, Cpu(1));
  job.labels = {{"app", "j"}};
  job.affinity = {{"app", "j"}};
  Tell(SubmitJob{job});
  EXPECT_TRUE(Breaks({Put("j", 0, "n"), Put("j", 1, "o")}, {"steps[1]", "affinity to 'app=j'"}));
  EXPECT_TRUE(Accepts({Put("j", 0, "n"), Put("j", 1, "n")}));
}

TEST_F(PlanValidatorTest, AntiAffinityIsMutual) {
  Tell(AddNode{Machine("n")});
  Tell(AddNode{Machine("o")});
  JobSpec loud = Job("loud", 1, Cpu(1));
  loud.labels = {{"noise", "high"}};
  JobSpec shy = Job("shy", 1, Cpu(1));
  shy.anti_affinity = {{"noise", "high"}};
  Tell(SubmitJob{loud});
  Tell(SubmitJob{shy});
  EXPECT_TRUE(Breaks({Put("loud", 0, "n"), Put("shy", 0, "n")},
                     {"anti-affinity to 'noise=high', which job 'loud' has on the node"}));
  EXPECT_TRUE(Breaks({Put("shy", 0, "n"), Put("loud", 0, "n")},
                     {"job 'shy' on the node has anti-affinity to its label 'noise=high'"}));
  EXPECT_TRUE(Accepts({Put("shy", 0, "n"), Put("loud", 0, "o")}));
}

TEST_F(PlanValidatorTest, AntiAffinityToItselfSpreadsAJob) {
  Tell(AddNode{Machine("n")});
  Tell(AddNode{Machine("o")});
  JobSpec job = Job("j", 2, Cpu(1));
  job.labels = {{"app", "j"}};
  job.anti_affinity = {{"app", "j"}};
  Tell(SubmitJob{job});
  EXPECT_TRUE(Breaks({Put("j", 0, "n"), Put("j", 1, "n")}, {"anti-affinity to 'app=j'"}));
  EXPECT_TRUE(Accepts({Put("j", 0, "n"), Put("j", 1, "o")}));
}

// ---- Holds

TEST_F(PlanValidatorTest, AHoldKeepsOthersOut) {
  Tell(AddNode{Machine("n", {"T4", "T4"})});
  Tell(HoldCapacity(Hold("h", "owner", "n", Gpus(1, 9000), Devices({0}))));
  Tell(SubmitJob{Job("other", 1, Gpus(1))});
  Tell(SubmitJob{Job("owner", 1, Gpus(1))});
  EXPECT_TRUE(Breaks({Put("other", 0, "n", Devices({0})), Waits("owner")},
                     {"devices[0].gpu_milli: 0 free", "held for others 1000"}));
  EXPECT_TRUE(Accepts({Put("owner", 0, "n", Devices({0})), Waits("other")}));
  EXPECT_TRUE(Accepts({Put("owner", 0, "n", Devices({1})), Put("other", 0, "n", Devices({0}))}))
      << "used or not, it ends when its owner is placed";
  EXPECT_EQ(validator_.Held()[0].devices[0],
            (DeviceLoad{.gpu_milli = 1000, .gpu_mem_mib = 9000, .tenants = 1}));
  EXPECT_EQ(validator_.Held()[0].devices[1], DeviceLoad());
  Commit({Put("owner", 0, "n", Devices({1})), Waits("other")});
  EXPECT_TRUE(validator_.Holds().empty());
  EXPECT_TRUE(Accepts({Put("other", 0, "n", Devices({0}))}));
}

TEST_F(PlanValidatorTest, HoldsOfCpuAndMemory) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Job("j", 1, Cpu(5000, 500))});
  Tell(HoldCapacity(Hold("c", "x", "n", Cpu(5001))));
  EXPECT_TRUE(Breaks({Put("j", 0, "n")}, {"cpu_milli: 4999 free", "held for others 5001"}));
  Tell(DropHold{"c"});
  Tell(HoldCapacity(Hold("m", "x", "n", Cpu(0, 501))));
  EXPECT_TRUE(Breaks({Put("j", 0, "n")}, {"mem_mib: 499 free", "held for others 501"}));
  EXPECT_EQ(validator_.Holds(), std::vector<std::string>{"m"});
  Tell(DropHold{"m"});
  EXPECT_TRUE(Accepts({Put("j", 0, "n")}));
}

TEST_F(PlanValidatorTest, HoldsExpireWithTickAndPlan) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Job("j", 1, Cpu(10'000))});
  Tell(HoldCapacity(Hold("h", "x", "n", Cpu(1), {}, kStart + 10)));
  now_ = kStart + 9;
  EXPECT_TRUE(Breaks({Put("j", 0, "n")}, {"held for others 1"}));
  now_ = kStart + 10;
  EXPECT_TRUE(Accepts({Put("j", 0, "n")})) << "checked as of the time of the plan";
  EXPECT_EQ(validator_.Holds().size(), 1U) << "a check changes nothing";
  Tell(Tick{kStart + 10});
  EXPECT_TRUE(validator_.Holds().empty());
  EXPECT_EQ(validator_.now(), kStart + 10);
}

// ---- Waits and rejects

TEST_F(PlanValidatorTest, EachJobThatWantsMoreIsAnsweredOnce) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Service("j", 3, Cpu(1))});
  EXPECT_TRUE(Breaks({}, {"job 'j' wants 3 more tasks placed and has neither Wait nor Reject"}));
  EXPECT_TRUE(Breaks({Put("j", 0, "n")}, {"wants 2 more"}));
  EXPECT_TRUE(Breaks({Waits("j"), Rejects("j")}, {"steps[1]", "has a Wait or Reject already"}));
  EXPECT_TRUE(Breaks({Put("j", 0, "n"), Put("j", 1, "n"), Put("j", 2, "n"), Waits("j")},
                     {"has all that it wants, but a Wait or Reject"}));
  EXPECT_TRUE(Breaks({Waits("k")}, {"Wait of job 'k': there is no such job"}));
  EXPECT_TRUE(Breaks({Waits("j", Reason::kNone)}, {"it gives no reason"}));
  EXPECT_TRUE(Accepts({Waits("j")}));
  EXPECT_TRUE(Accepts({Rejects("j")}));
  EXPECT_TRUE(Accepts({Put("j", 0, "n"), Waits("j")}));
  EXPECT_TRUE(Accepts({Put("j", 0, "n"), Put("j", 1, "n"), Put("j", 2, "n")}));
}

TEST_F(PlanValidatorTest, AJobThatEndsIsToldNothing) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Service("j", 2, Cpu(1))});
  Commit({Put("j", 0, "n"), Waits("j")});
  Tell(CancelJob{"j"});
  const Step evict = Drop("j", 0, "n", EvictCause::kCancelled);
  EXPECT_TRUE(Breaks({evict, Waits("j")}, {"the job is cancelled or has failed"}));
  EXPECT_TRUE(Breaks({evict, Put("j", 1, "n")}, {"the job is cancelled"}));
  EXPECT_TRUE(Accepts({evict}));
}

TEST_F(PlanValidatorTest, StepsOfAJobAreNextToEachOther) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Service("a", 2, Cpu(1))});
  Tell(SubmitJob{Service("b", 2, Cpu(1))});
  EXPECT_TRUE(Breaks({Put("a", 0, "n"), Waits("b"), Waits("a")},
                     {"the steps of job 'a' are not next to each other"}));
  EXPECT_TRUE(Accepts({Put("a", 0, "n"), Waits("a"), Waits("b")}));
}

// ---- Gangs

TEST_F(PlanValidatorTest, TheMinimumIsPlacedAtOnce) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Job("j", 3, Cpu(1), 2)});
  EXPECT_TRUE(Breaks({Put("j", 0, "n"), Waits("j")},
                     {"job 'j' has 1 of the minimum of 2 tasks of group 'main', but tasks of it"}));
  EXPECT_TRUE(Accepts({Put("j", 0, "n"), Put("j", 2, "n"), Waits("j")}));
}

TEST_F(PlanValidatorTest, FinishedTasksAreCountedForTheMinimum) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Job("j", 2, Cpu(1))});
  Commit({Put("j", 0, "n"), Put("j", 1, "n")});
  Tell(TaskFinished{Key("j", 0)});
  Tell(TaskFailed{Key("j", 1)});
  EXPECT_EQ(Count("j")->repair_deadline, std::nullopt) << "it holds nothing";
  EXPECT_TRUE(Accepts({Waits("j")}));
  Commit({Again("j", 1, "n", 2)});
  EXPECT_EQ(Count("j")->repair_deadline, std::nullopt) << "it is whole";
  Tell(TaskFinished{Key("j", 1, 2)});
  EXPECT_FALSE(Count("j")) << "all have finished";
}

TEST_F(PlanValidatorTest, AGangInRepairIsRepairedWhole) {
  Tell(AddNode{Machine("n")});
  Tell(AddNode{Machine("o")});
  Tell(SubmitJob{Job("j", 3, Cpu(1))});
  Commit({Put("j", 0, "n"), Put("j", 1, "o"), Put("j", 2, "o")});
  Tell(Tick{kStart + 5});
  Tell(RemoveNode{"o"});
  EXPECT_EQ(Count("j")->repair_deadline, kStart + 5 + 10 * kMinute);
  EXPECT_EQ(Count("j")->pending, 2);
  now_ = kStart + 6;
  EXPECT_TRUE(Breaks({Again("j", 1, "n", 2), Waits("j")}, {"has 2 of the minimum of 3"}));
  EXPECT_TRUE(Accepts({Waits("j")}));
  Commit({Again("j", 1, "n", 2), Again("j", 2, "n", 2)});
  EXPECT_EQ(Count("j")->repair_deadline, std::nullopt);
}

TEST_F(PlanValidatorTest, AGangIsReleasedAtItsDeadline) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Job("j", 3, Cpu(1))});
  Commit({Put("j", 0, "n"), Put("j", 1, "n"), Put("j", 2, "n")});
  for (const std::int64_t index : {0, 1, 2}) Started("j", index);
  Tell(TaskFailed{Key("j", 2)});
  const Step first = Drop("j", 0, "n", EvictCause::kGangNotWhole);
  const Step second = Drop("j", 1, "n", EvictCause::kGangNotWhole);
  const Step told = Waits("j", Reason::kBeingReleased);
  now_ = kStart + 10 * kMinute - 1;
  EXPECT_TRUE(Breaks({first, second, told}, {"steps[0]", "the cause is not true"}));
  EXPECT_TRUE(Accepts({Waits("j")}));
  EXPECT_TRUE(Accepts({Again("j", 2, "n", 2)}));
  now_ = kStart + 10 * kMinute;
  EXPECT_TRUE(Breaks({first, told}, {"'j/main/1' on 'n' is not evicted", "GangNotWhole"}));
  EXPECT_TRUE(Breaks({first, second, Again("j", 2, "n", 2)}, {"the job is being released"}));
  EXPECT_TRUE(Breaks({first, second}, {"wants 3 more", "neither Wait nor Reject"}));
  EXPECT_TRUE(
      Breaks({first, second, Waits("j")}, {"waits with BeingReleased, not with InsufficientCpu"}));
  EXPECT_TRUE(Breaks({first, second, Rejects("j", Reason::kBeingReleased)}, {"BeingReleased"}));
  Commit({first, second, told});
  EXPECT_TRUE(Count("j")->releasing);
  EXPECT_EQ(Count("j")->evicting, 2);
  Tell(TaskEvicted{Key("j", 0)});
  EXPECT_TRUE(Breaks({Again("j", 0, "n", 2)}, {"the job is being released"}));
  EXPECT_TRUE(Accepts({told}));
  Tell(TaskEvicted{Key("j", 1)});
  EXPECT_FALSE(Count("j")->releasing);
  EXPECT_TRUE(Accepts({Again("j", 0, "n", 2), Again("j", 1, "n", 2), Again("j", 2, "n", 2)}));
}

TEST_F(PlanValidatorTest, AReleaseLastsUntilNothingIsHeld) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Job("j", 3, Cpu(1), 2)});
  Commit({Put("j", 0, "n"), Put("j", 1, "n"), Waits("j")});
  for (const std::int64_t index : {0, 1}) Started("j", index);
  Tell(TaskFailed{Key("j", 1)});
  now_ = kStart + 10 * kMinute;
  Commit({Drop("j", 0, "n", EvictCause::kGangNotWhole), Waits("j", Reason::kBeingReleased)});
  Adopted("j", 1, "n", {}, 2);
  Tell(TaskFinished{Key("j", 0)});
  EXPECT_EQ(Count("j")->repair_deadline, std::nullopt) << "it is whole by chance";
  EXPECT_TRUE(Breaks({Put("j", 2, "n")}, {"the job is being released"}));
  EXPECT_TRUE(Accepts({Waits("j", Reason::kBeingReleased)}));
  Tell(TaskFailed{Key("j", 1, 2)});
  EXPECT_TRUE(Accepts({Put("j", 2, "n"), Waits("j")}));
}

TEST_F(PlanValidatorTest, AFurtherLossDoesNotPutTheDeadlineOff) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Job("j", 3, Cpu(1))});
  Commit({Put("j", 0, "n"), Put("j", 1, "n"), Put("j", 2, "n")});
  Tell(TaskFailed{Key("j", 0)});
  const auto deadline = Count("j")->repair_deadline;
  Tell(Tick{kStart + 1});
  Tell(TaskFailed{Key("j", 1)});
  EXPECT_EQ(Count("j")->repair_deadline, deadline);
}

// ---- Jobs that start together

class JobGroupTest : public PlanValidatorTest {
 protected:
  JobGroupTest() {
    Tell(AddNode{Machine("n")});
    Submit("a");
  }

  void Submit(const std::string& name) {
    JobSpec job = Service(name, 2, Cpu(1));
    job.co_schedule = CoSchedule{.group = "pair", .size = 2};
    Tell(SubmitJob{job});
  }
};

TEST_F(JobGroupTest, NoneIsPlacedBeforeAllAreSubmitted) {
  EXPECT_TRUE(Breaks({Put("a", 0, "n"), Waits("a")}, {"only 1 of 2 jobs of job group 'pair'"}));
  EXPECT_TRUE(Accepts({Waits("a", Reason::kJobGroupIncomplete)}));
  Submit("b");
  EXPECT_TRUE(Accepts({Put("a", 0, "n"), Waits("a"), Put("b", 0, "n"), Waits("b")}));
}

TEST_F(JobGroupTest, AllReachTheirMinimumOrNone) {
  Submit("b");
  EXPECT_TRUE(Breaks({Put("a", 0, "n"), Waits("a"), Waits("b")},
                     {"job 'b' has 0 of the minimum of 1 tasks", "jobs of its job group 'pair'"}));
  EXPECT_TRUE(Accepts({Waits("a"), Waits("b")}));
}

TEST_F(JobGroupTest, TheirStepsAreNextToEachOther) {
  Submit("b");
  Tell(SubmitJob{Job("z", 1, Cpu(1))});
  const Step a = Put("a", 0, "n");
  const Step b = Put("b", 0, "n");
  EXPECT_TRUE(
      Breaks({a, Waits("a"), Waits("z"), b, Waits("b")}, {"the steps of job group 'pair'"}));
  EXPECT_TRUE(Accepts({a, b, Waits("a"), Waits("b"), Waits("z")}))
      << "among each other they may mix";
  EXPECT_TRUE(Accepts({Waits("a"), Waits("z"), Waits("b")})) << "waiting, each is on its own";
}

TEST_F(JobGroupTest, OnceStartedEachIsOnItsOwn) {
  Submit("b");
  Commit({Put("a", 0, "n"), Waits("a"), Put("b", 0, "n"), Waits("b")});
  Tell(TaskFailed{Key("a", 0)});
  Tell(TaskFailed{Key("b", 0)});
  EXPECT_TRUE(Accepts({Again("a", 0, "n", 2), Waits("a"), Waits("b")}));
  EXPECT_TRUE(Breaks({Again("a", 0, "n", 2), Again("b", 0, "n", 2), Waits("a"), Waits("b")},
                     {"the steps of job 'a' are not next to each other"}));
  Submit("c");
  EXPECT_TRUE(Accepts({Waits("a"), Waits("b"), Put("c", 0, "n"), Waits("c")}));
}

TEST_F(JobGroupTest, TheNameIsFreeWhenNobodyBearsIt) {
  Adopted("a", 0, "n");
  Tell(CancelJob{"a"});
  Tell(TaskFailed{Key("a", 0)});
  EXPECT_FALSE(Count("a"));
  Submit("a");
  EXPECT_TRUE(Breaks({Put("a", 0, "n"), Waits("a")}, {"only 1 of 2"}));
}

// ---- Evictions

TEST_F(PlanValidatorTest, AnEvictionNamesAPlacedTaskAndItsNode) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Job("j", 2, Cpu(1), 1)});
  Commit({Put("j", 0, "n"), Waits("j")});
  Tell(CancelJob{"j"});
  const auto cause = EvictCause::kCancelled;
  EXPECT_TRUE(Breaks({Drop("k", 0, "n", cause)}, {"Evict of 'k/main/0'", "no such job"}));
  EXPECT_TRUE(Breaks({Drop("j", 1, "n", cause)}, {"the task was never placed"}));
  EXPECT_TRUE(Breaks({Drop("j", 0, "n", cause, 2)}, {"it is attempt 1 that is placed"}));
  EXPECT_TRUE(Breaks({Drop("j", 0, "m", cause)}, {"the task is on node 'n'"}));
  EXPECT_TRUE(Breaks({Drop("j", 0, "n", cause), Drop("j", 0, "n", cause)},
                     {"steps[1]", "is being evicted already"}));
  Commit({Drop("j", 0, "n", cause)});
  EXPECT_TRUE(Breaks({Drop("j", 0, "n", cause)}, {"is being evicted already"}));
  EXPECT_TRUE(Accepts({}));
}

TEST_F(PlanValidatorTest, AnEvictionOfATaskThatIsNotPlaced) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Job("j", 2, Cpu(1))});
  Commit({Put("j", 0, "n"), Put("j", 1, "n")});
  Tell(TaskFinished{Key("j", 1)});
  Tell(CancelJob{"j"});
  EXPECT_TRUE(Breaks({Drop("j", 1, "n", EvictCause::kCancelled)}, {"the task is not placed"}));
  EXPECT_TRUE(Accepts({Drop("j", 0, "n", EvictCause::kCancelled)}));
}

TEST_F(PlanValidatorTest, AnEvictionHasATrueCause) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Service("j", 2, Cpu(1))});
  Commit({Put("j", 0, "n"), Put("j", 1, "n")});
  for (const auto cause : {EvictCause::kCancelled, EvictCause::kJobFailed, EvictCause::kScaledDown,
                           EvictCause::kGangNotWhole}) {
    EXPECT_TRUE(Breaks({Drop("j", 1, "n", cause)},
                       {std::string(EvictCauseName(cause)), "the cause is not true"}));
  }
  Update("j", Resize(1));
  EXPECT_TRUE(Breaks({Drop("j", 0, "n", EvictCause::kScaledDown)}, {"the cause is not true"}));
  EXPECT_TRUE(Accepts({Drop("j", 1, "n", EvictCause::kScaledDown)}));
}

TEST_F(PlanValidatorTest, EvictionsComeFirst) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Job("a", 1, Cpu(1))});
  Commit({Put("a", 0, "n")});
  Tell(CancelJob{"a"});
  Tell(SubmitJob{Service("b", 1, Cpu(1))});
  Tell(SubmitJob{Service("c", 2, Cpu(1))});
  Commit({Drop("a", 0, "n", EvictCause::kCancelled), Put("b", 0, "n"), Put("c", 0, "n"),
          Put("c", 1, "n")});
  Tell(SubmitJob{Job("d", 1, Cpu(1))});
  Update("c", Resize(1));
  const Step evict = Drop("c", 1, "n", EvictCause::kScaledDown);
  EXPECT_TRUE(Breaks({Put("d", 0, "n"), evict}, {"'c/main/1' on 'n' is not evicted"}));
  EXPECT_TRUE(Breaks({evict, Put("d", 0, "n"), Drop("c", 0, "n", EvictCause::kScaledDown)},
                     {"steps[2]", "evictions come before all other steps"}));
  EXPECT_TRUE(Accepts({evict, Put("d", 0, "n")}));
}

TEST_F(PlanValidatorTest, NoDueEvictionIsForgotten) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Job("j", 2, Cpu(1))});
  Commit({Put("j", 0, "n"), Put("j", 1, "n")});
  Tell(CancelJob{"j"});
  Started("j", 0);
  EXPECT_TRUE(Breaks({Drop("j", 0, "n", EvictCause::kCancelled)},
                     {"'j/main/1' on 'n' is not evicted, and must be: Cancelled"}));
  EXPECT_TRUE(Accepts(
      {Drop("j", 1, "n", EvictCause::kCancelled), Drop("j", 0, "n", EvictCause::kCancelled)}));
}

// ---- Lives of tasks and jobs

TEST_F(PlanValidatorTest, AJobFailsWithItsTask) {
  Tell(AddNode{Machine("n")});
  JobSpec job = Job("j", 2, Cpu(1));
  job.max_attempts = 2;
  Tell(SubmitJob{job});
  Commit({Put("j", 0, "n"), Put("j", 1, "n")});
  Tell(TaskFailed{Key("j", 0)});
  Tell(TaskFailed{Key("j", 0)});  // late news is not counted
  EXPECT_FALSE(Count("j")->ending);
  Commit({Again("j", 0, "n", 2)});
  Tell(TaskEvicted{Key("j", 0, 2)});  // nor is what is not a failure
  Commit({Again("j", 0, "n", 3)});
  EXPECT_FALSE(Count("j")->ending);
  Tell(TaskFailed{Key("j", 0, 3)});
  EXPECT_TRUE(Count("j")->ending);
  EXPECT_EQ(Count("j")->pending, 0);
  EXPECT_TRUE(Breaks({}, {"'j/main/1'", "JobFailed"}));
  EXPECT_TRUE(Breaks({Drop("j", 1, "n", EvictCause::kCancelled)}, {"the cause is not true"}));
  EXPECT_TRUE(Breaks({Drop("j", 1, "n", EvictCause::kJobFailed), Again("j", 0, "n", 4)},
                     {"the job has failed"}));
  Commit({Drop("j", 1, "n", EvictCause::kJobFailed)});
  Tell(TaskFinished{Key("j", 1)});
  EXPECT_FALSE(Count("j"));
}

TEST_F(PlanValidatorTest, CancelOfAWaitingJobEndsItAtOnce) {
  Tell(SubmitJob{Job("j", 2, Cpu(1))});
  Tell(CancelJob{"j"});
  EXPECT_TRUE(validator_.Jobs().empty());
  Tell(CancelJob{"j"});
  EXPECT_TRUE(Accepts({}));
}

TEST_F(PlanValidatorTest, ABatchJobWithoutTasksIsFinishedAtOnce) {
  Tell(SubmitJob{Job("j", 0, Cpu(1))});
  EXPECT_FALSE(Count("j"));
  Tell(SubmitJob{Service("s", 0, Cpu(1))});
  EXPECT_TRUE(Count("s"));
  EXPECT_TRUE(Accepts({}));
}

TEST_F(PlanValidatorTest, WhatNobodyAcknowledgesExpires) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Job("j", 2, Cpu(1))});
  Commit({Put("j", 0, "n"), Put("j", 1, "n")});
  Started("j", 0);
  now_ = kStart + 5 * kMinute - 1;
  EXPECT_TRUE(Accepts({}));
  now_ = kStart + 5 * kMinute;
  EXPECT_TRUE(Breaks({}, {"wants 1 more"}));
  EXPECT_TRUE(Accepts({Again("j", 1, "n", 2)}));
  EXPECT_EQ(Count("j")->assumed, 1) << "a check changes nothing";
  Tell(Tick{now_ + 3});
  EXPECT_EQ(Count("j")->assumed, 0);
  EXPECT_EQ(Count("j")->running, 1);
  EXPECT_EQ(Count("j")->repair_deadline, now_ + 3 + 10 * kMinute) << "from when it was noticed";
  Started("j", 1);
  EXPECT_EQ(Count("j")->running, 1) << "the attempt is over";
}

TEST_F(PlanValidatorTest, ACommitMovesTime) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Service("j", 2, Cpu(1))});
  Commit({Put("j", 0, "n"), Waits("j")});
  now_ = kStart + 5 * kMinute;
  Commit({Again("j", 0, "n", 2), Waits("j")});
  EXPECT_EQ(validator_.now(), now_);
  EXPECT_EQ(Count("j")->assumed, 1);
}

TEST_F(PlanValidatorTest, AnAbortTakesBackWhatHasNotStarted) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Job("j", 2, Cpu(100))});
  const Plan plan = Commit({Put("j", 0, "n"), Put("j", 1, "n")});
  Started("j", 0);
  validator_.ObserveAbort(plan);
  EXPECT_EQ(Count("j")->running, 1);
  EXPECT_EQ(Count("j")->pending, 1);
  EXPECT_EQ(Count("j")->repair_deadline, kStart + 10 * kMinute);
  EXPECT_EQ(Used("n").cpu_milli, 100);
  EXPECT_TRUE(Breaks({Put("j", 1, "n")}, {"attempt 1 is over"}));
  EXPECT_TRUE(Accepts({Again("j", 1, "n", 2)}));
}

TEST_F(PlanValidatorTest, LateNewsChangesNothing) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Job("j", 1, Cpu(1))});
  Commit({Put("j", 0, "n")});
  Tell(TaskFailed{Key("j", 0)});
  Commit({Again("j", 0, "n", 2)});
  Tell(TaskFinished{Key("j", 0, 1)});
  Tell(TaskEvicted{Key("j", 0, 1)});
  Tell(TaskFailed{Key("j", 0, 1)});
  Tell(TaskFinished{Key("unknown", 0)});
  Tell(TaskStarted{.task = {"j", "side", 0, 1}, .place = std::nullopt});
  ASSERT_EQ(validator_.Placed().size(), 1U);
  EXPECT_EQ(validator_.Placed()[0].task, Key("j", 0, 2));
  EXPECT_EQ(Count("j")->assumed, 1);
  Tell(TaskFinished{Key("j", 0, 2)});
  EXPECT_FALSE(Count("j"));
}

TEST_F(PlanValidatorTest, AStartAfterTheEvictionHasBegunDoesNotStopIt) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Job("j", 1, Cpu(1))});
  Commit({Put("j", 0, "n")});
  Tell(CancelJob{"j"});
  Commit({Drop("j", 0, "n", EvictCause::kCancelled)});
  Started("j", 0);
  EXPECT_EQ(Count("j")->evicting, 1);
  Tell(Tick{kStart + kMinute * 60});
  EXPECT_EQ(Count("j")->evicting, 1) << "no time-out frees what may still run";
}

TEST_F(PlanValidatorTest, AServiceTaskThatFinishesIsStartedAnew) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Service("j", 1, Cpu(1))});
  Commit({Put("j", 0, "n")});
  Tell(TaskFinished{Key("j", 0)});
  EXPECT_EQ(Count("j")->pending, 1);
  EXPECT_TRUE(Accepts({Again("j", 0, "n", 2)}));
}

TEST_F(PlanValidatorTest, ANodeThatIsLostComesBackEmpty) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Service("j", 1, Cpu(10'000))});
  Tell(HoldCapacity(Hold("h", "x", "n", Cpu(0, 1000))));
  Tell(CordonNode{.node = "n"});
  Tell(CordonNode{.node = "n", .cordoned = false});
  Commit({Put("j", 0, "n")});
  Tell(RemoveNode{"n"});
  Tell(RemoveNode{"n"});
  EXPECT_EQ(Count("j")->pending, 1);
  EXPECT_TRUE(validator_.Used().empty());
  EXPECT_TRUE(validator_.Holds().empty());
  EXPECT_TRUE(Breaks({Again("j", 0, "n", 2)}, {"no such node"}));
  Tell(AddNode{Machine("n")});
  EXPECT_EQ(Used("n").cpu_milli, 0);
  Started("j", 0);
  EXPECT_EQ(Count("j")->running, 0);
  EXPECT_TRUE(Accepts({Again("j", 0, "n", 2)}));
}

TEST_F(PlanValidatorTest, ALostNodeEndsEvictionsToo) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Job("j", 1, Cpu(1))});
  Commit({Put("j", 0, "n")});
  Tell(CancelJob{"j"});
  Commit({Drop("j", 0, "n", EvictCause::kCancelled)});
  Tell(RemoveNode{"n"});
  EXPECT_FALSE(Count("j"));
}

TEST_F(PlanValidatorTest, ScaleDownAndUpAgain) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Service("j", 3, Cpu(1), 2)});
  Commit({Put("j", 0, "n"), Put("j", 1, "n"), Put("j", 2, "n")});
  Update("j", Resize(1));
  EXPECT_EQ(Count("j")->repair_deadline, std::nullopt) << "the minimum shrinks with the count";
  EXPECT_TRUE(Breaks({}, {"'j/main/1'", "ScaledDown"}));
  Commit({Drop("j", 1, "n", EvictCause::kScaledDown), Drop("j", 2, "n", EvictCause::kScaledDown)});
  Tell(TaskEvicted{Key("j", 1)});
  EXPECT_EQ(Count("j")->pending, 0) << "not wanted any more";
  EXPECT_TRUE(Accepts({}));
  Update("j", Resize(3));
  EXPECT_EQ(Count("j")->pending, 1);
  EXPECT_EQ(Count("j")->evicting, 1);
  EXPECT_TRUE(Breaks({Put("j", 1, "n")}, {"attempt 1 is over; the next one is 2"}));
  EXPECT_TRUE(Accepts({Again("j", 1, "n", 2)})) << "what is being evicted cannot be placed yet";
  EXPECT_TRUE(Accepts({Again("j", 1, "n", 2), Waits("j")}));
  Tell(TaskEvicted{Key("j", 2)});
  EXPECT_TRUE(Breaks({Again("j", 1, "n", 2)}, {"wants 1 more"}));
  EXPECT_TRUE(Accepts({Again("j", 1, "n", 2), Again("j", 2, "n", 2)}));
}

TEST_F(PlanValidatorTest, AnUpdateMayMakeAGangMoreThanItHas) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Job("j", 1, Cpu(1))});
  Commit({Put("j", 0, "n")});
  Update("j", Resize(2));
  EXPECT_EQ(Count("j")->repair_deadline, kStart + 10 * kMinute);
  Update("j", Resize(2, 1));
  EXPECT_EQ(Count("j")->repair_deadline, std::nullopt);
  EXPECT_TRUE(Accepts({Waits("j")}));
}

TEST_F(PlanValidatorTest, ABatchJobIsFinishedWhenItsSurplusIsGone) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Job("j", 2, Cpu(1))});
  Commit({Put("j", 0, "n"), Put("j", 1, "n")});
  Tell(TaskFinished{Key("j", 0)});
  Update("j", Resize(1));
  EXPECT_TRUE(Count("j"));
  Commit({Drop("j", 1, "n", EvictCause::kScaledDown)});
  Tell(TaskEvicted{Key("j", 1)});
  EXPECT_FALSE(Count("j"));
}

TEST_F(PlanValidatorTest, UpdatesChangeTheShapeOfAWaitingGroup) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Job("j", 1, Cpu(10'001))});
  EXPECT_TRUE(Breaks({Put("j", 0, "n")}, {"cpu_milli: 10000 free"}));
  GroupUpdate smaller = Resize(1);
  smaller.shape = Cpu(10'000);
  Update("j", smaller);
  EXPECT_TRUE(Accepts({Put("j", 0, "n")}));
}

TEST_F(PlanValidatorTest, UpdatesOfANodeCount) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Job("j", 1, Cpu(10'001, 1001))});
  UpdateNode larger;
  larger.node = "n";
  larger.cpu_milli = 20'000;
  Tell(larger);
  EXPECT_TRUE(Breaks({Put("j", 0, "n")}, {"mem_mib: 1000 free"}));
  larger.mem_mib = 2000;
  Tell(larger);
  EXPECT_TRUE(Accepts({Put("j", 0, "n")}));
}

// ---- Adoption

TEST_F(PlanValidatorTest, AnAdoptedTaskTakesItsRoom) {
  Tell(AddNode{Machine("n", {"T4"})});
  Tell(SubmitJob{Service("j", 2, Share(700))});
  Adopted("j", 0, "n", Devices({0}), 7);
  EXPECT_EQ(Used("n").devices[0].gpu_milli, 700);
  EXPECT_EQ(Count("j")->running, 1);
  EXPECT_TRUE(Breaks({Put("j", 1, "n", Devices({0}))}, {"devices[0].gpu_milli: 300 free"}));
  Adopted("j", 1, "n", Devices({0}));
  EXPECT_EQ(Used("n").devices[0].gpu_milli, 1400) << "a fact is not checked against what is free";
  Tell(TaskFailed{Key("j", 0, 7)});
  Tell(TaskFailed{Key("j", 1)});
  Adopted("j", 0, "n", Devices({0}), 7);
  EXPECT_EQ(Count("j")->running, 0) << "attempt 7 is over";
  EXPECT_TRUE(Breaks({Put("j", 0, "n", Devices({0}), {.attempt = 7, .rank = 0}), Waits("j")},
                     {"attempt 7 is over; the next one is 8"}));
  EXPECT_TRUE(Accepts({Put("j", 0, "n", Devices({0}), {.attempt = 8, .rank = 0}), Waits("j")}));
}

TEST_F(PlanValidatorTest, AnAdoptedTaskMayComeBeforeItsNode) {
  Tell(SubmitJob{Job("j", 2, Cpu(4000), 1)});
  Adopted("j", 0, "n");
  EXPECT_EQ(Count("j")->running, 1);
  EXPECT_TRUE(validator_.Used().empty());
  EXPECT_TRUE(Accepts({Waits("j")}));
  NodeSpec node = Machine("n");
  node.cpu_milli = 7999;
  Tell(AddNode{node});
  EXPECT_EQ(Used("n").cpu_milli, 4000);
  EXPECT_TRUE(Breaks({Put("j", 1, "n")}, {"cpu_milli: 3999 free"}));
  Tell(RemoveNode{"n"});
  EXPECT_EQ(Count("j")->running, 0);
  EXPECT_EQ(Count("j")->pending, 2);
}

TEST_F(PlanValidatorTest, ANodeThatNeverCameMayBeLostToo) {
  Tell(SubmitJob{Job("j", 2, Cpu(4000), 1)});
  Adopted("j", 0, "n");
  Tell(RemoveNode{"n"});
  EXPECT_EQ(Count("j")->running, 0);
  EXPECT_EQ(Count("j")->pending, 2);
}

TEST_F(PlanValidatorTest, ATaskWithoutItsNodeIsEvictedAsAnyOther) {
  Tell(SubmitJob{Job("j", 1, Cpu(1))});
  Adopted("j", 0, "n");
  Tell(CancelJob{"j"});
  EXPECT_TRUE(Breaks({}, {"'j/main/0' on 'n' is not evicted"}));
  Commit({Drop("j", 0, "n", EvictCause::kCancelled)});
  Tell(TaskEvicted{Key("j", 0)});
  EXPECT_FALSE(Count("j"));
}

TEST_F(PlanValidatorTest, AdoptionIsUnderTheAlternativeThatTheJobIsOn) {
  Tell(AddNode{Machine("n")});
  JobSpec job = Service("j", 1, Cpu(1));
  job.alternatives = {{Group("main", 1, Cpu(500))}};
  Tell(SubmitJob{job});
  Commit({Put("j", 0, "n", {}, {.alternative = 1, .rank = 0})});
  EXPECT_EQ(Used("n").cpu_milli, 500);
  Tell(TaskFailed{Key("j", 0)});
  Adopted("j", 0, "n", {}, 2);
  EXPECT_EQ(Count("j")->alternative, 1);
  EXPECT_EQ(Used("n").cpu_milli, 500);
}

TEST_F(PlanValidatorTest, WhatIsNotWantedIsNotAdopted) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Service("j", 1, Cpu(1))});
  Adopted("j", 1, "n");
  Adopted("k", 0, "n");
  EXPECT_TRUE(validator_.Placed().empty());
  Commit({Put("j", 0, "n")});
  Tell(CancelJob{"j"});
  Tell(TaskFailed{Key("j", 0)});
  Adopted("j", 0, "n", {}, 2);
  EXPECT_TRUE(validator_.Placed().empty());
}

TEST_F(PlanValidatorTest, AJobThatEndsAdoptsNothing) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Service("j", 2, Cpu(1))});
  Adopted("j", 0, "n");
  Tell(CancelJob{"j"});
  Adopted("j", 1, "n");
  EXPECT_EQ(validator_.Placed().size(), 1U);
  EXPECT_TRUE(Accepts({Drop("j", 0, "n", EvictCause::kCancelled)}));
}

TEST_F(PlanValidatorTest, AnAdoptedGangInPartIsInRepair) {
  Tell(AddNode{Machine("n")});
  Tell(SubmitJob{Job("j", 2, Cpu(1))});
  Adopted("j", 0, "n");
  EXPECT_EQ(Count("j")->repair_deadline, kStart + 10 * kMinute);
  EXPECT_TRUE(Accepts({Put("j", 1, "n")}));
  Adopted("j", 1, "n");
  EXPECT_EQ(Count("j")->repair_deadline, std::nullopt);
}

// ---- Reading

TEST_F(PlanValidatorTest, ReadsInOrderOfName) {
  Tell(AddNode{Machine("b", {"T4"})});
  Tell(AddNode{Machine("a")});
  Tell(SubmitJob{Service("y", 1, Cpu(3, 4))});
  Tell(SubmitJob{Service("x", 2, Share(250, 100))});
  Commit({Put("y", 0, "a"), Put("x", 0, "b", Devices({0})), Waits("x")});
  Started("x", 0);
  const std::vector<NodeLoad> loads{
      {.node = "a", .cpu_milli = 3, .mem_mib = 4, .devices = {}},
      {.node = "b", .devices = {{.gpu_milli = 250, .gpu_mem_mib = 100, .tenants = 1}}}};
  EXPECT_EQ(validator_.Used(), loads);
  const std::vector<JobCount> jobs{
      {.job = "x", .pending = 1, .running = 1, .repair_deadline = std::nullopt},
      {.job = "y", .assumed = 1, .repair_deadline = std::nullopt}};
  EXPECT_EQ(validator_.Jobs(), jobs);
  const std::vector<PlacedTask> placed{{.task = Key("x", 0), .node = "b", .devices = Devices({0})},
                                       {.task = Key("y", 0), .node = "a", .devices = {}}};
  EXPECT_EQ(validator_.Placed(), placed);
}

TEST_F(PlanValidatorTest, ACommitThatWasNeverCheckedDoesNoHarm) {
  Tell(AddNode{Machine("n")});
  JobSpec job = Service("j", 1, Cpu(1));
  job.alternatives = {{Group("other", 1, Cpu(1))}};
  Tell(SubmitJob{job});
  Commit({Put("j", 0, "n")});
  validator_.ObserveCommit(
      PlanOf({Put("k", 0, "n"), Put("j", 0, "n", {}, {.alternative = 5}),
              Put("j", 0, "n", {}, {.group = "other", .alternative = 1}),
              Drop("k", 0, "n", EvictCause::kCancelled), Put("j", 0, "n", {}, {.group = "no"})}));
  EXPECT_EQ(validator_.Placed().size(), 1U);
  EXPECT_TRUE(Accepts({}));
}

TEST_F(PlanValidatorTest, MovesWithAllThatItHasHeard) {
  Tell(SubmitJob{Job("j", 1, Cpu(1))});
  PlanValidator moved = std::move(validator_);
  EXPECT_EQ(moved.Jobs().size(), 1U);
  validator_ = std::move(moved);
  EXPECT_EQ(validator_.Jobs().size(), 1U);
}

}  // namespace
}  // namespace gpusched
