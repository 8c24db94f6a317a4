// ClusterState: the one ledger: nodes, devices, shapes, jobs, placed tasks, holds and the time.
#ifndef GPUSCHED_STATE_CLUSTER_STATE_H_
#define GPUSCHED_STATE_CLUSTER_STATE_H_

#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "gpusched/base/id.h"
#include "gpusched/base/resources.h"
#include "gpusched/base/time.h"
#include "gpusched/export.h"
#include "gpusched/spec/gpu_model.h"
#include "gpusched/spec/shape_spec.h"
#include "gpusched/state/hold_table.h"
#include "gpusched/state/job_table.h"
#include "gpusched/state/model_table.h"
#include "gpusched/state/name_table.h"
#include "gpusched/state/node_table.h"
#include "gpusched/state/node_view.h"
#include "gpusched/state/shape_table.h"
#include "gpusched/state/task_table.h"
#include "gpusched/state/undo_log.h"

namespace gpusched {

// Everything that is true now. Read it here or through a StateView; write it through a Transaction,
// which alone may. Thread-compatible: reads may run side by side, writes need the world to
// themselves. Movable while no transaction is open.
class GPUSCHED_EXPORT ClusterState {
 public:
  explicit ClusterState(ModelCatalog catalog = {}) : catalog_(std::move(catalog)) {}
  ClusterState(ClusterState&&) = default;
  ClusterState& operator=(ClusterState&&) = default;

  // A copy of everything, for trying things out; kFailedPrecondition while a transaction is open.
  absl::StatusOr<ClusterState> Fork() const;

  const ModelCatalog& catalog() const { return catalog_; }
  const NodeTable& nodes() const { return nodes_; }
  const ShapeTable& shapes() const { return shapes_; }
  const TaskTable& tasks() const { return tasks_; }
  const ModelTable& models() const { return models_; }
  const JobTable& jobs() const { return jobs_; }
  const HoldTable& holds() const { return holds_; }
  // The latest time that was told.
  Time now() const { return now_; }

  std::size_t node_count() const { return nodes_.order().size(); }
  NodeView node(std::uint32_t slot) const { return {nodes_, slot}; }
  // Sums over live nodes.
  const Resources& capacity() const { return capacity_; }

  std::optional<NodeId> FindNode(std::string_view name) const;
  std::optional<TaskId> FindTask(std::string_view name) const;
  std::optional<JobId> FindJob(std::string_view name) const;
  // Names stay readable for handles of things that have gone, until their slot is reused.
  std::string_view node_name(NodeId id) const { return node_names_.name(id.slot); }
  std::string_view task_name(TaskId id) const { return task_names_.name(id.slot); }

  // What was said of a live node: its capacity, and what others use there by listed device.
  NodeSpec NodeSpecOf(NodeId node) const;
  ForeignUsage ForeignOf(NodeId node) const;

  // The request that an interned shape stands for, models by name and modes by number.
  ShapeSpec SpecOf(const Shape& shape) const;

  // OK if a task of this name may start now; else kInvalidArgument (empty) or kAlreadyExists.
  absl::Status CheckNewTask(std::string_view name) const;

  // Checks a request and gives its handle; equal requests share one. Interning is not a change of
  // what is true (the state hash does not move), so it needs no transaction. Errors:
  // kInvalidArgument as in Validate, kResourceExhausted for a 65th model name.
  absl::StatusOr<ShapeId> Intern(const ShapeSpec& spec);

 private:
  friend class Transaction;
  ClusterState(const ClusterState&) = default;

  ModelCatalog catalog_;
  ModelTable models_;
  NodeTable nodes_;
  NameTable node_names_;
  ShapeTable shapes_;
  TaskTable tasks_;
  NameTable task_names_;
  JobTable jobs_;
  NameTable job_names_;
  HoldTable holds_;
  Time now_ = 0;
  Resources capacity_;
  bool transaction_open_ = false;
  UndoLog undo_log_;  // of the open transaction
};

}  // namespace gpusched

#endif  // GPUSCHED_STATE_CLUSTER_STATE_H_
