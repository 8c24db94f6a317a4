#include "gpusched/state/change_log.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "gpusched/state/cluster_state.h"
#include "gpusched/state/transaction.h"

namespace gpusched {
namespace {

NodeSpec Node(const std::string& name) {
  return {.name = name, .cpu_milli = 8000, .mem_mib = 8192, .devices = {}};
}

TEST(ChangeLog, TellsTheLastChangesAndSaysWhenItCannot) {
  ChangeLog log;
  EXPECT_TRUE(log.Reaches(0));
  for (std::uint32_t i = 0; i < 1024; ++i) log.Note(i);
  EXPECT_TRUE(log.Reaches(0));
  EXPECT_EQ(log[1023], 1023U);
  log.Note(7);
  EXPECT_FALSE(log.Reaches(0));
  EXPECT_TRUE(log.Reaches(1));
  EXPECT_EQ(log[1024], 7U);
  log.Fit(1'000'000);
  EXPECT_FALSE(log.Reaches(1));
  EXPECT_TRUE(log.Reaches(log.end()));
}

TEST(ChangeLog, IsAnotherOneInACopyAndTheSameAfterAMove) {
  ChangeLog log;
  const auto identity = log.identity();
  log.Note(3);
  const ChangeLog copy(log);
  EXPECT_FALSE(copy.Is(identity));
  EXPECT_EQ(copy.end(), 0U);
  const ChangeLog moved(std::move(log));
  EXPECT_TRUE(moved.Is(identity));
  EXPECT_EQ(moved.end(), 1U);
}

// Each kind of step on a node is there, and its rollback too.
TEST(ChangeLog, HasEveryStepAndWhatTakesItBack) {
  ClusterState state;
  const ChangeLog& log = state.nodes().changes();
  Transaction transaction(state);
  const NodeId a = *transaction.AddNode(Node("a"));
  const NodeId b = *transaction.AddNode(Node("b"));
  const ShapeId shape = *state.Intern({.cpu_milli = 1000, .models = {}});
  const auto changed_by = [&](auto&& step) {
    const auto from = log.end();
    const Transaction::Mark mark = transaction.mark();
    step();
    const auto middle = log.end();
    transaction.RollbackTo(mark);
    EXPECT_GT(log.end(), middle);  // taking back is a change
    return log[from];
  };
  EXPECT_EQ(changed_by([&] { (void)transaction.SetCordoned(b, true); }), b.slot);
  EXPECT_EQ(
      changed_by([&] { (void)transaction.SetForeign(b, {.cpu_milli = 1, .device_milli = {}}); }),
      b.slot);
  EXPECT_EQ(changed_by([&] { (void)transaction.RemoveNode(a); }), a.slot);
  EXPECT_EQ(changed_by([&] { (void)transaction.UpdateNode(a, Node("a")); }), a.slot);
  EXPECT_EQ(changed_by([&] { (void)transaction.Place("t", shape, {.node = b, .devices = {}}); }),
            b.slot);
  EXPECT_EQ(
      changed_by([&] {
        (void)transaction.AddHold(
            {.name = "h", .owner = "", .shape = shape, .placement = {.node = a, .devices = {}}});
      }),
      a.slot);
  EXPECT_EQ(changed_by([&] { (void)transaction.AddNode(Node("c")); }), 2U);
}

TEST(NodeRank, FollowsTheNodeOrderAlsoAfterATakenBackRemoval) {
  ClusterState state;
  Transaction transaction(state);
  for (const char* name : {"a", "b", "c", "d"}) (void)transaction.AddNode(Node(name));
  const Transaction::Mark mark = transaction.mark();
  (void)transaction.RemoveNode(*state.FindNode("b"));
  (void)transaction.RemoveNode(*state.FindNode("d"));
  transaction.RollbackTo(mark);
  (void)transaction.RemoveNode(*state.FindNode("c"));
  (void)transaction.AddNode(Node("e"));
  std::vector<std::string> names;
  std::uint64_t last = 0;
  for (const std::uint32_t slot : state.nodes().order()) {
    names.emplace_back(state.node_name(state.nodes().id(slot)));
    EXPECT_TRUE(names.size() == 1 || state.nodes().rank(slot) > last);
    last = state.nodes().rank(slot);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b", "d", "e"}));
}

}  // namespace
}  // namespace gpusched
