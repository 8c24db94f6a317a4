// Engine as Python holds it, and what it refuses so that misuse from Python is an exception and
// never undefined.
#ifndef GPUSCHED_BINDINGS_ENGINE_H_
#define GPUSCHED_BINDINGS_ENGINE_H_

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <string>

#include "gpusched/decision/plan_validator.h"
#include "gpusched/engine/engine.h"
#include "gpusched/journal/file_journal.h"

namespace gpusched::bindings {

namespace py = pybind11;

class PyEngine {
 public:
  // `policy` is the Policy object that the engine was made with.
  PyEngine(Engine engine, py::object policy);

  // Checks every plan from now on. Raises PreconditionFailed unless the engine is empty.
  void Validate();

  // Appends to this journal from now on; null: to none.
  void SetJournal(std::unique_ptr<Journal> journal, RecordWriter writer = {});

  // Raises PreconditionFailed while a policy is being asked: the state is in the middle of a trial.
  const Engine& engine() const;
  const py::object& policy() const { return policy_; }
  bool deciding() const { return deciding_; }

  Effect Apply(const Event& event);
  Plan Decide(Time now);
  Effect Commit(const Plan& plan);
  Effect Abort(const Plan& plan);
  JobAccount Explain(const std::string& job);
  // Without journal and validator.
  std::shared_ptr<PyEngine> Fork() const;

 private:
  class Deciding;

  Engine& Idle();
  // Runs a part of a cycle, in which a policy may be asked, with the GIL open to other threads.
  template <class F>
  auto Cycle(F&& part);

  py::object policy_;
  Engine engine_;
  std::optional<PlanValidator> validator_;
  bool deciding_ = false;
};

// What an engine decides by, made from a Policy object. What comes of it may be copied and let go
// of without the GIL.
EnginePolicies PoliciesOf(const py::object& policy);

Durability DurabilityOf(bool durable);

using PyEngineClass = py::class_<PyEngine, std::shared_ptr<PyEngine>>;

// What an engine is told: add_node, submit, started, …
void DefineEvents(PyEngineClass& type);
// What can be seen of an engine: jobs, nodes, holds, …
void DefineReading(PyEngineClass& type);

void BindEngine(py::module_& module);

}  // namespace gpusched::bindings

#endif  // GPUSCHED_BINDINGS_ENGINE_H_
