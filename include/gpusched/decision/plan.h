// Plan: the immutable list of decisions of one cycle.
#ifndef GPUSCHED_DECISION_PLAN_H_
#define GPUSCHED_DECISION_PLAN_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gpusched/base/device_mask.h"
#include "gpusched/base/time.h"
#include "gpusched/base/verdict.h"
#include "gpusched/decision/device_grant.h"
#include "gpusched/spec/task_key.h"

namespace gpusched {

// Start this attempt there.
struct Place {
  TaskKey task;
  std::string node;
  DeviceMask devices;
  DeviceGrant grant = {};
  std::int64_t alternative = 0;  // of the job, see JobSpec::Alternative
  // Position among all tasks of the job's alternative: groups in order, then index. Within a group
  // that is placed at once, ranks follow node order, so that neighbours sit together.
  std::int64_t rank = 0;
  std::int32_t score = 0;  // on the policy's own scale

  friend bool operator==(const Place&, const Place&) = default;
};

// Why a task is taken back.
enum class EvictCause : std::uint8_t {
  kCancelled,     // its job is cancelled
  kJobFailed,     // another task of its job failed too often
  kScaledDown,    // its group has fewer tasks now
  kGangNotWhole,  // its gang lost a member and could not be repaired in time
};

inline constexpr std::size_t kEvictCauses = 4;

// Stop this attempt and say TaskEvicted when it is gone; until then it holds what it has.
struct Evict {
  TaskKey task;
  std::string node;
  EvictCause cause = EvictCause::kCancelled;

  friend bool operator==(const Evict&, const Evict&) = default;
};

// The dominant reason of a job that waits, with numbers. The unit of `need` and `have` is that of
// the reason (see Shortfall), tasks for the reasons of gangs, jobs for kJobGroupIncomplete.
struct WaitReason {
  Reason reason = Reason::kNone;
  // The task group that finds no place; "job/group" if it is of another job that starts with this
  // one; empty if the reason is the job's.
  std::string group;
  std::string subject;  // the node that comes nearest, or the job that stands in the way
  std::int64_t need = 0;
  std::int64_t have = 0;

  friend bool operator==(const WaitReason&, const WaitReason&) = default;
};

// Not now: an event may help.
struct Wait {
  std::string job;
  WaitReason why;

  friend bool operator==(const Wait&, const Wait&) = default;
};

// Not here: the cluster could not hold it even when empty. The job stays, and is looked at anew in
// each cycle.
struct Reject {
  std::string job;
  WaitReason why;

  friend bool operator==(const Reject&, const Reject&) = default;
};

using Step = std::variant<Place, Evict, Wait, Reject>;

// Steps in the order of decision: evictions, then job by job. A job with tasks left to place has
// either placements up to its minimum, or one Wait or Reject; a job that has its minimum and could
// not get more has a Wait for the rest.
class Plan {
 public:
  Plan() = default;
  Plan(Time now, std::uint64_t version, std::uint64_t searches, std::vector<Step> steps)
      : now_(now), version_(version), searches_(searches), steps_(std::move(steps)) {}

  // The time for which it was made.
  Time now() const { return now_; }
  // Of the state that it was made from; a commit on any other is refused as stale.
  std::uint64_t version() const { return version_; }
  // How many times the score was asked; a policy that draws at random counts on from here.
  std::uint64_t searches() const { return searches_; }
  const std::vector<Step>& steps() const { return steps_; }

  friend bool operator==(const Plan&, const Plan&) = default;

 private:
  Time now_ = 0;
  std::uint64_t version_ = 0;
  std::uint64_t searches_ = 0;
  std::vector<Step> steps_;
};

// The stable text of a cause: "Cancelled", "JobFailed", "ScaledDown", "GangNotWhole".
constexpr std::string_view EvictCauseName(EvictCause cause) {
  constexpr std::string_view kNames[kEvictCauses] = {"Cancelled", "JobFailed", "ScaledDown",
                                                     "GangNotWhole"};
  return kNames[static_cast<std::size_t>(cause)];
}

}  // namespace gpusched

#endif  // GPUSCHED_DECISION_PLAN_H_
