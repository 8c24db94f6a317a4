// Cluster as Python holds it, and what it refuses so that misuse from Python is an exception and
// never undefined.
#ifndef GPUSCHED_BINDINGS_CLUSTER_H_
#define GPUSCHED_BINDINGS_CLUSTER_H_

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <string>

#include "gpusched/state/cluster_state.h"
#include "gpusched/state/transaction.h"
#include "spec.h"
#include "status.h"

namespace gpusched::bindings {

namespace py = pybind11;

// A number that no other cluster or transaction of this process has.
std::uint64_t NewSerial();

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

void BindCluster(py::module_& module);

}  // namespace gpusched::bindings

#endif  // GPUSCHED_BINDINGS_CLUSTER_H_
