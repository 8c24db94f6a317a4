// The validator's own idea of the world: names, plain structs, and one function per fact.
//
// Nothing is cached: who needs a sum adds it up. That is slow, and hard to get wrong.
#ifndef GPUSCHED_SRC_DECISION_PLAN_VALIDATOR_WORLD_H_
#define GPUSCHED_SRC_DECISION_PLAN_VALIDATOR_WORLD_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gpusched/decision/plan_validator.h"
#include "plan_validator_devices.h"

namespace gpusched::validator {

struct Device {
  DeviceSpec spec;
  bool present = true;  // false: an update has left it out; its tasks run on
};

struct Node {
  std::int64_t cpu_milli = 0;
  std::int64_t mem_mib = 0;
  std::vector<Device> devices;
  ForeignUsage foreign;
  bool cordoned = false;
};

enum class Phase : std::uint8_t { kPending, kAssumed, kRunning, kEvicting, kFinished };

struct Task {
  Phase phase = Phase::kPending;
  std::int64_t last_attempt = 0;  // that was ever placed; of a placed task, the one that is
  std::int64_t failures = 0;
  std::string node;  // while placed; a name that no node has: it takes its room when that joins
  DeviceMask devices;
  std::vector<MigInstance> instances;
  Time start_deadline = kNoDeadline;  // while assumed

  bool Placed() const { return phase != Phase::kPending && phase != Phase::kFinished; }
  bool Present() const { return phase != Phase::kPending && phase != Phase::kEvicting; }
};

using GroupAndIndex = std::pair<std::string, std::int64_t>;

// The wanted tasks of a group, those with an index below its count.
struct GroupCount {
  std::int64_t pending = 0;
  std::int64_t evicting = 0;
  std::int64_t present = 0;
  std::int64_t finished = 0;
};

struct Job {
  JobSpec spec;
  std::size_t alternative = 0;          // the last one that it ran on
  std::int64_t first_attempt = 1;       // of tasks that this alternative has not placed yet
  std::map<GroupAndIndex, Task> tasks;  // those that were ever placed; others are pending
  bool cancelled = false;
  bool failed = false;
  bool releasing = false;
  std::optional<Time> repair_deadline;

  bool Ending() const { return cancelled || failed; }
  bool HoldsAny() const;
  // Whether a task is placed or has finished: then the alternative stays.
  bool Pinned() const;
  // Whether it must give back what it holds before it is placed anew.
  bool BeingReleased(Time now) const;
  const std::vector<TaskGroupSpec>& Groups() const;
  GroupCount Count(const TaskGroupSpec& group) const;
  // The first group that has less than its minimum present; none: the job is whole.
  const TaskGroupSpec* GroupBelowMinimum() const;
  // Whether each task that it wants has finished.
  bool AllFinished() const;
  // The least number that the task's next attempt may have, if it is of this alternative.
  std::int64_t NextAttempt(const GroupAndIndex& task, std::size_t of_alternative) const;
  // Goes over to an alternative; only while not pinned.
  void SwitchTo(std::size_t to);
};

// The group of that name, or nullptr.
const TaskGroupSpec* FindGroup(const std::vector<TaskGroupSpec>& groups, const std::string& name);

// All that is on one node, device by device.
struct NodeOccupants {
  std::int64_t cpu_milli = 0;
  std::int64_t mem_mib = 0;
  std::vector<std::vector<Occupant>> devices;
};

// Everything that was heard, as it stands now.
class World {
 public:
  World(const ValidatorOptions& given, ModelCatalog models)
      : options(given), catalog(std::move(models)) {}

  void Apply(const Event& event);
  void Commit(const Plan& plan);
  void Abort(const Plan& plan);
  // Lets placements and holds expire that are due at that time.
  void AdvanceTo(Time time);
  // One step of a commit. Whether its job is whole is looked at later, when all steps are done.
  void Assume(const Place& step);
  void BeginEviction(const Evict& step);

  // A device of a node; of one that the node never had, nothing is known.
  DeviceFacts FactsOf(const Node& node, std::size_t device) const;
  // Adds what a task or hold of this shape has there.
  void AddOccupants(const Node& node, const ShapeSpec& shape, DeviceMask devices,
                    const std::vector<MigInstance>& instances, NodeOccupants& occupants) const;
  NodeLoad LoadOf(const std::string& name, const Node& node, const NodeOccupants& occupants) const;

  // The live jobs of a job group, in order of name.
  std::vector<std::string> Members(const std::string& job_group) const;

  ValidatorOptions options;
  ModelCatalog catalog;
  Time now = 0;
  std::map<std::string, Node> nodes;
  std::map<std::string, Job> jobs;
  std::map<std::string, HoldCapacity> holds;
  std::set<std::string> started_job_groups;   // some job of it has held something
  std::set<std::string> starting_job_groups;  // of these, the ones since the time last moved

  // Whether a job of this name starts with the other as if they were one, holds included.
  bool StartTogether(const std::string& name, const Job& other) const;

 private:
  void On(const AddNode& event);
  void On(const UpdateNode& event);
  void On(const RemoveNode& event);
  void On(const CordonNode& event);
  void On(const SubmitJob& event);
  void On(const UpdateJob& event);
  void On(const CancelJob& event);
  void On(const TaskStarted& event);
  void On(const TaskFinished& event);
  void On(const TaskFailed& event);
  void On(const TaskEvicted& event);
  void On(const HoldCapacity& event);
  void On(const DropHold& event);
  void On(const Tick& event);

  Job* FindJob(const std::string& name);
  bool CanAssume(const Place& step);
  // The task if this very attempt is placed, else nullptr: late news.
  Task* FindAttempt(const TaskKey& key);
  void Adopt(Job& job, const TaskKey& key, const TaskPlace& place);
  void MarkStarted(const Job& job);
  // Draws the conclusions of a change: the job is gone, is in repair, or is whole.
  void Settle(const std::string& name);
  void SettleAll();
  void Forget(const std::string& name);
};

// OK, or kInternal with the first promise that the plan breaks in this world.
absl::Status CheckPlan(World world, const Plan& plan);

}  // namespace gpusched::validator

#endif  // GPUSCHED_SRC_DECISION_PLAN_VALIDATOR_WORLD_H_
