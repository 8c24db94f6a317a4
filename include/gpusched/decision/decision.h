// Decision: the answer to "where does this task go, now?".
#ifndef GPUSCHED_DECISION_DECISION_H_
#define GPUSCHED_DECISION_DECISION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gpusched/base/id.h"
#include "gpusched/decision/device_grant.h"
#include "gpusched/decision/placement.h"
#include "gpusched/decision/refusal.h"

namespace gpusched {

enum class DecisionKind : std::uint8_t {
  kPlace,   // `placement` says where
  kWait,    // nothing free that fits; `refusal` says why
  kReject,  // fits nowhere even on empty nodes; `refusal` says why
};

// How an answer was computed; all ways give the same answer.
enum class DecisionPath : std::uint8_t {
  kScan,     // every node was looked at
  kIndex,    // the scores of all nodes were there already
  kColumns,  // every node was compared in narrow columns, and those that fit were scored
};

inline constexpr std::size_t kDecisionPaths = 3;

// The stable text of a path: "scan", "index", "columns".
constexpr std::string_view DecisionPathName(DecisionPath path) {
  constexpr std::array<std::string_view, kDecisionPaths> kNames = {"scan", "index", "columns"};
  return kNames[static_cast<std::size_t>(path)];
}

// Decisions by path.
using PathCounts = std::array<std::uint64_t, kDecisionPaths>;

// How much a refusal says.
enum class RefusalDetail : std::uint8_t {
  kFull,     // everything
  kOutcome,  // wait or never, and nothing else; what it costs does not grow with the cluster
};

// One decision. It changes nothing by itself; committing it does.
struct Decision {
  DecisionKind kind = DecisionKind::kWait;
  DecisionPath path = DecisionPath::kScan;
  ShapeId shape;
  Placement placement;     // if kPlace
  DeviceGrant grant = {};  // how the task would have its devices, if kPlace
  std::int32_t score = 0;  // of the placement, on the policy's own scale
  Refusal refusal;         // if not kPlace

  bool placed() const { return kind == DecisionKind::kPlace; }
};

// What became of one task of a batch.
struct BatchPlacement {
  TaskId task = {};         // if it was placed
  NodeId node = {};         // likewise
  DeviceMask devices = {};  // likewise; of MIG instances, the devices that they are on
  std::int32_t score = 0;   // likewise
  DecisionKind kind = DecisionKind::kWait;
};

}  // namespace gpusched

#endif  // GPUSCHED_DECISION_DECISION_H_
