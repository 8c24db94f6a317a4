// The extension points of placement: what a filter and a score must be.
//
// Policies are plain value types that satisfy a concept: const, deterministic, without clock,
// global or hidden random source; the same arguments give the same answer. Write one as a struct,
// test it alone, compose it by value (policy/score/weighted.h) or erase it
// (policy/erased/any_score.h).
#ifndef GPUSCHED_POLICY_CONCEPTS_H_
#define GPUSCHED_POLICY_CONCEPTS_H_

#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>

#include "gpusched/base/device_mask.h"
#include "gpusched/decision/refusal.h"
#include "gpusched/state/device_choice.h"
#include "gpusched/state/node_view.h"
#include "gpusched/state/shape.h"

namespace gpusched {

class StateView;

// What an answer depends on, beside the shape. Whoever caches answers may keep them exactly as long
// as none of these changes.
enum class Reads : std::uint8_t {
  kNothing = 0,
  kNode = 1,      // free amounts and task counts of the candidate node
  kDevice = 2,    // which of the node's devices is taken
  kCluster = 4,   // other nodes
  kSequence = 8,  // how many decisions came before
};

constexpr Reads operator|(Reads a, Reads b) {
  return static_cast<Reads>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool Includes(Reads set, Reads one) {
  return (static_cast<unsigned>(set) & static_cast<unsigned>(one)) != 0;
}

// A rank; higher is better. Comparable only within one policy.
using Score = std::int32_t;

// The declared bounds of a score, both included, within 16 bits.
struct ScoreRange {
  Score lo = 0;
  Score hi = 0;
  friend constexpr bool operator==(ScoreRange, ScoreRange) = default;
};

// One way to serve a task: a node and the devices it would take there.
struct Candidate {
  std::uint32_t slot = 0;
  DeviceMask devices;
  InstanceOption instance = {};  // if the task would have one MIG instance

  DeviceChoice choice() const {
    DeviceChoice choice(devices);
    choice.instance = instance;
    return choice;
  }
  friend bool operator==(const Candidate&, const Candidate&) = default;
};

// All ways to serve one task: nodes in node order, and within a node, if the score reads kDevice,
// one candidate a device that has room, or a start that an instance could have.
struct Batch {
  const StateView& view;
  const Shape& shape;
  std::uint64_t sequence = 0;  // of the decision
  std::span<const Candidate> candidates;
};

// NodeFilter: may this node take this task? Answers what is lacking, with numbers.
// Models: ModelAllowed, EnoughCpu, EnoughMemory, EnoughDevices, Filters<…>.
template <class F>
concept NodeFilter = requires(const F& filter, const NodeView& node, const Shape& shape) {
  { filter(node, shape) } -> std::same_as<Shortfall>;
};

// What every score says of itself: range() bounds its answers, reads() is what they depend on (or a
// constant kReads), device_order() breaks ties within a node (or a constant kDeviceOrder).
template <class P>
concept DeclaredScore = requires(const P& policy) {
  { policy.range() } -> std::same_as<ScoreRange>;
}
&&(
    requires {
      { P::kReads } -> std::convertible_to<Reads>;
    } ||
    requires(const P& policy) {
      { policy.reads() } -> std::same_as<Reads>;
    });

// NodeScore: ranks one candidate by its node alone; may be cached by node and shape. It is asked
// only about devices that fit the shape, and may take them as a DeviceMask if it does not care for
// MIG instances. Models: FirstFit, BestFit, WorstFit, DotProduct,
// GpuPacking, GpuClustering, Fgd, MigStart, Weighted<…>.
template <class P>
concept NodeScore = DeclaredScore<P> && requires(const P& policy, const NodeView& node,
                                                 const Shape& shape, const DeviceChoice& devices) {
  { policy(node, shape, devices) } -> std::same_as<Score>;
};

// BatchScore: ranks all candidates at once, for answers that depend on more than one node. Writes
// out.size() == batch.candidates.size() scores. Models: Random, AnyScore, Weighted<…> with one.
template <class P>
concept BatchScore = DeclaredScore<P> &&
    requires(const P& policy, const Batch& batch, std::span<Score> out) {
  { policy.ScoreBatch(batch, out) } -> std::same_as<void>;
};

// Either kind. A policy whose parameters can be wrong also has problem(), a static text that is
// empty if nothing is; whoever runs the policy asks first (ProblemOf) and refuses with that text.
template <class P>
concept PlacementScore = NodeScore<P> || BatchScore<P>;

template <DeclaredScore P>
constexpr Reads ReadsOf(const P& policy) {
  if constexpr (requires { P::kReads; }) {
    return P::kReads;
  } else {
    return policy.reads();
  }
}

template <DeclaredScore P>
constexpr DeviceOrder DeviceOrderOf(const P& policy) {
  if constexpr (requires { P::kDeviceOrder; }) {
    return P::kDeviceOrder;
  } else if constexpr (requires { policy.device_order(); }) {
    return policy.device_order();
  } else {
    return DeviceOrder::kFullestFirst;
  }
}

template <PlacementScore P>
constexpr std::string_view ProblemOf(const P& policy) {
  const ScoreRange range = policy.range();
  if (range.lo > range.hi || range.lo < INT16_MIN || range.hi > INT16_MAX) {
    return "range() of the score must be lo <= hi, both within 16 bits";
  }
  if constexpr (requires { policy.problem(); }) {
    return policy.problem();
  } else {
    return {};
  }
}

}  // namespace gpusched

#endif  // GPUSCHED_POLICY_CONCEPTS_H_
