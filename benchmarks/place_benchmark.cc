// How long one decision and its commit take: place/<fill|churn>/<policy>/<nodes>/<scan|index>; the
// search for a place alone: answer/<policy>/<nodes>/index; and equal tasks at once:
// gang/<nodes>/<tasks>.
//
// fill: tasks of the built-in workload arrive at an empty cluster, until 100 in a row find no
// place. churn: from there on each arrival is preceded by the release of the oldest task; an event
// is either. The scan evaluates the asked shape alone, with the same scoring code, and keeps
// nothing between decisions; it is timed over fewer of the same arrivals. Counters: decisions_per_s
// (fill, answer), events_per_s (churn), tasks_per_s (gang); p50_ns and p99_ns of an arrival;
// index_bytes a node; and digest, of the same arrivals for scan and index, which must be equal.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "gpusched/base/digest.h"
#include "gpusched/base/rng.h"
#include "gpusched/gpusched.h"
#include "gpusched/sim/generator.h"

namespace gpusched {
namespace {

AnyScore MakePolicy(const std::string& name, const ScoreParameters& parameters,
                    ClusterState& state) {
  const auto built_in = [&](const char* policy) {
    return *ScoreRegistry::BuiltIn().Build(policy, parameters, state);
  };
  if (name != "composed") return built_in(name.c_str());
  return AnyScore(WeightedSum({{.weight_milli = 800, .score = built_in("fgd")},
                               {.weight_milli = 200, .score = built_in("best_fit")}}));
}

// A cluster of the built-in kinds, and tasks of its workload that arrive in random order, over and
// over.
class Arena {
 public:
  Arena(const std::string& policy, std::int64_t nodes, SearchPath path) {
    const auto workload = GenerateWorkload({.pods = 8152, .nodes = nodes, .seed = 1});
    state_ = ClusterState(workload->catalog);
    Transaction transaction(state_);
    for (const NodeSpec& node : workload->nodes) (void)transaction.AddNode(node);
    transaction.Commit();
    std::vector<ShapeSpec> requests;
    for (const Pod& pod : workload->pods) {
      requests.push_back(pod.shape);
      shapes_.push_back(*state_.Intern(pod.shape));
    }
    Rng(1).Shuffle(std::span<ShapeId>(shapes_));
    const ScoreParameters parameters{
        .target = TargetWorkload::FromRequests(requests), .seed = 0, .norms = {}};
    score_ = std::make_unique<AnyScore>(MakePolicy(policy, parameters, state_));
    Use(path);
  }

  // From now on places are looked for in this way.
  void Use(SearchPath path) {
    scheduler_ =
        std::make_unique<Scheduler>(state_, *score_, Filters<>(), SearchOptions{.path = path});
    scheduler_->Prepare(shapes_);
  }

  // Places the next task; returns whether it found a place.
  bool Arrive() {
    const auto placed = scheduler_->PlaceUnnamed(shapes_[arrived_ % shapes_.size()]);
    ++arrived_;
    if (digesting_ > 0) {
      --digesting_;
      digest_.AddNumber(placed->node.slot)
          .AddNumber(static_cast<std::int64_t>(placed->devices.bits()));
    }
    if (placed->kind != DecisionKind::kPlace) return false;
    running_.push_back(placed->task);
    return true;
  }
  void ReleaseOldest() {
    if (running_.empty()) return;
    (void)scheduler_->Release(running_.front());
    running_.pop_front();
  }
  void FillUp() {
    for (int refused = 0; refused < 100;) refused = Arrive() ? 0 : refused + 1;
  }
  void DigestNext(std::size_t arrivals) { digesting_ = arrivals; }

  Scheduler& scheduler() { return *scheduler_; }
  ClusterState& state() { return state_; }
  const AnyScore& score() const { return *score_; }
  const std::vector<ShapeId>& shapes() const { return shapes_; }
  std::uint64_t digest() const { return digest_.value(); }

 private:
  ClusterState state_;
  std::vector<ShapeId> shapes_;
  std::unique_ptr<AnyScore> score_;
  std::unique_ptr<Scheduler> scheduler_;
  std::deque<TaskId> running_;
  std::size_t arrived_ = 0;
  std::size_t digesting_ = 0;
  Digest digest_;
};

std::int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Times one in some arrivals: asking the clock takes about as long as a tenth of an arrival.
class Latency {
 public:
  explicit Latency(std::size_t one_in) : one_in_(one_in) { samples_.reserve(1 << 20); }

  void Arrive(Arena& arena) {
    if (++seen_ % one_in_ != 0) {
      arena.Arrive();
      return;
    }
    const std::int64_t begin = NowNs();
    arena.Arrive();
    samples_.push_back(NowNs() - begin);
  }

  void Report(benchmark::State& bench) {
    if (samples_.empty()) return;
    std::sort(samples_.begin(), samples_.end());
    const auto at = [&](std::size_t percent) {
      return static_cast<double>(samples_[(samples_.size() - 1) * percent / 100]);
    };
    bench.counters["p50_ns"] = at(50);
    bench.counters["p99_ns"] = at(99);
  }

 private:
  std::size_t one_in_;
  std::size_t seen_ = 0;
  std::vector<std::int64_t> samples_;
};

void Report(benchmark::State& bench, Arena& arena, Latency& latency, std::int64_t nodes) {
  latency.Report(bench);
  bench.counters["index_bytes"] =
      static_cast<double>(arena.scheduler().index_bytes()) / static_cast<double>(nodes);
  // Doubles hold 53 bits exactly.
  bench.counters["digest"] = static_cast<double>(arena.digest() >> 11);
}

// How many arrivals are digested, which is all that a scan is timed over.
std::size_t Digested(std::int64_t nodes) {
  if (nodes < 10'000) return 2'000;
  return nodes < 100'000 ? 300 : 40;
}

constexpr std::size_t kOneIn = 8;

void Fill(benchmark::State& bench, const std::string& policy, std::int64_t nodes, SearchPath path) {
  Arena arena(policy, nodes, SearchPath::kAuto);
  const auto half = static_cast<std::size_t>(8 * nodes);
  if (path == SearchPath::kScan) {
    // The index gets it half full, which is where the digest of both begins.
    for (std::size_t i = 0; i < half; ++i) arena.Arrive();
    arena.Use(path);
    arena.DigestNext(Digested(nodes));
  }
  Latency latency(path == SearchPath::kScan ? 1 : kOneIn);
  std::size_t arrivals = 0;
  for (auto _ : bench) {
    if (path != SearchPath::kScan && arrivals++ == half) arena.DigestNext(Digested(nodes));
    latency.Arrive(arena);
  }
  bench.counters["decisions_per_s"] =
      benchmark::Counter(static_cast<double>(bench.iterations()), benchmark::Counter::kIsRate);
  Report(bench, arena, latency, nodes);
}

void Churn(benchmark::State& bench, const std::string& policy, std::int64_t nodes,
           SearchPath path) {
  Arena arena(policy, nodes, SearchPath::kAuto);
  arena.FillUp();
  arena.Use(path);
  arena.DigestNext(Digested(nodes));
  Latency latency(path == SearchPath::kScan ? 1 : kOneIn);
  for (auto _ : bench) {
    arena.ReleaseOldest();
    latency.Arrive(arena);
  }
  bench.counters["events_per_s"] =
      benchmark::Counter(2 * static_cast<double>(bench.iterations()), benchmark::Counter::kIsRate);
  Report(bench, arena, latency, nodes);
}

void Answer(benchmark::State& bench, const std::string& policy, std::int64_t nodes) {
  Arena arena(policy, nodes, SearchPath::kAuto);
  arena.FillUp();
  for (std::int64_t i = 0; i < nodes; ++i) arena.ReleaseOldest();
  BasicPlacer<> placer(arena.score());
  placer.Prepare(arena.state(), arena.shapes());
  std::size_t i = 0;
  for (auto _ : bench) {
    const ShapeId shape = arena.shapes()[i++ % arena.shapes().size()];
    benchmark::DoNotOptimize(
        placer.Find(arena.state(), arena.state().shapes()[shape], i, JobFilter()));
  }
  bench.counters["decisions_per_s"] =
      benchmark::Counter(static_cast<double>(bench.iterations()), benchmark::Counter::kIsRate);
}

// Equal tasks of one device on nodes of eight, placed at once and given back.
void Gang(benchmark::State& bench, std::int64_t nodes, std::int64_t tasks) {
  ClusterState state;
  {
    Transaction transaction(state);
    for (std::int64_t i = 0; i < nodes; ++i) {
      NodeSpec node{
          .name = std::to_string(i), .cpu_milli = 64'000, .mem_mib = 262'144, .devices = {}};
      node.devices.assign(8, DeviceSpec{.model = "T4", .gpu_mem_mib = std::nullopt});
      (void)transaction.AddNode(node);
    }
    transaction.Commit();
  }
  const ShapeId shape = *state.Intern(
      {.cpu_milli = 4'000, .mem_mib = 8'192, .gpu_count = 1, .gpu_milli = 1'000, .models = {}});
  Scheduler scheduler(state, BestFit{});
  const std::vector<ShapeId> shapes(static_cast<std::size_t>(tasks), shape);
  std::vector<BatchPlacement> placed(shapes.size());
  (void)scheduler.PlaceUnnamed(shape);
  for (auto _ : bench) {
    (void)scheduler.PlaceMany(shapes, placed);
    bench.PauseTiming();
    for (const BatchPlacement& one : placed) (void)scheduler.Release(one.task);
    bench.ResumeTiming();
  }
  bench.counters["tasks_per_s"] = benchmark::Counter(
      static_cast<double>(bench.iterations() * tasks), benchmark::Counter::kIsRate);
}

void RegisterAll() {
  constexpr auto kUnit = benchmark::kNanosecond;
  for (const std::string policy : {"fgd", "best_fit", "composed"}) {
    for (const std::int64_t nodes : {1'213, 12'130, 121'300}) {
      const std::string end = policy + "/" + std::to_string(nodes) + "/";
      const auto scans = static_cast<std::int64_t>(Digested(nodes));
      for (const SearchPath path : {SearchPath::kScan, SearchPath::kIndex}) {
        const bool scan = path == SearchPath::kScan;
        const std::string way = end + (scan ? "scan" : "index");
        // Fixed counts, so that digests can be compared. About seventeen tasks a node fit.
        benchmark::RegisterBenchmark(("place/fill/" + way).c_str(), Fill, policy, nodes, path)
            ->Iterations(scan ? scans : 15 * nodes)
            ->Unit(kUnit);
        benchmark::RegisterBenchmark(("place/churn/" + way).c_str(), Churn, policy, nodes, path)
            ->Iterations(scan ? scans : 500'000)
            ->Unit(kUnit);
      }
      benchmark::RegisterBenchmark(("answer/" + end + "index").c_str(), Answer, policy, nodes)
          ->Unit(kUnit);
    }
  }
  for (const std::int64_t nodes : {1'000, 10'000, 100'000}) {
    benchmark::RegisterBenchmark(
        ("gang/" + std::to_string(nodes) + "/" + std::to_string(nodes)).c_str(), Gang, nodes, nodes)
        ->Unit(benchmark::kMicrosecond);
  }
}

const bool registered = (RegisterAll(), true);

}  // namespace
}  // namespace gpusched
