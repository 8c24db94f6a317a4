// The Python module libgpusched._core: conversions only, no logic of its own.
#include <pybind11/pybind11.h>

#include "account.h"
#include "batch.h"
#include "catalog.h"
#include "cluster.h"
#include "engine.h"
#include "fragmentation.h"
#include "job.h"
#include "journal.h"
#include "node_info.h"
#include "node_spec.h"
#include "plan.h"
#include "policy.h"
#include "refusal.h"
#include "scheduler.h"
#include "sharing.h"
#include "sim.h"
#include "spec.h"
#include "task_group.h"
#include "transaction.h"

// In this order, a signature names only types that are bound before it.
PYBIND11_MODULE(_core, module) {
  module.doc() = "The library behind libgpusched. Import libgpusched instead.";
  module.attr("__version__") = GPUSCHED_VERSION;
  gpusched::bindings::BindSharing(module);
  gpusched::bindings::BindSpec(module);
  gpusched::bindings::BindNodeSpec(module);
  gpusched::bindings::BindCatalog(module);
  gpusched::bindings::BindNodeInfo(module);
  gpusched::bindings::BindCluster(module);
  gpusched::bindings::BindTransaction(module);
  gpusched::bindings::BindPolicy(module);
  gpusched::bindings::BindFragmentation(module);
  gpusched::bindings::BindRefusal(module);
  gpusched::bindings::BindBatch(module);
  gpusched::bindings::BindScheduler(module);
  gpusched::bindings::BindTaskGroup(module);
  gpusched::bindings::BindJob(module);
  gpusched::bindings::BindPlan(module);
  gpusched::bindings::BindAccount(module);
  gpusched::bindings::BindJournal(module);
  gpusched::bindings::BindEngine(module);
  gpusched::bindings::BindSim(module);
}
