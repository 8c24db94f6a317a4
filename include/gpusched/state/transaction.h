// Transaction: the only way to change a state: all of it, or nothing.
#ifndef GPUSCHED_STATE_TRANSACTION_H_
#define GPUSCHED_STATE_TRANSACTION_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpusched/base/id.h"
#include "gpusched/decision/placement.h"
#include "gpusched/export.h"
#include "gpusched/spec/node_spec.h"
#include "gpusched/state/cluster_state.h"

namespace gpusched {

// Writes straight into the state and keeps an undo log, so that trying and taking back costs only
// what was changed. Unless Commit was called, the destructor undoes everything, also when an
// exception passes. A refused step changes nothing and leaves the transaction usable.
//
// One transaction at a time a state: in a second one, every step answers kFailedPrecondition.
class GPUSCHED_EXPORT Transaction {
 public:
  // A point to go back to.
  using Mark = std::size_t;

  explicit Transaction(ClusterState& state);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  // Adds a node at the end of the node order. Errors: kInvalidArgument (see Validate),
  // kAlreadyExists, kResourceExhausted (65th model, or cluster sums beyond 62 bits).
  absl::StatusOr<NodeId> AddNode(const NodeSpec& spec);

  // Removes a node without tasks. Errors: kNotFound for a stale handle, kFailedPrecondition while
  // tasks run on it.
  absl::Status RemoveNode(NodeId node);

  // Says what others use on a node, replacing what was said before. It may exceed what is there:
  // then nothing is free. Errors: kNotFound, kInvalidArgument.
  absl::Status SetForeign(NodeId node, const ForeignUsage& usage);

  // Gives a task its resources. Errors: kInvalidArgument for an empty name or unknown shape,
  // kAlreadyExists for a running name, kNotFound for a stale node, kFailedPrecondition if it does
  // not fit there exactly.
  absl::StatusOr<TaskId> Place(std::string_view task, ShapeId shape, const Placement& placement);

  // Takes a task's resources back. Errors: kNotFound for a handle that is stale: released before.
  absl::Status Release(TaskId task);

  Mark mark() const { return log_.size(); }
  // Undoes everything after the mark, newest first.
  void RollbackTo(Mark mark);
  // Keeps everything; the transaction is over.
  void Commit();

 private:
  enum class Op : std::uint8_t { kAddNode, kRemoveNode, kSetForeign, kPlace, kRelease };
  struct Entry {
    Op op;
    std::uint32_t slot;
    std::size_t extra = 0;  // kRemoveNode: its place in the node order; kSetForeign: see saved_
  };

  absl::Status CheckOpen() const;
  void Undo(const Entry& entry);
  void AddCapacity(std::uint32_t slot, std::int64_t sign);
  void Close();

  ClusterState& state_;
  std::vector<Entry> log_;
  std::vector<ForeignUsage> saved_;
  bool open_ = false;
};

}  // namespace gpusched

#endif  // GPUSCHED_STATE_TRANSACTION_H_
