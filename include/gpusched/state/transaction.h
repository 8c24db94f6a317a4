// Transaction: the only way to change a state: all of it, or nothing.
#ifndef GPUSCHED_STATE_TRANSACTION_H_
#define GPUSCHED_STATE_TRANSACTION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpusched/base/id.h"
#include "gpusched/base/time.h"
#include "gpusched/decision/placement.h"
#include "gpusched/export.h"
#include "gpusched/spec/node_spec.h"
#include "gpusched/state/cluster_state.h"
#include "gpusched/state/undo_log.h"

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

  // Removes a node without tasks or holds. Errors: kNotFound for a stale handle,
  // kFailedPrecondition while something is on it.
  absl::Status RemoveNode(NodeId node);

  // Says what others use on a node, replacing what was said before. It may exceed what is there:
  // then nothing is free. Errors: kNotFound, kInvalidArgument.
  absl::Status SetForeign(NodeId node, const ForeignUsage& usage);

  // Says what a node has now; it may be less than what is used on it, then nothing is free. Errors:
  // kNotFound, kInvalidArgument, kResourceExhausted as in AddNode; kFailedPrecondition for another
  // name, or a device that somebody uses and that is not to be what it was (docs/devices.md).
  absl::Status UpdateNode(NodeId node, const NodeSpec& spec);

  // Keeps new tasks off a node, or lets them in again. Errors: kNotFound.
  absl::Status SetCordoned(NodeId node, bool cordoned);

  // See ClusterState::Intern.
  absl::StatusOr<ShapeId> Intern(const ShapeSpec& spec) { return state_.Intern(spec); }

  // Gives a task its resources. Errors: kInvalidArgument for an empty name or unknown shape,
  // kAlreadyExists for a running name, kNotFound for a stale node, kFailedPrecondition if it does
  // not fit there exactly.
  absl::StatusOr<TaskId> Place(std::string_view task, ShapeId shape, const Placement& placement,
                               const TaskOwner& owner = {});

  // The same for a task that nobody will ask for by name: it is known by its handle alone. A batch
  // spares the names of its tasks so. Errors as in Place, but for the name.
  absl::StatusOr<TaskId> PlaceUnnamed(ShapeId shape, const Placement& placement);

  // Takes a task in as it runs there, whatever is free. Errors as in Place, but for the fit.
  absl::StatusOr<TaskId> Adopt(std::string_view task, ShapeId shape, const Placement& placement,
                               const TaskOwner& owner = {});

  // Takes a task's resources back. Errors: kNotFound for a handle that is stale: released before.
  absl::Status Release(TaskId task);

  // Keeps capacity for an owner. Errors: kInvalidArgument for an empty name or unknown shape,
  // kAlreadyExists, kNotFound for a stale node, kFailedPrecondition if as much is not free (and
  // must be).
  absl::Status AddHold(Hold hold, bool must_fit = true);
  // `position` is that in the list of holds. Errors: kNotFound.
  absl::Status DropHold(std::size_t position);

  // Takes a job in on its first alternative, all of its tasks pending. Errors: kAlreadyExists,
  // kResourceExhausted for a 65th model name; the spec has been validated.
  absl::StatusOr<JobId> AddJob(const JobSpec& spec, Time submit_time);
  // Takes a job in as it stood, all of its tasks without a row in the ledger yet. `tasks` is by
  // group of the alternative. Errors: as in AddJob; kInvalidArgument if the parts do not go
  // together.
  absl::StatusOr<JobId> RestoreJob(const JobSpec& spec, Time submit_time, std::uint32_t alternative,
                                   std::int64_t first_attempt, const JobHeader& header,
                                   std::vector<std::vector<TaskState>> tasks);
  // The job holds nothing (any more). Errors of this and the next three: kNotFound.
  absl::Status RemoveJob(JobId job);
  absl::Status SetHeader(JobId job, const JobHeader& header);
  absl::Status SetTask(JobId job, std::uint32_t group, std::uint32_t index, const TaskState& task);
  // Puts a job on another alternative, of which nothing is placed; its attempts go on from those
  // of the former one.
  absl::Status SetAlternative(JobId job, std::uint32_t alternative);
  // Puts another wish, valid and with the same alternatives and groups, in the place of the former.
  // Errors also: kResourceExhausted for a 65th model name.
  absl::Status SetSpec(JobId job, const JobSpec& spec);
  absl::Status SetParked(JobId job, std::vector<ParkedTask> parked);

  // Errors: kInvalidArgument if it is before the state's time.
  absl::Status SetNow(Time now);

  Mark mark() const { return open_ ? log_.entries.size() : 0; }
  // Undoes everything after the mark, newest first.
  void RollbackTo(Mark mark);
  // Keeps everything; the transaction is over.
  void Commit();

 private:
  using Op = UndoLog::Op;
  using Entry = UndoLog::Entry;

  absl::Status CheckOpen() const;
  absl::Status CheckNode(NodeId node) const;
  absl::Status CheckJob(JobId job) const;
  // Whether a device that somebody uses stays what it is.
  absl::Status CheckKept(NodeId node, std::size_t device, const NodeSpec& spec) const;
  // Model indices of a node's devices, if with them the cluster's sums stay in range.
  absl::StatusOr<std::vector<std::uint32_t>> CheckCapacity(const NodeSpec& spec,
                                                           const Resources& others);
  absl::StatusOr<TaskId> Take(std::optional<std::string_view> task, ShapeId shape,
                              const Placement& placement, const TaskOwner& owner, bool must_fit);
  void SaveJob(std::uint32_t slot);
  void UndoJob(const Entry& entry);
  void Undo(const Entry& entry);
  void AddCapacity(std::uint32_t slot, std::int64_t sign);
  void Close();

  ClusterState& state_;
  UndoLog& log_;  // of the state
  bool open_ = false;
};

}  // namespace gpusched

#endif  // GPUSCHED_STATE_TRANSACTION_H_
