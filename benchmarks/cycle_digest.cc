// Prints `policy seed digest` for whole runs of the engine: gangs of the built-in workload arrive,
// are planned, start, fail and finish. The digest is over the bytes of every plan, so it must be
// the same from every compiler and at every level of optimisation. Usage: cycle_digest [nodes
// [jobs]].
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "gpusched/base/digest.h"
#include "gpusched/base/rng.h"
#include "gpusched/gpusched.h"
#include "gpusched/journal/codec.h"
#include "gpusched/sim/generator.h"

namespace gpusched {
namespace {

JobSpec RandomJob(const std::string& name, const ShapeSpec& shape, Rng& rng) {
  JobSpec job;
  job.name = name;
  job.kind = rng.Below(4) == 0 ? JobKind::kService : JobKind::kBatch;
  job.priority = static_cast<std::int64_t>(rng.Below(3));
  job.homogeneous = rng.Below(4) == 0;
  TaskGroupSpec group{.name = "main",
                      .shape = shape,
                      .count = static_cast<std::int64_t>(1 + rng.Below(6)),
                      .min_available = {},
                      .max_tasks_per_node = {}};
  if (rng.Below(5) == 0) group.max_tasks_per_node = 1;
  job.groups.push_back(group);
  return job;
}

// News of a random part of what is placed.
void Report(Engine& engine, Rng& rng) {
  for (const JobStatus& job : engine.Jobs()) {
    for (const TaskStatus& task : job.tasks) {
      if (!IsPlaced(task.phase)) continue;
      const std::uint64_t what = rng.Below(12);
      if (task.phase == TaskPhase::kEvicting) {
        (void)engine.Apply(TaskEvicted{task.task});
      } else if (what < 5) {
        (void)engine.Apply(TaskStarted{task.task, {}});
      } else if (what < 7) {
        (void)engine.Apply(TaskFinished{task.task});
      } else if (what == 7) {
        (void)engine.Apply(TaskFailed{task.task});
      }
    }
  }
}

std::uint64_t Run(const PlacerFactory& placer, std::int64_t nodes, std::int64_t jobs,
                  std::uint64_t seed) {
  const auto workload = GenerateWorkload({.pods = jobs, .nodes = nodes, .seed = seed});
  auto engine = Engine::Create({.start_timeout = 40, .repair_timeout = 60},
                               {.placer = placer, .order = {}}, workload->catalog);
  for (const NodeSpec& node : workload->nodes) (void)engine->Apply(AddNode{node});
  Rng rng(seed);
  Digest digest;
  Time now = 0;
  std::size_t next = 0;
  while (next < workload->pods.size()) {
    for (std::uint64_t i = rng.Below(20); i > 0 && next < workload->pods.size(); --i, ++next) {
      (void)engine->Apply(
          SubmitJob{RandomJob("j" + std::to_string(next), workload->pods[next].shape, rng)});
    }
    now += static_cast<Time>(rng.Below(20));
    const auto plan = engine->Decide(now);
    digest.AddField(Encode(*plan));
    (void)engine->Commit(*plan);
    Report(*engine, rng);
  }
  return digest.AddNumber(static_cast<std::int64_t>(StateHash(engine->state()))).value();
}

}  // namespace
}  // namespace gpusched

int main(int argc, char** argv) {
  using namespace gpusched;  // NOLINT(google-build-using-namespace): a program of one file
  const std::int64_t nodes = argc > 1 ? std::atoll(argv[1]) : 60;
  const std::int64_t jobs = argc > 2 ? std::atoll(argv[2]) : 600;
  const std::vector<std::pair<const char*, PlacerFactory>> policies = {
      {"best_fit", PlacerOf(BestFit{})},
      {"random", PlacerOf(Random{.seed = 7})},
      {"gpu_packing", PlacerOf(0.7 * GpuPacking{} + 0.3 * DotProduct{})}};
  for (const auto& [name, placer] : policies) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      std::printf("cycle/%s %" PRIu64 " %016" PRIx64 "\n", name, seed,
                  Run(placer, nodes, jobs, seed));
    }
  }
}
