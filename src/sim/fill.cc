#include "gpusched/sim/fill.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <span>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gpusched/base/rng.h"
#include "gpusched/decision/placements_digest.h"
#include "gpusched/engine/scheduler.h"
#include "gpusched/policy/score/fragmentation.h"
#include "gpusched/policy/score/target_workload.h"
#include "gpusched/spec/field_error.h"
#include "gpusched/state/cluster_state.h"
#include "gpusched/state/state_hash.h"
#include "gpusched/state/transaction.h"

namespace gpusched {
namespace {

// Independent streams of one seed.
enum class Stream : std::uint64_t { kNodes = 1, kPods = 2, kClones = 3 };

Rng StreamOf(std::uint64_t seed, Stream stream) {
  return Rng(Mix64(seed) + static_cast<std::uint64_t>(stream));
}

// Indices of named things, sorted by name, so that their order in a file does not matter.
template <class Named>
std::vector<std::size_t> SortedByName(const std::vector<Named>& items) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return items[a].name < items[b].name; });
  return order;
}

template <class Named>
std::vector<std::size_t> ShuffledByName(const std::vector<Named>& items, Rng rng) {
  std::vector<std::size_t> order = SortedByName(items);
  rng.Shuffle(std::span<std::size_t>(order));
  return order;
}

struct Arrival {
  std::size_t pod = 0;
  std::int64_t clone = 0;  // 0: the pod itself
};

std::int64_t RequestedMilli(const Pod& pod) { return pod.shape.gpu_count * pod.shape.gpu_milli; }

// Most arrivals of one run: beyond, a mistake is likelier than patience.
constexpr std::int64_t kMaxArrivals = 10'000'000;

// Refuses a pod whose name a clone of another could get.
absl::Status CheckCloneNames(const Workload& workload) {
  absl::flat_hash_set<std::string_view> names;
  for (const Pod& pod : workload.pods) names.insert(pod.name);
  for (const Pod& pod : workload.pods) {
    const std::string_view name = pod.name;
    const std::size_t hash = name.rfind('#');
    if (hash == std::string_view::npos || hash + 1 == name.size()) continue;
    const std::string_view digits = name.substr(hash + 1);
    if (digits.find_first_not_of("0123456789") != std::string_view::npos) continue;
    if (!names.contains(name.substr(0, hash))) continue;
    return InvalidField(workload.pods_source, "pod name", Quoted(name),
                        "a clone of another pod could get this name; rename it");
  }
  return absl::OkStatus();
}

// The pods, then clones of them, until `enough` GPU-milli are requested.
absl::StatusOr<std::vector<Arrival>> Arrivals(const Workload& workload, std::uint64_t seed,
                                              std::int64_t enough) {
  const auto& pods = workload.pods;
  const bool any_gpu =
      std::any_of(pods.begin(), pods.end(), [](const Pod& pod) { return RequestedMilli(pod) > 0; });
  if (!any_gpu) {
    return InvalidField(workload.pods_source, "pods", absl::StrCat(pods.size(), " without GPU"),
                        "the fill experiment needs pods that ask GPUs");
  }
  GPUSCHED_RETURN_IF_ERROR(CheckCloneNames(workload));
  std::vector<Arrival> arrivals;
  std::int64_t requested = 0;
  for (const std::size_t pod : ShuffledByName(pods, StreamOf(seed, Stream::kPods))) {
    if (requested >= enough) break;
    arrivals.push_back({.pod = pod});
    requested += RequestedMilli(pods[pod]);
  }
  const std::vector<std::size_t> sorted = SortedByName(pods);
  Rng rng = StreamOf(seed, Stream::kClones);
  for (std::int64_t clone = 1; requested < enough; ++clone) {
    if (std::ssize(arrivals) >= kMaxArrivals) {
      return InvalidField(
          workload.pods_source, "the pods' GPU requests", "small against the cluster",
          absl::StrCat("over ", kMaxArrivals,
                       " arrivals would be needed; take a smaller cluster or `to`"));
    }
    const std::size_t pod = sorted[static_cast<std::size_t>(rng.Below(sorted.size()))];
    arrivals.push_back({.pod = pod, .clone = clone});
    requested += RequestedMilli(pods[pod]);
  }
  return arrivals;
}

std::vector<double> ArrivedGrid(double to) {
  std::vector<double> grid;
  for (const int pct : {50, 80, 90}) {
    if (pct <= to * 100 + 1e-9) grid.push_back(pct);
  }
  for (int pct = 95; pct <= to * 100 + 1e-9; pct += 5) grid.push_back(pct);
  if (grid.empty() || grid.back() < to * 100 - 1e-9) grid.push_back(to * 100);
  return grid;
}

double FragmentationPct(const ClusterState& state, const FragmentTable& table) {
  double fragment = 0;
  double idle = 0;
  for (const std::uint32_t slot : state.nodes().order()) {
    const NodeView node = state.node(slot);
    fragment += static_cast<double>(table.Fragment(node));
    idle += static_cast<double>(node.gpu_free_milli());
  }
  const double total = idle * static_cast<double>(table.total_weight());
  return total == 0 ? 0 : 100 * fragment / total;
}

LatencyNs Summarise(std::vector<std::int64_t>& samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const auto at = [&](std::size_t percent) {
    return samples[(samples.size() - 1) * percent / 100];
  };
  return {.p50 = at(50), .p99 = at(99), .max = samples.back()};
}

absl::Status AddNodes(const Workload& workload, std::uint64_t seed, ClusterState& state) {
  Transaction transaction(state);
  for (const std::size_t i : ShuffledByName(workload.nodes, StreamOf(seed, Stream::kNodes))) {
    if (const auto id = transaction.AddNode(workload.nodes[i]); !id.ok()) return id.status();
  }
  transaction.Commit();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FillResult> RunFill(const Workload& workload, std::string_view policy,
                                   const ScoreRegistry& registry, const FillOptions& options) {
  if (!(options.to >= 0.01 && options.to <= 100)) {
    return InvalidField("fill", "to", absl::StrFormat("%g", options.to), "use 0.01 to 100");
  }
  ClusterState state(workload.catalog);
  GPUSCHED_RETURN_IF_ERROR(AddNodes(workload, options.seed, state));
  const std::int64_t capacity = state.capacity()[ResourceKind::kGpuMilli];
  if (capacity == 0) {
    return FieldError(absl::StatusCode::kFailedPrecondition, workload.nodes_source, "gpu",
                      "0 on every node", "the fill experiment needs a cluster with GPUs");
  }
  // Interned first, which checks the pods, so that their demand can be summed.
  std::vector<ShapeSpec> requests;
  std::vector<ShapeId> shapes;
  for (const Pod& pod : workload.pods) {
    requests.push_back(pod.shape);
    const auto shape = state.Intern(pod.shape);
    if (!shape.ok()) return shape.status();
    shapes.push_back(*shape);
  }
  const auto arrivals =
      Arrivals(workload, options.seed, std::llround(options.to * static_cast<double>(capacity)));
  if (!arrivals.ok()) return arrivals.status();
  const ScoreParameters parameters{.target = TargetWorkload::FromRequests(requests),
                                   .seed = options.seed,
                                   .norms = options.norms};
  const auto table = FragmentTable::Build(parameters.target, state);
  if (!table.ok()) return table.status();
  auto score = registry.Build(policy, parameters, state);
  if (!score.ok()) return score.status();
  Scheduler scheduler(state, *std::move(score), {}, options.search);
  scheduler.Prepare(shapes);

  FillResult result;
  result.policy = std::string(policy);
  result.seed = options.seed;
  result.arrived_pct = ArrivedGrid(options.to);
  const auto total = static_cast<std::int64_t>(arrivals->size());
  PlacementsDigest digest;
  std::vector<std::int64_t> samples;
  samples.reserve(arrivals->size());
  std::int64_t requested = 0;
  std::int64_t allocated = 0;
  std::size_t grid = 0;
  const auto record_grid = [&] {
    result.allocated_pct.push_back(100 * static_cast<double>(allocated) /
                                   static_cast<double>(capacity));
    result.fragmentation_pct.push_back(FragmentationPct(state, *table));
    ++grid;
  };

  for (std::int64_t sequence = 0; sequence < total; ++sequence) {
    const Arrival& arrival = (*arrivals)[static_cast<std::size_t>(sequence)];
    const Pod& pod = workload.pods[arrival.pod];
    const std::int64_t asked = RequestedMilli(pod);
    while (grid < result.arrived_pct.size() &&
           // Exact at whole percents: both sides are whole and far below 2^53.
           static_cast<double>(requested + asked) * 100 >
               result.arrived_pct[grid] * static_cast<double>(capacity)) {
      record_grid();
    }
    requested += asked;
    std::string name = pod.name;
    if (arrival.clone > 0) absl::StrAppend(&name, "#", arrival.clone);

    const auto begin = std::chrono::steady_clock::now();
    const auto decision = scheduler.Place(name, shapes[arrival.pod]);
    const auto end = std::chrono::steady_clock::now();
    if (!decision.ok()) return decision.status();
    samples.push_back(std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count());

    std::string_view node;
    if (decision->placed()) {
      node = state.node_name(decision->placement.node);
      allocated += asked;
      ++result.placed;
    } else {
      ++result.failed[static_cast<std::size_t>(decision->refusal.dominant())];
    }
    digest.Add(sequence, name, node, decision->placement.devices, pod.shape.gpu_milli);
    if (options.keep_placements) {
      result.placements.push_back({.sequence = sequence,
                                   .pod = std::move(name),
                                   .shape = pod.shape,
                                   .node = std::string(node),
                                   .devices = decision->placement.devices});
    }
    constexpr std::int64_t kProgressEvery = 256;
    if (options.progress && sequence % kProgressEvery == kProgressEvery - 1 &&
        !options.progress(sequence + 1, total)) {
      return absl::CancelledError("fill was stopped by its progress callback");
    }
  }
  while (grid < result.arrived_pct.size()) record_grid();
  if (options.progress) options.progress(total, total);

  result.decisions = total;
  result.paths = scheduler.path_counts();
  result.seconds =
      static_cast<double>(std::accumulate(samples.begin(), samples.end(), std::int64_t{0})) * 1e-9;
  result.latency = Summarise(samples);
  result.placements_digest = digest.value();
  result.state_hash = StateHash(state);
  return result;
}

}  // namespace gpusched
