// Everything that a caller of libgpusched needs, but for simulation (gpusched/sim/*.h).
//
//   ClusterState state;                              // nodes, devices, running tasks
//   Transaction tx(state); tx.AddNode(…); tx.Commit();
//   Scheduler scheduler(state, BestFit{});           // or 0.8 * fgd + 0.2 * BestFit{}
//   auto decision = scheduler.Place("job-1", *state.Intern({.cpu_milli = 4000, …}));
//   if (!decision->placed()) puts(RefusalText(state, …).c_str());
//
// With jobs, gangs, time and a journal (docs/cycle.md):
//
//   auto engine = *Engine::Create({}, {.placer = PlacerOf(BestFit{})});
//   engine.Apply(AddNode{…}); engine.Apply(SubmitJob{…});
//   auto plan = *engine.Decide(now); engine.Commit(plan); engine.Apply(TaskStarted{…});
#ifndef GPUSCHED_GPUSCHED_H_
#define GPUSCHED_GPUSCHED_H_

#include "gpusched/decision/plan_validator.h"
#include "gpusched/engine/blocked_starts.h"
#include "gpusched/engine/engine.h"
#include "gpusched/engine/restore.h"
#include "gpusched/engine/scheduler.h"
#include "gpusched/journal/file_journal.h"
#include "gpusched/journal/text.h"
#include "gpusched/policy/erased/any_score.h"
#include "gpusched/policy/erased/registry.h"
#include "gpusched/policy/filter/filters.h"
#include "gpusched/policy/priority/job_order.h"
#include "gpusched/policy/score/best_fit.h"
#include "gpusched/policy/score/dot_product.h"
#include "gpusched/policy/score/fgd.h"
#include "gpusched/policy/score/first_fit.h"
#include "gpusched/policy/score/fragmentation_report.h"
#include "gpusched/policy/score/gpu_clustering.h"
#include "gpusched/policy/score/gpu_packing.h"
#include "gpusched/policy/score/mig_start.h"
#include "gpusched/policy/score/random.h"
#include "gpusched/policy/score/weighted.h"
#include "gpusched/policy/score/worst_fit.h"
#include "gpusched/spec/validate.h"
#include "gpusched/spec/validate_job.h"
#include "gpusched/spec/validate_model.h"
#include "gpusched/state/audit.h"
#include "gpusched/state/cluster_state.h"
#include "gpusched/state/state_hash.h"
#include "gpusched/state/transaction.h"

#endif  // GPUSCHED_GPUSCHED_H_
