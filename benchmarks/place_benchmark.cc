// How long one decision takes: place/<fill|churn>/<policy>/<nodes>/scan.
//
// fill: tasks of the built-in workload arrive until none of the next hundred fits. churn: from
// there on, each placement is followed by the release of the oldest task. Counters:
// decisions_per_s, and digest, which must be equal for every way of computing the same decisions.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "gpusched/base/rng.h"
#include "gpusched/decision/placements_digest.h"
#include "gpusched/gpusched.h"
#include "gpusched/sim/generator.h"

namespace gpusched {
namespace {

struct Arena {
  ClusterState state;
  std::vector<ShapeId> shapes;
  ScoreParameters parameters;
};

// A cluster of the built-in kinds and the shapes of its workload in random order.
void Prepare(std::int64_t nodes, Arena& arena) {
  const auto workload = GenerateWorkload({.pods = 8152, .nodes = nodes, .seed = 1});
  arena.state = ClusterState(workload->catalog);
  Transaction transaction(arena.state);
  for (const NodeSpec& node : workload->nodes) (void)transaction.AddNode(node);
  transaction.Commit();
  std::vector<ShapeSpec> requests;
  for (const Pod& pod : workload->pods) {
    requests.push_back(pod.shape);
    arena.shapes.push_back(*arena.state.Intern(pod.shape));
  }
  Rng(1).Shuffle(std::span<ShapeId>(arena.shapes));
  arena.parameters.target = TargetWorkload::FromRequests(requests);
}

// Places the next task; returns whether it fitted.
class Arrivals {
 public:
  Arrivals(Arena& arena, Scheduler& scheduler) : arena_(arena), scheduler_(scheduler) {}

  bool Next() {
    const std::string name = std::to_string(sequence_);
    const ShapeId shape = arena_.shapes[sequence_ % arena_.shapes.size()];
    const auto decision = scheduler_.Place(name, shape);
    digest_.Add(static_cast<std::int64_t>(sequence_), name,
                arena_.state.node_name(decision->placement.node), decision->placement.devices,
                arena_.state.shapes()[shape].gpu_milli);
    ++sequence_;
    if (!decision->placed()) return false;
    running_.push_back(*arena_.state.FindTask(name));
    return true;
  }

  void ReleaseOldest() {
    if (running_.empty()) return;
    (void)scheduler_.Release(running_.front());
    running_.pop_front();
  }

  std::uint64_t digest() const { return digest_.value(); }

 private:
  Arena& arena_;
  Scheduler& scheduler_;
  std::deque<TaskId> running_;
  std::size_t sequence_ = 0;
  PlacementsDigest digest_;
};

void FillUp(Arrivals& arrivals) {
  for (int refused = 0; refused < 100;) refused = arrivals.Next() ? 0 : refused + 1;
}

void Report(benchmark::State& bench, const Arrivals& arrivals) {
  bench.counters["decisions_per_s"] =
      benchmark::Counter(static_cast<double>(bench.iterations()), benchmark::Counter::kIsRate);
  // Doubles hold 53 bits exactly.
  bench.counters["digest"] = static_cast<double>(arrivals.digest() >> 11);
}

void Fill(benchmark::State& bench, const std::string& policy, std::int64_t nodes) {
  Arena arena;
  Prepare(nodes, arena);
  Scheduler scheduler(arena.state,
                      *ScoreRegistry::BuiltIn().Build(policy, arena.parameters, arena.state));
  Arrivals arrivals(arena, scheduler);
  for (auto _ : bench) arrivals.Next();
  Report(bench, arrivals);
}

void Churn(benchmark::State& bench, const std::string& policy, std::int64_t nodes) {
  Arena arena;
  Prepare(nodes, arena);
  Scheduler scheduler(arena.state,
                      *ScoreRegistry::BuiltIn().Build(policy, arena.parameters, arena.state));
  Arrivals arrivals(arena, scheduler);
  FillUp(arrivals);
  for (auto _ : bench) {
    arrivals.ReleaseOldest();
    arrivals.Next();
  }
  Report(bench, arrivals);
}

void RegisterAll() {
  for (const char* policy : {"fgd", "best_fit"}) {
    const std::string name(policy);
    const std::int64_t nodes = 1213;
    // A fixed count of decisions, so that digests can be compared.
    benchmark::RegisterBenchmark(("place/fill/" + name + "/1213/scan").c_str(), Fill, name, nodes)
        ->Iterations(8000)
        ->Unit(benchmark::kMicrosecond);
    benchmark::RegisterBenchmark(("place/churn/" + name + "/1213/scan").c_str(), Churn, name, nodes)
        ->Iterations(2000)
        ->Unit(benchmark::kMicrosecond);
  }
}

const bool registered = (RegisterAll(), true);

}  // namespace
}  // namespace gpusched
