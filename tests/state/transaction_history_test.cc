// Random histories of a Transaction against the reference ledger.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gpusched/state/transaction.h"
#include "ledger_reference.h"
#include "random_cluster.h"

namespace gpusched {
namespace {

using Code = absl::StatusCode;

// Drives a state and its reference through the same steps.
class History {
 public:
  explicit History(std::uint64_t seed) : rng_(seed) {}

  const LedgerReference& reference() const { return reference_; }
  const ClusterState& state() const { return cluster_.state; }
  Rng& rng() { return rng_; }

  // One transaction: random steps with rollbacks to random marks, then a commit or none.
  void RunTransaction() {
    const LedgerReference before = reference_;
    const std::uint64_t hash_before = cluster_.hash();
    Transaction transaction(cluster_.state);
    std::vector<std::pair<Transaction::Mark, LedgerReference>> marks;
    for (std::int64_t steps = IntBelow(rng_, 9); steps > 0; --steps) {
      if (OneIn(rng_, 3)) marks.emplace_back(transaction.mark(), reference_);
      if (OneIn(rng_, 8) && !marks.empty()) {
        // To any mark: those after it are gone, it may be used again.
        marks.resize(1 + static_cast<std::size_t>(rng_.Below(marks.size())));
        transaction.RollbackTo(marks.back().first);
        reference_ = marks.back().second;
        ExpectSame(cluster_.state, reference_);
        continue;
      }
      const std::uint64_t hash = cluster_.hash();
      const Code code = Step(transaction);
      ++steps_[code == Code::kOk ? 0 : 1];
      if (code == Code::kOk) continue;
      ASSERT_EQ(cluster_.hash(), hash)
          << "a refused step changed something: " << absl::StatusCodeToString(code);
    }
    if (OneIn(rng_, 2)) {
      transaction.Commit();
      return;
    }
    const bool undo_by_hand = OneIn(rng_, 2);
    if (undo_by_hand) {
      transaction.RollbackTo(0);
      ASSERT_EQ(cluster_.hash(), hash_before);
    }
    reference_ = before;
    rolled_back_ = hash_before;
  }

  // The hash from before the last transaction, if it was not committed.
  std::optional<std::uint64_t> TakeRolledBack() { return std::exchange(rolled_back_, {}); }
  std::int64_t accepted() const { return steps_[0]; }
  std::int64_t refused() const { return steps_[1]; }

 private:
  Code Step(Transaction& transaction) {
    switch (IntBelow(rng_, 10)) {
      case 0:
        return AddNode(transaction);
      case 1:
        return RemoveNode(transaction);
      case 2:
        return SetForeign(transaction);
      case 3:
      case 4:
      case 5:
        return Release(transaction);
      default:
        return Place(transaction);
    }
  }

  Code AddNode(Transaction& transaction) {
    const std::string name = "n" + std::to_string(IntBelow(rng_, 8));
    NodeSpec spec = RandomNode(rng_, name);
    Code expected = reference_.nodes.count(name) == 1 ? Code::kAlreadyExists : Code::kOk;
    if (OneIn(rng_, 10)) {
      spec.mem_mib = -1;
      expected = Code::kInvalidArgument;
    }
    const auto id = transaction.AddNode(spec);
    EXPECT_EQ(id.status().code(), expected) << id.status().ToString();
    if (id.ok()) {
      reference_.order.push_back(name);
      reference_.nodes[name] = {.spec = spec, .foreign = {}, .id = *id};
      node_ids_.push_back({name, *id});
    }
    return id.status().code();
  }

  // A handle that was given out at some time, and the name if it is live.
  std::pair<NodeId, std::string> AnyNode() {
    if (node_ids_.empty()) return {};
    const auto& [name, id] = node_ids_[static_cast<std::size_t>(rng_.Below(node_ids_.size()))];
    const auto found = reference_.nodes.find(name);
    const bool live = found != reference_.nodes.end() && found->second.id == id;
    return {id, live ? name : std::string()};
  }

  Code RemoveNode(Transaction& transaction) {
    const auto [id, name] = AnyNode();
    const absl::Status status = transaction.RemoveNode(id);
    const Code expected = name.empty()                ? Code::kNotFound
                          : reference_.HasTasks(name) ? Code::kFailedPrecondition
                                                      : Code::kOk;
    EXPECT_EQ(status.code(), expected) << status.ToString();
    if (status.ok()) {
      reference_.nodes.erase(name);
      std::erase(reference_.order, name);
    }
    return status.code();
  }

  Code SetForeign(Transaction& transaction) {
    const auto [id, name] = AnyNode();
    ForeignUsage usage{
        .cpu_milli = IntBelow(rng_, 12'000), .mem_mib = IntBelow(rng_, 12'000), .device_milli = {}};
    const std::size_t devices = name.empty() ? 0 : reference_.nodes[name].spec.devices.size();
    Code expected = name.empty() ? Code::kNotFound : Code::kOk;
    for (std::int64_t i = IntBelow(rng_, static_cast<std::int64_t>(devices) + 2); i > 0; --i) {
      usage.device_milli.push_back(IntBelow(rng_, 2'000));
    }
    if (OneIn(rng_, 8)) usage.cpu_milli = -1;
    if (!name.empty() && (usage.cpu_milli < 0 || usage.device_milli.size() > devices)) {
      expected = Code::kInvalidArgument;
    }
    const absl::Status status = transaction.SetForeign(id, usage);
    EXPECT_EQ(status.code(), expected) << status.ToString();
    if (status.ok()) reference_.nodes[name].foreign = usage;
    return status.code();
  }

  Code Place(Transaction& transaction) {
    const std::string task = OneIn(rng_, 20) ? "" : "t" + std::to_string(IntBelow(rng_, 20));
    const auto [node, name] = AnyNode();
    const ShapeSpec spec = RandomShape(rng_);
    const ShapeId shape = cluster_.Intern(spec);
    DeviceMask devices(rng_.Next() & rng_.Next() & rng_.Next() & 0xff);
    if (!name.empty() && !OneIn(rng_, 4)) {
      devices = RandomFittingDevices(rng_, cluster_.node(node), cluster_.state.shapes()[shape]);
    }
    const Code expected = task.empty()                             ? Code::kInvalidArgument
                          : reference_.tasks.count(task) == 1      ? Code::kAlreadyExists
                          : name.empty()                           ? Code::kNotFound
                          : reference_.FitsOn(spec, name, devices) ? Code::kOk
                                                                   : Code::kFailedPrecondition;
    const auto id = transaction.Place(task, shape, {.node = node, .devices = devices});
    EXPECT_EQ(id.status().code(), expected) << id.status().ToString();
    if (id.ok()) {
      reference_.tasks[task] = {.shape = spec, .node = name, .devices = devices, .id = *id};
      task_ids_.push_back({task, *id});
    }
    return id.status().code();
  }

  Code Release(Transaction& transaction) {
    if (task_ids_.empty()) return Code::kOk;
    const std::size_t newest = task_ids_.size() - 1;
    const std::size_t back =
        static_cast<std::size_t>(rng_.Below(std::min<std::size_t>(newest, 40) + 1));
    const auto [task, id] = task_ids_[newest - back];
    const auto found = reference_.tasks.find(task);
    const bool live = found != reference_.tasks.end() && found->second.id == id;
    const absl::Status status = transaction.Release(id);
    EXPECT_EQ(status.code(), live ? Code::kOk : Code::kNotFound) << status.ToString();
    if (live) reference_.tasks.erase(found);
    return status.code();
  }

  Rng rng_;
  TestCluster cluster_;
  LedgerReference reference_;
  std::vector<std::pair<std::string, NodeId>> node_ids_;
  std::vector<std::pair<std::string, TaskId>> task_ids_;
  std::optional<std::uint64_t> rolled_back_;
  std::array<std::int64_t, 2> steps_{};
};

TEST(TransactionHistory, AgreesWithTheReference) {
  std::int64_t accepted = 0;
  std::int64_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    History history(seed);
    for (int i = 0; i < 300; ++i) {
      history.RunTransaction();
      ExpectSame(history.state(), history.reference());
      if (const auto hash = history.TakeRolledBack()) {
        ASSERT_EQ(StateHash(history.state()), *hash) << "rolling back is not the identity";
      }
      if (testing::Test::HasFailure()) FAIL() << "seed " << seed << ", transaction " << i;
    }
    ASSERT_EQ(StateHash(history.state()), HashOfRebuilt(history.reference(), history.rng()))
        << "the hash depends on the way, seed " << seed;
    accepted += history.accepted();
    refused += history.refused();
  }
  // The histories are worth something only if much is accepted and much refused.
  EXPECT_GT(accepted, 10'000);
  EXPECT_GT(refused, 10'000);
}

}  // namespace
}  // namespace gpusched
