#include "transaction.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "cluster_steps.h"
#include "status.h"

namespace gpusched::bindings {

PyTransaction::PyTransaction(std::shared_ptr<PyCluster> cluster)
    : cluster_(std::move(cluster)), serial_(NewSerial()) {}

PyTransaction::~PyTransaction() { End(); }

void PyTransaction::End() {
  if (!transaction_) return;
  transaction_.reset();
  cluster_->transaction_open_ = false;
}

void PyTransaction::Enter() {
  if (entered_) {
    Raise(absl::FailedPreconditionError(
        "this transaction was used before; begin a new one with cluster.transaction()"));
  }
  cluster_->RequireWritable();
  transaction_.emplace(cluster_->state_);
  cluster_->transaction_open_ = true;
  entered_ = true;
}

void PyTransaction::Exit(bool commit) {
  if (!transaction_) return;  // rolled back by hand
  cluster_->RequireIdle();
  if (commit) transaction_->Commit();
  End();
}

Transaction& PyTransaction::RequireOpen() {
  if (!transaction_) {
    Raise(absl::FailedPreconditionError(
        entered_ ? "this transaction is over; begin a new one with cluster.transaction()"
                 : "this transaction has not begun; use it as `with cluster.transaction() as tx`"));
  }
  cluster_->RequireIdle();
  return *transaction_;
}

PyMark PyTransaction::Mark() {
  const Transaction::Mark mark = RequireOpen().mark();
  marks_.emplace_back(++next_mark_, mark);
  return {.transaction = serial_, .number = next_mark_};
}

void PyTransaction::RollbackTo(const PyMark& mark) {
  Transaction& transaction = RequireOpen();
  const auto found = std::find_if(marks_.begin(), marks_.end(),
                                  [&](const auto& m) { return m.first == mark.number; });
  if (mark.transaction != serial_ || found == marks_.end()) {
    Raise(absl::FailedPreconditionError(
        "this mark is of another transaction, or was taken back itself; use a mark of this one"));
  }
  transaction.RollbackTo(found->second);
  marks_.erase(found + 1, marks_.end());
}

void PyTransaction::Rollback() {
  RequireOpen().RollbackTo(0);
  End();
}

void BindTransaction(py::module_& module) {
  const py::class_<PyMark> mark(module, "Mark", "A point of a transaction to go back to.");

  py::class_<PyTransaction> transaction(module, "Transaction",
                                        R"(Changes that are kept together or taken back together.

Comes from Cluster.transaction(). A step that is refused raises and changes nothing; catch it and
the transaction goes on. One may be open at a time on a cluster.)");
  transaction
      .def(
          "__enter__",
          [](PyTransaction& self) -> PyTransaction& {
            self.Enter();
            return self;
          },
          py::return_value_policy::reference)
      .def(
          "__exit__",
          [](PyTransaction& self, const py::object& type, const py::object&, const py::object&) {
            self.Exit(type.is_none());
          },
          py::arg("exc_type"), py::arg("exc_value"), py::arg("traceback"))
      .def("mark", &PyTransaction::Mark, "A point to go back to.")
      .def("rollback_to", &PyTransaction::RollbackTo, py::arg("mark"),
           "Takes back what was done after the mark; the transaction goes on. Raises "
           "PreconditionFailed for a mark of another transaction, or one that was taken back.")
      .def("rollback", &PyTransaction::Rollback,
           "Takes everything back. The transaction is over; the with block may go on.");
  DefineSteps(transaction);
}

}  // namespace gpusched::bindings
