#include "engine.h"

#include <cstdint>
#include <utility>

#include "account.h"
#include "arguments.h"
#include "catalog.h"
#include "gpusched/spec/field_error.h"
#include "job.h"
#include "journal.h"
#include "policy.h"
#include "reference.h"
#include "status.h"

namespace gpusched::bindings {

PyEngine::PyEngine(Engine engine, py::object policy)
    : policy_(std::move(policy)), engine_(std::move(engine)) {}

// For the time of a cycle.
class PyEngine::Deciding {
 public:
  explicit Deciding(PyEngine& engine) : engine_(engine) { engine_.deciding_ = true; }
  ~Deciding() { engine_.deciding_ = false; }
  Deciding(const Deciding&) = delete;
  Deciding& operator=(const Deciding&) = delete;

 private:
  PyEngine& engine_;
};

const Engine& PyEngine::engine() const {
  if (deciding_) {
    Raise(absl::FailedPreconditionError(
        "the engine is in the middle of a decision; a policy may not use or change it, and threads "
        "must take turns"));
  }
  return engine_;
}

Engine& PyEngine::Idle() { return const_cast<Engine&>(engine()); }

template <class F>
auto PyEngine::Cycle(F&& part) {
  Engine& idle = Idle();
  const Deciding deciding(*this);
  const py::gil_scoped_release unlocked;
  return part(idle);
}

void PyEngine::Validate() {
  const ClusterState& state = engine().state();
  if (state.node_count() > 0 || state.jobs().size() > 0 || !state.holds().list().empty()) {
    Raise(absl::FailedPreconditionError(
        "validate is True, and this engine is not empty; the validator needs the events from the "
        "start, so ask for it when the engine is made"));
  }
  validator_.emplace(ValidatorOptions{.start_timeout = engine_.settings().start_timeout,
                                      .repair_timeout = engine_.settings().repair_timeout},
                     state.catalog());
  validator_->Observe(Tick{.now = state.now()});
}

void PyEngine::SetJournal(std::unique_ptr<Journal> journal, RecordWriter writer) {
  RaiseIfError(Idle().SetJournal(std::move(journal), writer));
}

Effect PyEngine::Apply(const Event& event) {
  Effect effect = ValueOrRaise(Idle().Apply(event));
  if (validator_) validator_->Observe(event);
  return effect;
}

Plan PyEngine::Decide(Time now) {
  return ValueOrRaise(Cycle([&](Engine& engine) -> absl::StatusOr<Plan> {
    absl::StatusOr<Plan> plan = engine.Decide(now);
    if (!plan.ok() || !validator_) return plan;
    GPUSCHED_RETURN_IF_ERROR(validator_->Check(*plan));
    return plan;
  }));
}

Effect PyEngine::Commit(const Plan& plan) {
  Effect effect = ValueOrRaise(Idle().Commit(plan));
  if (validator_) validator_->ObserveCommit(plan);
  return effect;
}

Effect PyEngine::Abort(const Plan& plan) {
  Effect effect = ValueOrRaise(Idle().Abort(plan));
  if (validator_) validator_->ObserveAbort(plan);
  return effect;
}

JobAccount PyEngine::Explain(const std::string& job) {
  return ValueOrRaise(Cycle([&](Engine& engine) { return engine.Explain(job); }));
}

std::shared_ptr<PyEngine> PyEngine::Fork() const {
  return std::make_shared<PyEngine>(ValueOrRaise(engine().Fork()), policy_);
}

EnginePolicies PoliciesOf(const py::object& policy) {
  return {.placer = [kept = KeepAlive(policy)](
                        ClusterState& state) -> absl::StatusOr<std::unique_ptr<Placer>> {
            const py::gil_scoped_acquire gil;
            return std::unique_ptr<Placer>(
                std::make_unique<BasicPlacer<>>(BuildPolicy(kept.get(), state)));
          },
          .order = {}};
}

Durability DurabilityOf(bool durable) {
  return durable ? Durability::kMachine : Durability::kProcess;
}

namespace {

std::shared_ptr<PyEngine> MakeEngine(py::handle policy, py::handle opaque_models,
                                     py::handle catalog, py::handle start_timeout,
                                     py::handle repair_timeout, bool strict_fifo,
                                     py::handle gang_search_limit, py::handle journal, bool durable,
                                     bool validate) {
  const EngineSettings settings{
      .start_timeout = WholeNumber(start_timeout, "engine", "start_timeout", kTimeRemedy),
      .repair_timeout = WholeNumber(repair_timeout, "engine", "repair_timeout", kTimeRemedy),
      .strict_fifo = strict_fifo,
      .gang_search_limit = WholeNumber(gang_search_limit, "engine", "gang_search_limit",
                                       "use a whole number, 1 or more")};
  const py::object chosen = PolicyOf(policy);
  auto engine = std::make_shared<PyEngine>(
      ValueOrRaise(Engine::Create(settings, PoliciesOf(chosen),
                                  CatalogOf(catalog, opaque_models, "engine"))),
      chosen);
  if (validate) engine->Validate();
  if (!journal.is_none()) {
    const std::string path = Path(journal, "engine", "journal");
    engine->SetJournal(ValueOrRaise(FileJournal::Create(path, DurabilityOf(durable))));
  } else if (durable) {
    Raise(InvalidField("engine", "durable", "True", "it is about a journal; name its file"));
  }
  return engine;
}

std::shared_ptr<PyEngine> LoadEngine(const py::object& data, py::handle policy, bool validate) {
  if (!PyBytes_Check(data.ptr())) {
    Raise(InvalidField("engine", "data", Shown(data), "use the bytes that save() gave"));
  }
  const auto bytes = data.cast<std::string>();
  const py::object chosen = PolicyOf(policy);
  auto engine =
      std::make_shared<PyEngine>(ValueOrRaise(Engine::Load(bytes, PoliciesOf(chosen))), chosen);
  if (validate) engine->Validate();
  return engine;
}

}  // namespace

void BindEngine(py::module_& module) {
  PyEngineClass engine(module, "Engine", R"(One cluster with its jobs: events in, plans out.

Tell it what happens, ask it for a plan, commit the plan, carry it out, and tell it what became of
it. It has no clock, no thread and no network; times are whole microseconds since an epoch of yours.
Every call is exact and whole: one that is refused raises and leaves the state_hash as it was. An
engine is not thread-safe: a call while it decides, be it by a policy or by another thread, raises
PreconditionFailed.

>>> import libgpusched as gs
>>> engine = gs.Engine()
>>> engine.add_node("n1", cpu=64, mem_mib=262144, gpus=4, model="T4")
<Effect: changed>
>>> _ = engine.submit(gs.Job("train", gs.TaskGroup("workers", gs.Shape(cpu=8, gpu=1), 3)))
>>> _ = engine.submit(gs.Job("large", gs.Shape(gpu=2)))
>>> plan = engine.decide(now=0)
>>> print(plan)
place train/workers/0 attempt 1 on n1 device 0
place train/workers/1 attempt 1 on n1 device 1
place train/workers/2 attempt 1 on n1 device 2
wait large: TooFewWholeDevices, group 'main', needs 2, has 1 (n1)
>>> _ = engine.commit(plan)
>>> for step in plan.placements:
...     _ = engine.started(step)
>>> engine.job("train").counts["running"]
3)");
  engine
      .def(py::init(&MakeEngine), py::arg("policy") = "best_fit", py::kw_only(),
           py::arg("opaque_models") = py::tuple(), py::arg("catalog") = py::none(),
           py::arg("start_timeout") = EngineSettings().start_timeout,
           py::arg("repair_timeout") = EngineSettings().repair_timeout,
           py::arg("strict_fifo") = false,
           py::arg("gang_search_limit") = EngineSettings().gang_search_limit,
           py::arg("journal") = py::none(), py::arg("durable") = false, py::arg("validate") = false,
           R"(An empty engine.

policy: ranks the places of a task: a Policy, or the name of one.
opaque_models: names of GPU models beyond the catalogue (see models()).
catalog: a Catalog, with models and MIG geometries of your own; save() and journals have them too.
start_timeout: placed tasks that nobody said to have started are queued again after this.
repair_timeout: a gang that lost a member and is not whole again after this is released.
strict_fifo: a waiting job keeps younger ones off the GPU models that it allows.
gang_search_limit: how many searches one job may take in a cycle for its minimum.
journal: a new file, to which every change is appended before it counts (see restore).
durable: each append waits for the disk.
validate: every plan is checked by a PlanValidator, which shares no code with the engine; one that
    breaks a promise raises InternalError from decide. Memory grows with all tasks ever placed.

Raises InvalidSpec, NotFound (policy), AlreadyExists (a journal in which a record stands), or
Unavailable.)")
      .def(
          "decide",
          [](PyEngine& self, const py::object& now) {
            return self.Decide(WholeNumber(now, "decide", "now", kTimeRemedy));
          },
          py::arg("now"), R"(What should be done at this time? Changes nothing.

The time is not before any that was told. Other threads run meanwhile. Raises InvalidSpec (time),
PolicyError, what a policy in Python raised, or InternalError (see validate).)")
      .def("commit", &PyEngine::Commit, py::arg("plan"),
           R"(Takes the plan as done: placed tasks are assumed to start, evicted ones to stop.

Raises PreconditionFailed if anything has changed since it was made (decide again), and LimitExceeded
or Unavailable if the journal can't be written; then nothing has changed.)")
      .def("abort", &PyEngine::Abort, py::arg("plan"),
           "Takes back those placements of a committed plan that have not started.")
      .def(
          "explain",
          [](PyEngine& self, const py::object& job) {
            JobAccount account = self.Explain(Text(job, "explain", "job"));
            return AccountOf(self.engine().state(), std::move(account));
          },
          py::arg("job"), R"(Why does this job wait? Works the next cycle out, for the present time.

Raises NotFound, and as decide.)")
      .def(
          "save",
          [](const PyEngine& self) { return py::bytes(ValueOrRaise(self.engine().Save())); },
          "The whole state as bytes, without the policy, which is code.")
      .def_static("load", &LoadEngine, py::arg("data"), py::arg("policy") = "best_fit",
                  py::kw_only(), py::arg("validate") = false, R"(The engine that was saved.

validate: only for an engine that is empty, since the validator needs the events from the start.
Raises CorruptData for bytes that are cut or damaged, InvalidSpec for others.

>>> import libgpusched as gs
>>> engine = gs.Engine()
>>> gs.Engine.load(engine.save()).state_hash == engine.state_hash
True)")
      .def("fork", &PyEngine::Fork,
           R"(An engine of its own in the same state, for trying things out.

It has the same policy, but neither journal nor validator.)")
      .def_static("restore", &RestoreEngine, py::arg("path"), py::arg("policy") = "best_fit",
                  py::kw_only(), py::arg("verify") = false, py::arg("resume") = true,
                  py::arg("durable") = false, R"(The engine of a journal, as far as it is whole.

What a crash left of a last record is left out, and Restored.problem says so.

policy: as given to the engine; the settings are in the journal.
verify: decide each plan anew, and stop at one that comes out different. Else plans that were
    committed are taken as they stand.
resume: go on appending to this file; what a crash cut off at its end is removed from it. Else the
    file stays as it is, and the engine has no journal (see set_journal).
durable: each append waits for the disk.

Raises NotFound or Unavailable (file), InvalidSpec (no journal, or of another version), CorruptData
(not even its beginning is whole; if a crash cut it there, nothing was promised yet, and Engine
takes the file as a new journal), or, if it is to be resumed, PreconditionFailed: another engine has
it, or its end is not just cut but damaged, or a whole record does not apply. Nothing is removed
then.)")
      .def("set_journal", &SetJournal, py::arg("path"), py::kw_only(), py::arg("durable") = false,
           R"(Goes on in a new journal, which begins with the present state; None: in none.

So a journal that has grown long is replaced, and an engine that was loaded, forked, or restored
without resume gets one. The former file is closed and stays as it is. If this raises, the engine
goes on with the former one.

path: a file that does not exist, is empty, or whose first record a crash has cut.
durable: each append waits for the disk.

Raises InvalidSpec, AlreadyExists (a file that is not empty), PreconditionFailed (another engine, or
this one, has it), NotFound, LimitExceeded or Unavailable.

>>> import libgpusched as gs, tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     engine = gs.Engine(journal=f"{folder}/1")
...     _ = engine.tick(now=60_000_000)
...     engine.set_journal(f"{folder}/2")
...     _ = engine.tick(now=90_000_000)
...     [record.kind for record in gs.read_journal(f"{folder}/2")]
...     gs.Engine.restore(f"{folder}/2", resume=False).engine.now
['snapshot', 'event']
90000000)");
  DefineEvents(engine);
  DefineReading(engine);
}

}  // namespace gpusched::bindings
