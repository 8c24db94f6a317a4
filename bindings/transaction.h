// Transaction as Python holds it: `with cluster.transaction() as tx`.
#ifndef GPUSCHED_BINDINGS_TRANSACTION_H_
#define GPUSCHED_BINDINGS_TRANSACTION_H_

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cluster.h"
#include "gpusched/state/transaction.h"
#include "status.h"

namespace gpusched::bindings {

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

void BindTransaction(py::module_& module);

}  // namespace gpusched::bindings

#endif  // GPUSCHED_BINDINGS_TRANSACTION_H_
