// The index and the columns find what a scan finds, and give the same reasons: long random
// histories in which all are asked.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cluster_fixture.h"
#include "device_kinds.h"
#include "gpusched/engine/placer.h"
#include "gpusched/policy/erased/registry.h"
#include "gpusched/policy/score/best_fit.h"
#include "gpusched/policy/score/fgd.h"
#include "gpusched/policy/score/first_fit.h"
#include "gpusched/policy/score/gpu_packing.h"
#include "gpusched/policy/score/mig_start.h"
#include "gpusched/policy/score/weighted.h"
#include "gpusched/policy/score/worst_fit.h"
#include "random_cluster.h"
#include "status_matchers.h"

namespace gpusched {
namespace {

// Few values, so that most nodes are equal and the order of nodes and devices decides.
struct Coarse {
  static constexpr Reads kReads = Reads::kNode | Reads::kDevice;
  static constexpr ScoreRange range() { return {-1, 1}; }
  Score operator()(const NodeView& node, const Shape& shape, const DeviceChoice& choice) const {
    std::int64_t sum = node.cpu_free() / 1'000 + node.tasks(TaskKind::kCpuOnly);
    for (DeviceMask rest = choice.devices; !rest.empty(); rest.DropFirst()) {
      sum += node.devices()[static_cast<std::size_t>(rest.First())].gpu_milli / 250 + 1;
    }
    return static_cast<Score>((sum + shape.gpu_count) % 3 - 1);
  }
};

// Nearly as many values as there may be.
struct Fine {
  static constexpr Reads kReads = Reads::kNode;
  static constexpr ScoreRange range() { return {-32'000, 32'000}; }
  Score operator()(const NodeView& node, const Shape& shape, const DeviceChoice& choice) const {
    const std::int64_t sum = node.cpu_free() * 7 + node.gpu_free_milli() * 11 +
                             MilliTaken(node, shape, choice) + node.mem_free();
    return static_cast<Score>(sum % 64'001 - 32'000);
  }
};

// A filter of a user's.
struct OddTasks {
  Shortfall operator()(const NodeView& node, const Shape&) const {
    if (node.tasks(TaskKind::kShare) % 2 == 0) return {};
    return {.verdict = Verdict::Wait(Reason::kFilteredByUser)};
  }
};

// One policy, looked up both ways.
struct Pair {
  std::string name;
  std::unique_ptr<Placer> index;
  std::unique_ptr<Placer> columns;
  std::unique_ptr<Placer> scan;
};

template <class P, class F = Filters<>>
Pair PairOf(std::string name, P policy, F filters = F(), std::size_t max_lanes = kMaxLanes) {
  return {.name = std::move(name),
          .index = std::make_unique<BasicPlacer<P, F>>(
              policy, filters, SearchOptions{.path = SearchPath::kIndex, .max_lanes = max_lanes}),
          .columns = std::make_unique<BasicPlacer<P, F>>(
              policy, filters, SearchOptions{.path = SearchPath::kColumns}),
          .scan = std::make_unique<BasicPlacer<P, F>>(policy, filters,
                                                      SearchOptions{.path = SearchPath::kScan})};
}

class World {
 public:
  World(std::uint64_t seed, std::int64_t nodes) : rng_(seed) {
    for (int i = 0; i < 30; ++i) asks_.push_back(RandomShape(rng_));
    for (const ShapeSpec& ask : Asks()) asks_.push_back(ask);
    for (std::int64_t i = 0; i < nodes; ++i) (void)cluster_.AddNode(NewNode());
    for (const ShapeSpec& ask : asks_) shapes_.push_back(cluster_.Intern(ask));
    const auto fgd = [&](bool memory) {
      std::vector<ShapeSpec> target;
      for (const ShapeSpec& ask : asks_) {
        if (!ask.sharing.empty()) continue;
        if (!memory && (ask.gpu_mem_mib > 0 || !ask.mig_profile.empty())) continue;
        target.push_back(ask);
      }
      return *Fgd::Build(TargetWorkload::FromRequests(target), cluster_.state);
    };
    pairs_.push_back(PairOf("fgd", fgd(false)));
    pairs_.push_back(PairOf("best_fit", BestFit{}));
    pairs_.push_back(PairOf("composed", 0.8 * fgd(false) + 0.2 * BestFit{}));
    pairs_.push_back(PairOf("best_fit first", 0.3 * BestFit{} + 0.7 * fgd(false)));
    pairs_.push_back(PairOf("coarse sum", 0.01 * fgd(false) + 100 * BestFit{}));
    pairs_.push_back(PairOf("two choosers", 1.0 * fgd(false) + 1.0 * Coarse{}));
    pairs_.push_back(PairOf("fgd of memory", fgd(true)));
    pairs_.push_back(PairOf("coarse", Coarse{}));
    pairs_.push_back(PairOf("fine", Fine{}));
    pairs_.push_back(PairOf("few lanes", Coarse{}, Filters<>(), 5));
    pairs_.push_back(PairOf("filtered", BestFit{}, Filters<OddTasks>(OddTasks{})));
    pairs_.push_back(PairOf("mig_start", MigStart{}));
    pairs_.push_back(PairOf("packing", 1.0 * GpuPacking{} + 0.1 * fgd(false)));
    pairs_.push_back(PairOf("worst_fit", WorstFit{}));
    pairs_.push_back(PairOf("first_fit", FirstFit{}));
    pairs_.push_back(PairOf("erased", AnyScore(fgd(false))));
    pairs_.push_back(
        PairOf("erased sum", AnyScore(WeightedSum({{.weight_milli = 300, .score = fgd(false)},
                                                   {.weight_milli = 700, .score = BestFit{}}}))));
  }

  // Some changes in one transaction, with questions in between; kept or taken back.
  void Round() {
    Transaction transaction(cluster_.state);
    std::vector<std::string> running = running_;
    for (std::uint64_t steps = 1 + rng_.Below(6); steps > 0; --steps) {
      const Transaction::Mark mark = transaction.mark();
      const std::vector<std::string> before = running_;
      Change(transaction);
      Ask(transaction);
      if (OneIn(rng_, 5)) {
        transaction.RollbackTo(mark);
        running_ = before;
        Ask(transaction);
      }
      if (::testing::Test::HasFatalFailure()) return;
    }
    if (OneIn(rng_, 6)) {
      transaction.RollbackTo(0);
      running_ = running;
    }
    transaction.Commit();
  }

  std::uint64_t decisions() const { return decisions_; }
  std::uint64_t found() const { return found_; }
  std::vector<Pair>& pairs() { return pairs_; }

 private:
  NodeSpec NewNode() {
    NodeSpec node = RandomNode(rng_, "n" + std::to_string(next_node_++));
    node.cpu_milli += 4'000;
    node.mem_mib += 4'000;
    if (!OneIn(rng_, 4)) return node;
    node.devices.clear();
    std::vector<DeviceSpec> kinds = DevicesOfEveryKind();
    for (std::uint64_t n = 1 + rng_.Below(4); n > 0; --n) {
      node.devices.push_back(kinds[rng_.Below(kinds.size())]);
    }
    return node;
  }

  NodeId AnyNode() {
    const auto order = cluster_.state.nodes().order();
    return cluster_.state.nodes().id(order[rng_.Below(order.size())]);
  }

  void Change(Transaction& transaction) {
    const auto order = cluster_.state.nodes().order();
    switch (rng_.Below(16)) {
      case 0:
        (void)transaction.AddNode(NewNode());
        break;
      case 1:
        if (order.size() > 1) (void)transaction.RemoveNode(AnyNode());
        break;
      case 2: {
        const NodeId node = AnyNode();
        (void)transaction.SetCordoned(node, !cluster_.node(node).cordoned() && OneIn(rng_, 3));
        break;
      }
      case 3: {
        ForeignUsage usage{.cpu_milli = IntBelow(rng_, 9'000), .mem_mib = 0, .device_milli = {}};
        if (OneIn(rng_, 2)) usage.device_milli = {IntBelow(rng_, 4) * 400};
        (void)transaction.SetForeign(AnyNode(), OneIn(rng_, 2) ? ForeignUsage{} : usage);
        break;
      }
      case 4: {
        const NodeId node = AnyNode();
        NodeSpec spec = cluster_.state.NodeSpecOf(node);
        spec.cpu_milli = IntBelow(rng_, 16) * 1'000;
        if (!spec.devices.empty() && OneIn(rng_, 3)) spec.devices.pop_back();
        (void)transaction.UpdateNode(node, spec);
        break;
      }
      case 5:
        if (const auto& holds = cluster_.state.holds().list(); !holds.empty() && OneIn(rng_, 2)) {
          (void)transaction.DropHold(rng_.Below(holds.size()));
        } else {
          PlaceSome(transaction, /*hold=*/true);
        }
        break;
      case 6:
      case 7:
      case 8:
      case 9:
        Release(transaction);
        break;
      default:
        PlaceSome(transaction, /*hold=*/false);
    }
  }

  void Release(Transaction& transaction) {
    if (running_.empty()) return;
    std::swap(running_[rng_.Below(running_.size())], running_.back());
    ASSERT_TRUE(IsOk(transaction.Release(*cluster_.state.FindTask(running_.back()))));
    running_.pop_back();
  }

  void PlaceSome(Transaction& transaction, bool hold) {
    const ShapeId id = shapes_[rng_.Below(shapes_.size())];
    Pair& pair = pairs_[rng_.Below(pairs_.size())];
    // Now and then a gang of equal tasks, with something else in between.
    for (std::uint64_t n = OneIn(rng_, 10) ? 1 + rng_.Below(20) : 1; n > 0; --n) {
      PlaceOne(transaction, hold, id, pair);
      if (OneIn(rng_, 12)) Release(transaction);
      if (OneIn(rng_, 25)) (void)transaction.AddNode(NewNode());
    }
  }

  void PlaceOne(Transaction& transaction, bool hold, ShapeId id, Pair& pair) {
    const Shape& shape = cluster_.state.shapes()[id];
    const auto best = pair.index->Find(cluster_.state, shape, 0, JobFilter());
    ASSERT_TRUE(IsOk(best.status()));
    const auto scanned = pair.scan->Find(cluster_.state, shape, 0, JobFilter());
    ASSERT_EQ(best->found, scanned->found) << pair.name;
    if (!best->found) return;
    ASSERT_EQ(best->candidate, scanned->candidate) << pair.name;
    const Placement placement =
        PlacementOf(cluster_.state.node(best->candidate.slot), shape, best->candidate.choice());
    const std::string name = "t" + std::to_string(next_task_++);
    if (hold) {
      ASSERT_TRUE(IsOk(
          transaction.AddHold({.name = name, .owner = "", .shape = id, .placement = placement})));
      return;
    }
    ASSERT_TRUE(IsOk(transaction.Place(name, id, placement).status()));
    running_.push_back(name);
  }

  void Ask(Transaction&) {
    for (int i = 0; i < 3; ++i) {
      Pair& pair = pairs_[rng_.Below(pairs_.size())];
      const ShapeId id = shapes_[rng_.Below(shapes_.size())];
      const Shape& own = cluster_.state.shapes()[id];
      Shape narrowed = own;
      narrowed.models &= 0b101;
      const Shape& shape = OneIn(rng_, 8) ? narrowed : own;
      JobFilter filter;
      std::vector<std::uint32_t> excluded;
      if (OneIn(rng_, 4)) {
        for (std::uint64_t n = rng_.Below(5); n > 0; --n) excluded.push_back(AnyNode().slot);
        // The best ones are the most telling.
        const auto best = pair.scan->Find(cluster_.state, shape, 0, filter);
        if (best.ok() && best->found) excluded.push_back(best->candidate.slot);
        filter.Exclude(excluded);
      }
      const auto one = pair.index->Find(cluster_.state, shape, 0, filter);
      const auto two = pair.scan->Find(cluster_.state, shape, 0, filter);
      const auto three = pair.columns->Find(cluster_.state, shape, 0, filter);
      ASSERT_TRUE(IsOk(one.status()));
      ASSERT_TRUE(IsOk(two.status()));
      ASSERT_TRUE(IsOk(three.status()));
      ASSERT_EQ(three->found, two->found) << pair.name << " decision " << decisions_;
      ASSERT_EQ(one->found, two->found) << pair.name << " decision " << decisions_;
      if (one->found) {
        ASSERT_EQ(one->score, two->score) << pair.name << " decision " << decisions_;
        ASSERT_EQ(one->candidate, two->candidate) << pair.name << " decision " << decisions_;
        ASSERT_EQ(three->score, two->score) << pair.name << " decision " << decisions_;
        ASSERT_EQ(three->candidate, two->candidate) << pair.name << " decision " << decisions_;
        ++found_;
      } else {
        ExpectEqual(pair.index->Explain(cluster_.state, shape, filter),
                    pair.scan->Explain(cluster_.state, shape, filter));
        ASSERT_EQ(pair.index->ExplainOutcome(cluster_.state, shape, filter),
                  pair.scan->Explain(cluster_.state, shape, filter).outcome);
      }
      ++decisions_;
    }
  }

  static void ExpectEqual(const Refusal& one, const Refusal& two) {
    ASSERT_EQ(one.nodes_by_reason, two.nodes_by_reason);
    ASSERT_EQ(one.outcome, two.outcome);
    ASSERT_EQ(one.nearest, two.nearest);
    ASSERT_EQ(one.shortfall.verdict, two.shortfall.verdict);
    ASSERT_EQ(one.shortfall.need, two.shortfall.need);
    ASSERT_EQ(one.shortfall.have, two.shortfall.have);
  }

  Rng rng_;
  TestCluster cluster_;
  std::vector<ShapeSpec> asks_;
  std::vector<ShapeId> shapes_;
  std::vector<Pair> pairs_;
  std::vector<std::string> running_;
  std::uint64_t next_node_ = 0;
  std::uint64_t next_task_ = 0;
  std::uint64_t decisions_ = 0;
  std::uint64_t found_ = 0;
};

// GPUSCHED_FUZZ_DECISIONS in the environment makes it longer.
TEST(SearchAgreement, IndexAndScanFindTheSameInRandomHistories) {
  const char* const wanted = std::getenv("GPUSCHED_FUZZ_DECISIONS");
#ifdef __SANITIZE_ADDRESS__
  constexpr std::uint64_t kUsual = 4'000;  // it takes some ten times as long
#else
  constexpr std::uint64_t kUsual = 20'000;
#endif
  const std::uint64_t enough = wanted == nullptr ? kUsual : std::strtoull(wanted, nullptr, 10);
  std::uint64_t decisions = 0;
  std::uint64_t found = 0;
  std::uint64_t by_index = 0;
  for (std::uint64_t seed = 1; decisions < enough; ++seed) {
    Rng rng(seed);
    // Mostly small; now and then enough for four levels of a tree.
    const std::int64_t nodes = OneIn(rng, 12) ? 1 + IntBelow(rng, 3'000) : 1 + IntBelow(rng, 60);
    World world(seed, nodes);
    while (world.decisions() < 600) {
      world.Round();
      if (HasFatalFailure()) {
        FAIL() << "seed " << seed << ", " << nodes << " nodes";
      }
    }
    decisions += world.decisions();
    found += world.found();
    for (const Pair& pair : world.pairs()) {
      by_index += pair.index->path_counts()[static_cast<std::size_t>(DecisionPath::kIndex)];
      EXPECT_EQ(pair.scan->path_counts()[static_cast<std::size_t>(DecisionPath::kIndex)], 0U);
    }
  }
  EXPECT_GT(found, decisions / 3);
  EXPECT_GT(by_index, decisions);  // those that placed something are counted too
  RecordProperty("decisions", std::to_string(decisions));
}

}  // namespace
}  // namespace gpusched
