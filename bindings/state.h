// Cluster and Transaction as Python holds them, and what they refuse so that misuse from Python is
// an exception and never undefined.
#ifndef GPUSCHED_BINDINGS_STATE_H_
#define GPUSCHED_BINDINGS_STATE_H_

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpusched/state/cluster_state.h"
#include "gpusched/state/transaction.h"
#include "spec.h"
#include "status.h"

namespace gpusched::bindings {

namespace py = pybind11;

// A state that Python, schedulers and transactions own together.
class PyCluster {
 public:
  explicit PyCluster(ModelCatalog catalog);

  const ClusterState& state() const { return state_; }
  std::uint64_t serial() const { return serial_; }

  // For whoever keeps a reference in a policy or scheduler.
  ClusterState& mutable_state() { return state_; }

  // The handle of a shape here. Raises as ClusterState::Intern.
  ShapeId Intern(const PyShape& shape);
  // Raise NotFound.
  NodeId FindNode(const std::string& name) const;
  TaskId FindTask(const std::string& name) const;

  // Raises PreconditionFailed while a policy is being asked: it reads the very rows that a change
  // would move.
  void RequireIdle() const;
  // Also while a transaction is open.
  void RequireWritable() const;

  // One change as a transaction of its own; `change` takes a Transaction and gives a Status.
  template <class F>
  void Step(F&& change) {
    RequireWritable();
    Transaction transaction(state_);
    RaiseIfError(change(transaction));
    transaction.Commit();
  }

  // For the time of a decision.
  class Deciding {
   public:
    explicit Deciding(PyCluster& cluster) : cluster_(cluster) {
      cluster_.RequireIdle();
      cluster_.deciding_ = true;
    }
    ~Deciding() { cluster_.deciding_ = false; }
    Deciding(const Deciding&) = delete;
    Deciding& operator=(const Deciding&) = delete;

   private:
    PyCluster& cluster_;
  };

 private:
  friend class PyTransaction;

  ClusterState state_;
  std::uint64_t serial_;
  bool deciding_ = false;
  bool transaction_open_ = false;
};

// A point of one transaction. It carries its own number, because a position alone could come to
// mean another point after a rollback.
struct PyMark {
  std::uint64_t transaction = 0;
  std::uint64_t number = 0;
};

// `with cluster.transaction() as tx`: open from __enter__ to __exit__.
class PyTransaction {
 public:
  explicit PyTransaction(std::shared_ptr<PyCluster> cluster);
  ~PyTransaction();
  PyTransaction(const PyTransaction&) = delete;
  PyTransaction& operator=(const PyTransaction&) = delete;

  PyCluster& cluster() { return *cluster_; }

  void Enter();
  void Exit(bool commit);
  PyMark Mark();
  void RollbackTo(const PyMark& mark);
  void Rollback();

  template <class F>
  void Step(F&& change) {
    RaiseIfError(change(RequireOpen()));
  }

 private:
  Transaction& RequireOpen();
  void End();

  std::shared_ptr<PyCluster> cluster_;  // outlives the transaction below
  std::optional<Transaction> transaction_;
  std::uint64_t serial_;
  bool entered_ = false;
  std::uint64_t next_mark_ = 0;
  std::vector<std::pair<std::uint64_t, Transaction::Mark>> marks_;  // those still valid
};

void BindState(py::module_& module);

}  // namespace gpusched::bindings

#endif  // GPUSCHED_BINDINGS_STATE_H_
