// Verdict: the answer of a filter, in 8 bytes and without a heap.
#ifndef GPUSCHED_BASE_VERDICT_H_
#define GPUSCHED_BASE_VERDICT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gpusched {

// Stable codes of why a node, or the whole cluster, does not take a task. The order is that in
// which the built-in filters ask; new codes are appended.
enum class Reason : std::uint16_t {
  kNone,
  kModelNotAllowed,        // no device of a model that the task allows
  kInsufficientCpu,        // free cpu_milli below what is asked
  kInsufficientMemory,     // free mem_mib below what is asked
  kNoDeviceWithRoom,       // no single device has the asked share free
  kTooFewWholeDevices,     // fewer wholly free devices than asked
  kFilteredByUser,         // a filter that is not built in refused
  kNoNodes,                // the cluster is empty
  kInsufficientGpuMemory,  // devices have the asked share free, but not enough of them the memory
  kCordoned,               // nothing new comes to this node
  kTooManyTasksOnNode,     // the group's limit of tasks per node is reached
  kAffinity,               // no task of a job with the wanted label is here
  kAntiAffinity,           // a task of a job with the unwanted label is here
  kGangDoesNotFit,         // some of the tasks fit, but not all that must start together
  kBehindInPool,           // an older job waits for the same GPU models, and order is strict
  kJobGroupIncomplete,     // not all jobs that start together have been submitted
  kBeingReleased,          // its tasks are being evicted; it is placed anew when they are gone
  kNoMigPlacement,         // too few free starts for the asked MIG instances
  kSharingNotOffered,      // no device is ever shared in a way that the task allows
};

inline constexpr std::size_t kReasons = 19;

// The stable text of a code: "InsufficientCpu", …
constexpr std::string_view ReasonName(Reason reason) {
  constexpr std::array<std::string_view, kReasons> kNames = {"None",
                                                             "ModelNotAllowed",
                                                             "InsufficientCpu",
                                                             "InsufficientMemory",
                                                             "NoDeviceWithRoom",
                                                             "TooFewWholeDevices",
                                                             "FilteredByUser",
                                                             "NoNodes",
                                                             "InsufficientGpuMemory",
                                                             "Cordoned",
                                                             "TooManyTasksOnNode",
                                                             "Affinity",
                                                             "AntiAffinity",
                                                             "GangDoesNotFit",
                                                             "BehindInPool",
                                                             "JobGroupIncomplete",
                                                             "BeingReleased",
                                                             "NoMigPlacement",
                                                             "SharingNotOffered"};
  return kNames[static_cast<std::size_t>(reason)];
}

enum class Outcome : std::uint8_t {
  kOk,
  kWait,   // not now: an event (a release, a new node) may help
  kNever,  // not here: this node could not take the task even when empty
};

struct Verdict {
  Outcome outcome = Outcome::kOk;
  Reason reason = Reason::kNone;

  constexpr bool ok() const { return outcome == Outcome::kOk; }
  static constexpr Verdict Ok() { return {}; }
  static constexpr Verdict Wait(Reason reason) { return {Outcome::kWait, reason}; }
  static constexpr Verdict Never(Reason reason) { return {Outcome::kNever, reason}; }
  friend constexpr bool operator==(const Verdict&, const Verdict&) = default;
};

static_assert(sizeof(Verdict) <= 8);

}  // namespace gpusched

#endif  // GPUSCHED_BASE_VERDICT_H_
