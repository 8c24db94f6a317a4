// PlanValidator: says whether a plan keeps its promises, from a slow and obvious world of its own.
//
// It hears the same events and commits as an engine and shares no code with it, so that a fault of
// one is not a fault of the other. Tests compare the two; a caller may ask it before it carries a
// plan out. What it checks is in docs/cycle.md, "What a plan promises".
#ifndef GPUSCHED_DECISION_PLAN_VALIDATOR_H_
#define GPUSCHED_DECISION_PLAN_VALIDATOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gpusched/base/time.h"
#include "gpusched/decision/plan.h"
#include "gpusched/export.h"
#include "gpusched/spec/event.h"
#include "gpusched/spec/gpu_model.h"

namespace gpusched {

// How long the engine waits; both must be what the engine was given.
struct ValidatorOptions {
  Duration start_timeout = 5 * kMinute;    // from a commit to the news that the task has started
  Duration repair_timeout = 10 * kMinute;  // from the loss of a gang's member to its release
};

// What is taken of one device.
struct DeviceLoad {
  std::int64_t gpu_milli = 0;
  std::int64_t gpu_mem_mib = 0;  // 0 where memory is not tracked
  std::int64_t parts = 0;        // replicas or compute slices
  std::int64_t tenants = 0;      // tasks or holds, or their MIG instances
  // How many have each memory slice; empty if nobody has any.
  std::vector<std::int64_t> slices = {};

  friend bool operator==(const DeviceLoad&, const DeviceLoad&) = default;
};

// What is taken of one node.
struct NodeLoad {
  std::string node;
  std::int64_t cpu_milli = 0;
  std::int64_t mem_mib = 0;
  std::vector<DeviceLoad> devices;  // by index; those that the node has lost included

  friend bool operator==(const NodeLoad&, const NodeLoad&) = default;
};

// Where one live job is, under the alternative that it is on: that of its last placement.
struct JobCount {
  std::string job;
  std::int64_t alternative = 0;
  std::int64_t pending = 0;  // wanted and not placed; 0 for a job that ends
  std::int64_t assumed = 0;  // this one and the next two: whatever the index,
  std::int64_t running = 0;  // also of tasks whose node has not joined yet
  std::int64_t evicting = 0;
  std::int64_t finished = 0;  // with an index below the count
  bool ending = false;        // cancelled or failed
  bool releasing = false;     // its gang is being taken back
  std::optional<Time> repair_deadline;

  friend bool operator==(const JobCount&, const JobCount&) = default;
};

// One task that is placed: "job/group/index", its attempt, and where.
struct PlacedTask {
  TaskKey task;
  std::string node;
  DeviceMask devices;
  std::vector<MigInstance> instances = {};

  friend bool operator==(const PlacedTask&, const PlacedTask&) = default;
};

// Follows one engine. Memory and time per call grow with all tasks that were ever placed.
class GPUSCHED_EXPORT PlanValidator {
 public:
  // The catalogue must be that of the engine; of it only MIG geometries are read.
  explicit PlanValidator(ValidatorOptions options = {}, ModelCatalog catalog = {});
  PlanValidator(PlanValidator&&) noexcept;
  PlanValidator& operator=(PlanValidator&&) noexcept;
  ~PlanValidator();

  // Takes in an event that the engine has accepted, those that changed nothing too.
  void Observe(const Event& event);
  // OK, or kInternal naming the step, the object and the promise that it breaks. Looks at the world
  // as it is when time has moved to plan.now(), and changes nothing.
  absl::Status Check(const Plan& plan) const;
  // Takes in a plan that the engine has committed.
  void ObserveCommit(const Plan& plan);
  // Takes in a plan that the engine has taken back after it was committed.
  void ObserveAbort(const Plan& plan);

  // The latest time heard of, from ticks and commits.
  Time now() const;
  // What our tasks take (assumed, running, evicting), node by node in order of name.
  std::vector<NodeLoad> Used() const;
  // What live holds keep, node by node in order of name.
  std::vector<NodeLoad> Held() const;
  // Every live job, in order of name.
  std::vector<JobCount> Jobs() const;
  // Every task that is assumed, running or evicting, in order of job, group and index.
  std::vector<PlacedTask> Placed() const;
  // The names of live holds, in order.
  std::vector<std::string> Holds() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace gpusched

#endif  // GPUSCHED_DECISION_PLAN_VALIDATOR_H_
