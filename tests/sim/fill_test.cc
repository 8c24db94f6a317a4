#include "gpusched/sim/fill.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cluster_fixture.h"
#include "gpusched/sim/generator.h"
#include "gpusched/state/fit.h"
#include "policy/score/fragment_reference.h"
#include "status_matchers.h"

namespace gpusched {
namespace {

using Code = absl::StatusCode;

Workload Generate(std::int64_t pods, std::int64_t nodes) {
  auto workload = GenerateWorkload({.pods = pods, .nodes = nodes, .seed = 1});
  EXPECT_TRUE(workload.ok());
  return workload.ok() ? *std::move(workload) : Workload();
}

absl::StatusOr<FillResult> Fill(const Workload& workload, std::string_view policy,
                                FillOptions options = {}) {
  return RunFill(workload, policy, ScoreRegistry::BuiltIn(), options);
}

std::int64_t Milli(const ShapeSpec& shape) { return shape.gpu_count * shape.gpu_milli; }

std::uint64_t Fnv1a(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

// Everything that a result says, recomputed from its placements.
class Fills : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    workload = Generate(150, 24);
    for (const NodeSpec& node : workload.nodes) {
      capacity += static_cast<std::int64_t>(node.devices.size()) * 1'000;
    }
    auto filled =
        Fill(workload, GetParam(),
             {.seed = 3, .to = 1.3, .norms = {}, .keep_placements = true, .progress = {}});
    ASSERT_TRUE(filled.ok()) << filled.status().ToString();
    result = *std::move(filled);
  }

  Workload workload;
  std::int64_t capacity = 0;
  FillResult result;
};

INSTANTIATE_TEST_SUITE_P(BuiltIn, Fills, testing::ValuesIn(ScoreRegistry::BuiltIn().names()),
                         [](const auto& parameter) { return parameter.param; });

TEST_P(Fills, ArrivalsAreThePodsThenNumberedClonesUntilEnoughIsRequested) {
  std::map<std::string, ShapeSpec> pods;
  for (const Pod& pod : workload.pods) pods[pod.name] = pod.shape;
  std::set<std::string> first;
  std::int64_t requested = 0;
  for (std::size_t i = 0; i < result.placements.size(); ++i) {
    const FillPlacement& arrival = result.placements[i];
    ASSERT_EQ(arrival.sequence, static_cast<std::int64_t>(i));
    ASSERT_LT(requested, std::llround(1.3 * static_cast<double>(capacity)))
        << "arrivals stop when enough is requested";
    requested += Milli(arrival.shape);
    std::string name = arrival.pod;
    if (i < pods.size()) {
      ASSERT_TRUE(first.insert(name).second) << "each pod arrives once";
    } else {
      const std::string clone = absl::StrCat("#", i - pods.size() + 1);
      ASSERT_TRUE(name.size() > clone.size() && name.ends_with(clone)) << name;
      name.resize(name.size() - clone.size());
    }
    ASSERT_EQ(pods.count(name), 1U) << name;
    ASSERT_EQ(arrival.shape.gpu_milli, pods[name].gpu_milli);
    ASSERT_EQ(arrival.shape.cpu_milli, pods[name].cpu_milli);
  }
  EXPECT_GE(requested, std::llround(1.3 * static_cast<double>(capacity)));
  EXPECT_GT(result.placements.size(), pods.size());
  EXPECT_EQ(first.size(), pods.size());
  EXPECT_FALSE(std::is_sorted(result.placements.begin(), result.placements.end(),
                              [](const auto& a, const auto& b) { return a.pod < b.pod; }))
      << "arrivals are shuffled";
}

TEST_P(Fills, ReplayedPlacementsGiveTheSameNumbers) {
  TestCluster cluster(workload.catalog);
  for (const NodeSpec& node : workload.nodes) cluster.AddNode(node);
  std::vector<ShapeSpec> requests;
  for (const Pod& pod : workload.pods) requests.push_back(pod.shape);
  const TargetWorkload target = TargetWorkload::FromRequests(requests);

  std::int64_t requested = 0, allocated = 0, placed = 0, dropped = 0;
  std::size_t grid = 0;
  std::string lines;
  const auto check_grid = [&] {
    EXPECT_NEAR(result.allocated_pct[grid],
                100.0 * static_cast<double>(allocated) / static_cast<double>(capacity), 1e-9);
    double fragment = 0, idle = 0;
    for (const std::uint32_t slot : cluster.state.nodes().order()) {
      const NodeView node = cluster.state.node(slot);
      fragment += static_cast<double>(ReferenceFragment(LeftOf(cluster.state, node), target));
      idle += static_cast<double>(node.gpu_free_milli());
    }
    EXPECT_NEAR(result.fragmentation_pct[grid],
                100 * fragment / (idle * static_cast<double>(target.total())), 1e-9);
    ++grid;
  };
  for (const FillPlacement& arrival : result.placements) {
    while (grid < result.arrived_pct.size() &&
           100.0 * static_cast<double>(requested + Milli(arrival.shape)) >
               result.arrived_pct[grid] * static_cast<double>(capacity) + 1e-6) {
      check_grid();
    }
    requested += Milli(arrival.shape);
    const Shape shape = cluster.ShapeOf(arrival.shape);
    if (arrival.node.empty()) {
      ++dropped;
      for (const std::uint32_t slot : cluster.state.nodes().order()) {
        ASSERT_FALSE(Fits(cluster.state.node(slot), shape)) << arrival.pod << " was dropped";
      }
    } else {
      ++placed;
      allocated += Milli(arrival.shape);
      // Fails unless it fits exactly.
      cluster.Place(arrival.pod, arrival.shape, *cluster.state.FindNode(arrival.node),
                    arrival.devices);
    }
    std::vector<int> devices;
    for (DeviceMask rest = arrival.devices; !rest.empty(); rest.DropFirst()) {
      devices.push_back(rest.First());
    }
    absl::StrAppend(&lines, arrival.sequence, ",", arrival.pod, ",", arrival.node, ",",
                    absl::StrJoin(devices, "|"), ",", arrival.shape.gpu_milli, "\n");
  }
  while (grid < result.arrived_pct.size()) check_grid();
  EXPECT_EQ(result.placed, placed);
  std::int64_t failed = 0;
  for (const std::int64_t count : result.failed) failed += count;
  EXPECT_EQ(failed, dropped);
  EXPECT_GT(dropped, 0);
  EXPECT_EQ(result.decisions, placed + dropped);
  std::uint64_t computed = 0;
  for (const std::uint64_t count : result.paths) computed += count;
  EXPECT_EQ(computed, static_cast<std::uint64_t>(result.decisions));
  EXPECT_EQ(result.placements_digest, Fnv1a(lines));
  EXPECT_EQ(result.state_hash, cluster.hash());
}

TEST_P(Fills, TheWayOfLookingForPlacesDoesNotMatter) {
  for (const SearchPath path : {SearchPath::kScan, SearchPath::kIndex, SearchPath::kColumns}) {
    const auto other = Fill(workload, GetParam(),
                            {.seed = 3, .norms = {}, .search = {.path = path}, .progress = {}});
    ASSERT_TRUE(other.ok());
    EXPECT_EQ(other->placements_digest, result.placements_digest);
    EXPECT_EQ(other->state_hash, result.state_hash);
    EXPECT_EQ(other->failed, result.failed);
    DecisionPath taken = DecisionPath::kScan;
    if (path == SearchPath::kIndex) taken = DecisionPath::kIndex;
    if (path == SearchPath::kColumns || (path == SearchPath::kIndex && GetParam() == "random")) {
      taken = DecisionPath::kColumns;
    }
    EXPECT_EQ(other->paths[static_cast<std::size_t>(taken)],
              static_cast<std::uint64_t>(other->decisions));
  }
}

TEST_P(Fills, TheFileOrderAndTheSecondRunDoNotMatter) {
  Workload shuffled = workload;
  Rng rng(9);
  rng.Shuffle(std::span<Pod>(shuffled.pods));
  rng.Shuffle(std::span<NodeSpec>(shuffled.nodes));
  const auto again = Fill(shuffled, GetParam(), {.seed = 3, .norms = {}, .progress = {}});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->placements_digest, result.placements_digest);
  EXPECT_EQ(again->state_hash, result.state_hash);
  EXPECT_TRUE(again->placements.empty()) << "kept only if asked";
  const auto other = Fill(workload, GetParam(), {.seed = 4, .norms = {}, .progress = {}});
  ASSERT_TRUE(other.ok());
  EXPECT_NE(other->placements_digest, result.placements_digest);
}

TEST(RunFill, TheGridEndsWhereArrivalsStop) {
  const Workload workload = Generate(40, 6);
  const auto grid = [&](double to) {
    const auto result = Fill(workload, "first_fit", {.to = to, .norms = {}, .progress = {}});
    EXPECT_TRUE(result.ok());
    EXPECT_EQ(result->allocated_pct.size(), result->arrived_pct.size());
    EXPECT_EQ(result->fragmentation_pct.size(), result->arrived_pct.size());
    return result->arrived_pct;
  };
  EXPECT_EQ(grid(1.3), (std::vector<double>{50, 80, 90, 95, 100, 105, 110, 115, 120, 125, 130}));
  EXPECT_EQ(grid(0.5), (std::vector<double>{50}));
  EXPECT_EQ(grid(0.95), (std::vector<double>{50, 80, 90, 95}));
  EXPECT_EQ(grid(1.27), (std::vector<double>{50, 80, 90, 95, 100, 105, 110, 115, 120, 125, 127}));
  EXPECT_EQ(grid(0.3), (std::vector<double>{30}));
}

TEST(RunFill, RefusesPodsThatCloneNamesCouldMeet) {
  Workload workload = Generate(40, 6);
  workload.pods[1].name = workload.pods[0].name + "#12";
  EXPECT_TRUE(Refused(Fill(workload, "first_fit"), Code::kInvalidArgument,
                      {"pod name is", "#12'", "rename it"}));
  workload.pods[1].name = "other#12";  // no pod is called "other"
  EXPECT_TRUE(Fill(workload, "first_fit").ok());
}

TEST(RunFill, RefusesToWaitForMillionsOfTinyPods) {
  Workload workload = Generate(2'000, 1'213);
  for (Pod& pod : workload.pods) pod.shape = {.cpu_milli = 1, .models = {}};
  workload.pods[0].shape = {.cpu_milli = 1, .gpu_count = 1, .gpu_milli = 1, .models = {}};
  EXPECT_TRUE(Refused(Fill(workload, "first_fit"), Code::kInvalidArgument,
                      {"10000000 arrivals", "smaller cluster"}));
}

TEST(RunFill, RefusesWhatIsNoExperiment) {
  const Workload workload = Generate(40, 6);
  EXPECT_TRUE(Refused(Fill(workload, "bestfit"), Code::kNotFound, {"'bestfit'"}));
  for (const double bad : {0.0, -1.0, 101.0, std::nan("")}) {
    EXPECT_TRUE(Refused(Fill(workload, "fgd", {.to = bad, .norms = {}, .progress = {}}),
                        Code::kInvalidArgument, {"to is", "0.01 to 100"}));
  }
  Workload no_gpu_nodes = workload;
  for (NodeSpec& node : no_gpu_nodes.nodes) node.devices.clear();
  EXPECT_TRUE(Refused(Fill(no_gpu_nodes, "fgd"), Code::kFailedPrecondition, {"gpu"}));
  Workload no_gpu_pods = workload;
  for (Pod& pod : no_gpu_pods.pods) pod.shape = CpuTask(1);
  EXPECT_TRUE(Refused(Fill(no_gpu_pods, "fgd"), Code::kInvalidArgument, {"pods"}));
  Workload twice = workload;
  twice.nodes.push_back(twice.nodes.front());
  EXPECT_TRUE(Refused(Fill(twice, "fgd"), Code::kAlreadyExists, {twice.nodes.front().name}));
}

TEST(RunFill, RefusesAPodThatIsNoneBeforeCountingItsDemand) {
  Workload workload = Generate(40, 6);
  workload.pods[7].shape.gpu_count = 3;
  workload.pods[7].shape.gpu_milli = std::int64_t{1} << 62;  // the product leaves 64 bits
  EXPECT_TRUE(Refused(Fill(workload, "fgd"), Code::kInvalidArgument, {"gpu_milli"}));
}

TEST(RunFill, ProgressIsToldAndMayStopTheRun) {
  const Workload workload = Generate(300, 40);
  std::vector<std::int64_t> told;
  std::int64_t total = 0;
  const auto whole = Fill(workload, "first_fit",
                          {.norms = {}, .progress = [&](std::int64_t done, std::int64_t all) {
                             told.push_back(done);
                             total = all;
                             return true;
                           }});
  ASSERT_TRUE(whole.ok());
  EXPECT_GE(told.size(), 2U);
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  EXPECT_EQ(told.back(), total);
  EXPECT_EQ(total, whole->decisions);
  EXPECT_TRUE(
      Refused(Fill(workload, "first_fit",
                   {.norms = {}, .progress = [](std::int64_t, std::int64_t) { return false; }}),
              Code::kCancelled));
}

// What every policy decides on the built-in workload of this size, one `policy seed digest` a line.
// A change of these lines is a change of decisions: say so in the change log.
TEST(RunFill, DecidesAsCommitted) {
  const Workload workload = Generate(800, 120);
  std::string decided;
  for (const std::string& policy : ScoreRegistry::BuiltIn().names()) {
    const auto result = Fill(workload, policy);
    ASSERT_TRUE(result.ok()) << policy << ": " << result.status().ToString();
    absl::StrAppend(&decided, policy, " 1 ", absl::StrFormat("%016x", result->placements_digest),
                    "\n");
  }
  std::ifstream file(std::filesystem::path(__FILE__).parent_path() / "fill_digests.txt");
  const std::string committed((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(decided, committed);
}

}  // namespace
}  // namespace gpusched
