// RandomHistory: a cluster that changes in every way, in transactions that are kept or taken back.
#ifndef GPUSCHED_TESTS_RANDOM_HISTORY_H_
#define GPUSCHED_TESTS_RANDOM_HISTORY_H_

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cluster_fixture.h"
#include "device_kinds.h"
#include "gpusched/engine/scan.h"
#include "gpusched/policy/filter/filters.h"
#include "random_cluster.h"
#include "status_matchers.h"

namespace gpusched {

// Nodes of every kind, some with amounts about and beyond what 32 bits tell, and requests that meet
// them.
class RandomHistory {
 public:
  RandomHistory(std::uint64_t seed, std::int64_t nodes) : rng_(seed) {
    std::vector<ShapeSpec> asks = Asks();
    for (int i = 0; i < 30; ++i) asks.push_back(RandomShape(rng_));
    for (const std::int64_t amount : kLarge) {
      asks.push_back(CpuTask(amount));
      asks.push_back(CpuTask(1'000, amount));
      asks.push_back(ShareOf(300, amount));
      ShapeSpec memory = ShareOf(200);
      memory.gpu_mem_mib = amount;
      asks.push_back(memory);
    }
    // Of the amounts that most nodes have, so that often it is devices alone that are lacking.
    for (int i = 0; i < 12; ++i) {
      ShapeSpec ask = RandomShape(rng_);
      ask.cpu_milli = ask.mem_mib = 0;
      asks.push_back(ask);
    }
    for (const ShapeSpec& ask : asks) shapes_.push_back(cluster_.Intern(ask));
    for (std::int64_t i = 0; i < nodes; ++i) (void)cluster_.AddNode(NewNode());
  }

  // Some changes in one transaction. `look` is called after each, and after what is taken back.
  template <class Look>
  void Round(const Look& look) {
    Transaction transaction(cluster_.state);
    const std::vector<std::string> running = running_;
    for (std::uint64_t steps = 1 + rng_.Below(6); steps > 0; --steps) {
      const Transaction::Mark mark = transaction.mark();
      const std::vector<std::string> before = running_;
      for (std::uint64_t changes = 1 + rng_.Below(3); changes > 0; --changes) Change(transaction);
      if (!OneIn(rng_, 4)) look();
      if (OneIn(rng_, 5)) {
        transaction.RollbackTo(mark);
        running_ = before;
        look();
      }
      if (::testing::Test::HasFatalFailure()) return;
    }
    if (OneIn(rng_, 6)) {
      transaction.RollbackTo(0);
      running_ = running;
    }
    transaction.Commit();
    look();
  }

  // A request of the state's own, or one that is like it but for something.
  Shape SomeShape() {
    Shape shape = cluster_.state.shapes()[shapes_[rng_.Below(shapes_.size())]];
    switch (rng_.Below(12)) {
      case 0:
        shape.models &= 0b101;
        break;
      case 1:
        shape.models = 0;
        break;
      case 2:  // not one that a state would intern
        shape.gpu_count = static_cast<std::int32_t>(IntBelow(rng_, 4));
        if (OneIn(rng_, 2)) shape.gpu_milli = static_cast<std::int32_t>(IntBelow(rng_, 3)) * 400;
        if (OneIn(rng_, 2)) shape.sharing = static_cast<std::uint8_t>(IntBelow(rng_, 32));
        break;
      case 3:
        shape.cpu_milli = 0;
        shape.mem_mib = 0;
        break;
      case 4:  // what some node has, or hardly not
        if (!cluster_.state.nodes().order().empty()) {
          const NodeView node = cluster_.node(AnyNode());
          shape.cpu_milli = node.cpu_free() + IntBelow(rng_, 3) - 1;
          shape.mem_mib = node.mem_free() + IntBelow(rng_, 3) - 1;
        }
        break;
      case 5:
        if (shape.asks_gpu()) shape.gpu_mem_mib = Pick(rng_, kDeviceMemory);
        break;
      default:
        break;
    }
    return shape;
  }

  const ClusterState& state() const { return cluster_.state; }
  Rng& rng() { return rng_; }

 private:
  static constexpr std::array<std::int64_t, 5> kLarge = {
      INT32_MAX - 1, INT32_MAX, std::int64_t{INT32_MAX} + 1, std::int64_t{1} << 33, kMaxQuantity};
  static constexpr std::array<std::int64_t, 5> kDeviceMemory = {1, 8'000, 15'360, 16'000, 16'001};

  // Spreads tasks over nodes and devices without a system.
  struct Scattered {
    static constexpr Reads kReads = Reads::kNode | Reads::kDevice;
    static constexpr ScoreRange range() { return {0, 96}; }
    std::uint64_t salt = 0;
    Score operator()(const NodeView& node, const Shape&, const DeviceChoice& choice) const {
      const std::uint64_t sum =
          salt + node.slot() * 31 +
          (choice.devices.empty() ? 0U : 7U * static_cast<unsigned>(choice.devices.First()));
      return static_cast<Score>(sum * 2'654'435'761U % 97);
    }
  };

  NodeSpec NewNode() {
    NodeSpec node = RandomNode(rng_, "n" + std::to_string(next_node_++));
    node.cpu_milli += 4'000;
    node.mem_mib += 4'000;
    if (OneIn(rng_, 12)) node.cpu_milli = Pick(rng_, kLarge);
    if (OneIn(rng_, 12)) node.mem_mib = Pick(rng_, kLarge);
    if (OneIn(rng_, 4)) {
      node.devices.clear();
      const std::vector<DeviceSpec> kinds = DevicesOfEveryKind();
      for (std::uint64_t n = 1 + rng_.Below(4); n > 0; --n) {
        node.devices.push_back(kinds[rng_.Below(kinds.size())]);
      }
    }
    if (!node.devices.empty() && OneIn(rng_, 12)) {
      node.devices.back().gpu_mem_mib = Pick(rng_, kLarge) / 2 + 1;
    }
    return node;
  }

  NodeId AnyNode() {
    const auto order = cluster_.state.nodes().order();
    return cluster_.state.nodes().id(order[rng_.Below(order.size())]);
  }

  void Change(Transaction& transaction) {
    const auto order = cluster_.state.nodes().order();
    if (order.empty()) {
      (void)transaction.AddNode(NewNode());
      return;
    }
    switch (rng_.Below(16)) {
      case 0:
        (void)transaction.AddNode(NewNode());
        break;
      case 1:
        (void)transaction.RemoveNode(AnyNode());
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
        if (!spec.devices.empty() && OneIn(rng_, 3)) spec.devices[0].gpu_milli = 500;
        if (OneIn(rng_, 4)) spec.devices.push_back({.model = "T4", .gpu_mem_mib = 16'000});
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
    const Shape& shape = cluster_.state.shapes()[id];
    const SearchResult found =
        scan_.Find(StateView(cluster_.state), shape, 0, Filters<>(), Scattered{rng_.Below(97)});
    if (!found.found) return;
    const Placement placement =
        PlacementOf(cluster_.state.node(found.candidate.slot), shape, found.candidate.choice());
    const std::string name = "t" + std::to_string(next_task_++);
    if (hold) {
      ASSERT_TRUE(IsOk(
          transaction.AddHold({.name = name, .owner = "", .shape = id, .placement = placement})));
      return;
    }
    ASSERT_TRUE(IsOk(transaction.Place(name, id, placement).status()));
    running_.push_back(name);
  }

  Rng rng_;
  TestCluster cluster_;
  PlainScan scan_;
  std::vector<ShapeId> shapes_;
  std::vector<std::string> running_;
  std::uint64_t next_node_ = 0;
  std::uint64_t next_task_ = 0;
};

}  // namespace gpusched

#endif  // GPUSCHED_TESTS_RANDOM_HISTORY_H_
