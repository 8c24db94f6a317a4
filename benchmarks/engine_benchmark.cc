// What a whole cycle costs: engine/<what>/<nodes>. A job is submitted, decided, committed, started
// and finished; `backlog` has a thousand jobs of forty shapes waiting all the time. `journal`
// appends each change to a file in the temporary directory.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "gpusched/gpusched.h"
#include "gpusched/sim/generator.h"

namespace gpusched {
namespace {

Engine MakeEngine(std::int64_t nodes) {
  const auto workload = GenerateWorkload({.pods = 1, .nodes = nodes, .seed = 1});
  auto engine = Engine::Create({}, {.placer = PlacerOf(BestFit{}), .order = {}}, workload->catalog);
  for (const NodeSpec& node : workload->nodes) (void)engine->Apply(AddNode{node});
  return *std::move(engine);
}

JobSpec Gang(const std::string& name, std::int64_t tasks, std::int64_t gpus, std::int64_t cpu) {
  JobSpec job;
  job.name = name;
  job.groups.push_back(
      {.name = "main",
       .shape =
           {.cpu_milli = cpu, .mem_mib = 1024, .gpu_count = gpus, .gpu_milli = 1000, .models = {}},
       .count = tasks,
       .min_available = {},
       .max_tasks_per_node = {}});
  return job;
}

// The life of one job with `tasks` tasks.
void Live(Engine& engine, std::int64_t number, std::int64_t tasks) {
  (void)engine.Apply(SubmitJob{Gang(std::to_string(number), tasks, 1, 2000)});
  const auto plan = engine.Decide(number);
  (void)engine.Commit(*plan);
  for (const Step& step : plan->steps()) {
    if (const auto* place = std::get_if<Place>(&step)) {
      (void)engine.Apply(TaskStarted{place->task, {}});
      (void)engine.Apply(TaskFinished{place->task});
    }
  }
}

void OneTask(benchmark::State& state) {
  Engine engine = MakeEngine(state.range(0));
  std::int64_t number = 0;
  for (auto unused : state) Live(engine, ++number, 1);
  state.SetItemsProcessed(state.iterations());
}

void GangOfSixteen(benchmark::State& state) {
  Engine engine = MakeEngine(state.range(0));
  std::int64_t number = 0;
  for (auto unused : state) Live(engine, ++number, 16);
  state.SetItemsProcessed(16 * state.iterations());
}

void Backlog(benchmark::State& state) {
  Engine engine = MakeEngine(state.range(0));
  for (int i = 0; i < 1000; ++i) {
    // No node has so many cores, so they wait for ever.
    (void)engine.Apply(SubmitJob{Gang("w" + std::to_string(i), 1, 1, 1'000'000 + i % 40)});
  }
  std::int64_t number = 0;
  for (auto unused : state) Live(engine, ++number, 1);
  state.SetItemsProcessed(state.iterations());
}

void Journalled(benchmark::State& state) {
  const std::string path =
      (std::filesystem::temp_directory_path() / "gpusched_engine_benchmark.journal").string();
  std::filesystem::remove(path);
  Engine engine = MakeEngine(state.range(0));
  (void)engine.SetJournal(*FileJournal::Create(path));
  std::int64_t number = 0;
  for (auto unused : state) Live(engine, ++number, 1);
  state.SetItemsProcessed(state.iterations());
  (void)engine.SetJournal(nullptr);
  std::filesystem::remove(path);
}

BENCHMARK(OneTask)->Name("engine/one_task")->Arg(1213);
BENCHMARK(GangOfSixteen)->Name("engine/gang_of_16")->Arg(1213);
BENCHMARK(Backlog)->Name("engine/backlog")->Arg(1213);
BENCHMARK(Journalled)->Name("engine/journal")->Arg(1213);

}  // namespace
}  // namespace gpusched
