// Journals as Python sees them: restoring an engine from one, and reading one.
#ifndef GPUSCHED_BINDINGS_JOURNAL_H_
#define GPUSCHED_BINDINGS_JOURNAL_H_

#include <pybind11/pybind11.h>

#include <memory>

#include "engine.h"
#include "gpusched/engine/restore.h"

namespace gpusched::bindings {

struct PyRestored {
  std::shared_ptr<PyEngine> engine;
  RestoreReport report;
};

// Engine.restore.
PyRestored RestoreEngine(py::handle path, py::handle policy, bool verify, bool resume,
                         bool durable);

// Engine.set_journal.
void SetJournal(PyEngine& engine, py::handle path, bool durable);

void BindJournal(py::module_& module);

}  // namespace gpusched::bindings

#endif  // GPUSCHED_BINDINGS_JOURNAL_H_
