// StateView: what a policy may look at.
#ifndef GPUSCHED_STATE_STATE_VIEW_H_
#define GPUSCHED_STATE_STATE_VIEW_H_

#include <cstdint>
#include <span>

#include "gpusched/state/cluster_state.h"

namespace gpusched {

// A const window on a state: nodes in their fixed order, capacity, shapes, tasks, jobs and the
// time; no way to write. Cheap to copy, valid until the state changes.
class StateView {
 public:
  StateView(const ClusterState& state) : state_(&state) {}  // NOLINT(google-explicit-constructor)

  const ClusterState& state() const { return *state_; }
  // Live slots in node order.
  std::span<const std::uint32_t> node_order() const { return state_->nodes().order(); }
  NodeView node(std::uint32_t slot) const { return state_->node(slot); }
  const NodeTable& nodes() const { return state_->nodes(); }
  const Resources& capacity() const { return state_->capacity(); }
  const TaskTable& tasks() const { return state_->tasks(); }
  const JobTable& jobs() const { return state_->jobs(); }
  Time now() const { return state_->now(); }
  const Shape& shape(ShapeId id) const { return state_->shapes()[id]; }

 private:
  const ClusterState* state_;
};

}  // namespace gpusched

#endif  // GPUSCHED_STATE_STATE_VIEW_H_
