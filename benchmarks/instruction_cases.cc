// Small fixed cases for counting instructions, which unlike seconds are the same on a busy machine.
// benchmarks/instructions.py runs them under callgrind and compares with the committed figures.
//
//   instruction_cases CASE    (see kCases)
#include <cstdint>
#include <cstdio>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpusched/base/rng.h"
#include "gpusched/engine/scheduler.h"
#include "gpusched/policy/erased/registry.h"
#include "gpusched/policy/score/target_workload.h"
#include "gpusched/sim/generator.h"

namespace gpusched {
namespace {

struct Case {
  std::string_view name;
  std::string_view policy;
  SearchPath path;
  int events;
};

constexpr Case kCases[] = {
    {"churn_fgd_index", "fgd", SearchPath::kIndex, 20'000},
    {"churn_best_fit_index", "best_fit", SearchPath::kIndex, 20'000},
    {"churn_fgd_scan", "fgd", SearchPath::kScan, 2'000},
};

struct World {
  ClusterState state;
  std::vector<ShapeId> shapes;
  std::deque<TaskId> running;
  std::size_t arrived = 0;
};

bool Arrive(Scheduler& scheduler, World& world) {
  const auto placed = scheduler.PlaceUnnamed(world.shapes[world.arrived++ % world.shapes.size()]);
  if (!placed.ok() || placed->kind != DecisionKind::kPlace) return false;
  world.running.push_back(placed->task);
  return true;
}

// What is counted: a function of its own, so that the counting can begin and end with it.
extern "C" __attribute__((noinline)) int CountedEvents(Scheduler& scheduler, World& world,
                                                       int events) {
  int placed = 0;
  for (int i = 0; i < events; ++i) {
    if (!world.running.empty()) {
      (void)scheduler.Release(world.running.front());
      world.running.pop_front();
    }
    placed += Arrive(scheduler, world) ? 1 : 0;
  }
  return placed;
}

int Run(const Case& which) {
  const auto workload = GenerateWorkload({.pods = 2'000, .nodes = 400, .seed = 1});
  if (!workload.ok()) return 1;
  World world;
  world.state = ClusterState(workload->catalog);
  Transaction transaction(world.state);
  for (const NodeSpec& node : workload->nodes) (void)transaction.AddNode(node);
  transaction.Commit();
  std::vector<ShapeSpec> requests;
  for (const Pod& pod : workload->pods) {
    requests.push_back(pod.shape);
    world.shapes.push_back(*world.state.Intern(pod.shape));
  }
  Rng(1).Shuffle(std::span<ShapeId>(world.shapes));
  auto score = ScoreRegistry::BuiltIn().Build(
      which.policy, {.target = TargetWorkload::FromRequests(requests), .seed = 0, .norms = {}},
      world.state);
  if (!score.ok()) return 1;
  Scheduler filler(world.state, *score);
  for (int refused = 0; refused < 100;) refused = Arrive(filler, world) ? 0 : refused + 1;
  Scheduler scheduler(world.state, *std::move(score), Filters<>(), {.path = which.path});
  scheduler.Prepare(world.shapes);
  std::printf("%d placed\n", CountedEvents(scheduler, world, which.events));
  return 0;
}

}  // namespace
}  // namespace gpusched

int main(int argc, char** argv) {
  for (const gpusched::Case& known : gpusched::kCases) {
    if (argc == 2 && known.name == argv[1]) return gpusched::Run(known);
  }
  std::fprintf(stderr, "usage: instruction_cases CASE\n");
  for (const gpusched::Case& known : gpusched::kCases) {
    std::fprintf(stderr, "  %s\n", std::string(known.name).c_str());
  }
  return 2;
}
