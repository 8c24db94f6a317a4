#include "gpusched/state/transaction.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "cluster_fixture.h"
#include "gpusched/state/audit.h"
#include "status_matchers.h"

namespace gpusched {
namespace {

using Code = absl::StatusCode;

TEST(Transaction, CommitKeepsAndTheDestructorUndoes) {
  ClusterState state;
  {
    Transaction dropped(state);
    ASSERT_TRUE(dropped.AddNode(GpuNode("a", 2)).ok());
    EXPECT_EQ(state.node_count(), 1U);
  }
  EXPECT_EQ(state.node_count(), 0U);
  EXPECT_EQ(state.FindNode("a"), std::nullopt);
  {
    Transaction kept(state);
    ASSERT_TRUE(kept.AddNode(GpuNode("a", 2)).ok());
    kept.Commit();
  }
  EXPECT_EQ(state.node_count(), 1U);
  EXPECT_EQ(state.capacity()[ResourceKind::kGpuMilli], 2'000);
}

TEST(Transaction, IsOverAfterCommit) {
  ClusterState state;
  Transaction transaction(state);
  transaction.Commit();
  transaction.Commit();
  EXPECT_TRUE(
      Refused(transaction.AddNode(GpuNode("a", 1)), Code::kFailedPrecondition, {"is over"}));
  EXPECT_EQ(state.node_count(), 0U);
}

TEST(Transaction, OnlyOneAtATime) {
  TestCluster cluster;
  const NodeId node = cluster.AddNode(GpuNode("a", 1));
  const ShapeId shape = cluster.Intern(WholeGpus(1));
  const TaskId running = cluster.Place("r", CpuTask(1), node);
  const std::uint64_t hash = cluster.hash();
  {
    Transaction first(cluster.state);
    {
      Transaction second(cluster.state);
      const Placement placement{.node = node, .devices = DeviceMask::Of(0)};
      EXPECT_TRUE(Refused(second.AddNode(GpuNode("b", 1)), Code::kFailedPrecondition,
                          {"another one is open"}));
      EXPECT_TRUE(Refused(second.RemoveNode(node), Code::kFailedPrecondition));
      EXPECT_TRUE(Refused(second.SetForeign(node, {}), Code::kFailedPrecondition));
      EXPECT_TRUE(Refused(second.Place("t", shape, placement), Code::kFailedPrecondition));
      EXPECT_TRUE(Refused(second.Release(running), Code::kFailedPrecondition));
      second.RollbackTo(0);
      second.Commit();
    }
    EXPECT_EQ(cluster.hash(), hash);
    EXPECT_TRUE(first.AddNode(GpuNode("c", 1)).ok()) << "the second must not have closed the first";
  }
  EXPECT_EQ(cluster.hash(), hash);
  Transaction next(cluster.state);
  EXPECT_TRUE(next.AddNode(GpuNode("d", 1)).ok());
}

TEST(Transaction, MarksNestAndMayBeUsedAgain) {
  TestCluster cluster;
  Transaction transaction(cluster.state);
  const std::uint64_t empty = cluster.hash();
  ASSERT_TRUE(transaction.AddNode(GpuNode("a", 1)).ok());
  const Transaction::Mark one = transaction.mark();
  const std::uint64_t with_a = cluster.hash();
  ASSERT_TRUE(transaction.AddNode(GpuNode("b", 1)).ok());
  const Transaction::Mark two = transaction.mark();
  ASSERT_TRUE(transaction.AddNode(GpuNode("c", 1)).ok());
  transaction.RollbackTo(two);
  EXPECT_EQ(cluster.state.node_count(), 2U);
  transaction.RollbackTo(one);
  EXPECT_EQ(cluster.hash(), with_a);
  ASSERT_TRUE(transaction.AddNode(GpuNode("d", 1)).ok());
  transaction.RollbackTo(one);
  EXPECT_EQ(cluster.hash(), with_a);
  transaction.RollbackTo(0);
  EXPECT_EQ(cluster.hash(), empty);
}

TEST(Transaction, AnExceptionPassingThroughUndoes) {
  TestCluster cluster;
  const NodeId node = cluster.AddNode(GpuNode("a", 2));
  const ShapeId shape = cluster.Intern(WholeGpus(1));
  const std::uint64_t hash = cluster.hash();
  const auto place_and_throw = [&] {
    Transaction transaction(cluster.state);
    ASSERT_TRUE(transaction.Place("t", shape, {node, DeviceMask::Of(0)}).ok());
    ASSERT_NE(cluster.hash(), hash);
    throw std::runtime_error("a policy of somebody else's");
  };
  EXPECT_THROW(place_and_throw(), std::runtime_error);
  EXPECT_EQ(cluster.hash(), hash);
  EXPECT_TRUE(IsOk(Audit(cluster.state)));
  EXPECT_EQ(cluster.state.tasks().size(), 0U);
}

TEST(Transaction, ARemovedNodeComesBackToItsPlaceInTheOrder) {
  TestCluster cluster;
  cluster.AddNode(GpuNode("a", 1));
  const NodeId b = cluster.AddNode(GpuNode("b", 1));
  cluster.AddNode(GpuNode("c", 1));
  const auto names = [&] {
    std::string joined;
    for (const std::uint32_t slot : cluster.state.nodes().order()) {
      joined += cluster.state.node_name(cluster.state.nodes().id(slot));
    }
    return joined;
  };
  {
    Transaction transaction(cluster.state);
    ASSERT_TRUE(IsOk(transaction.RemoveNode(b)));
    EXPECT_EQ(names(), "ac");
    // The name is free at once, the slot is not.
    const auto again = transaction.AddNode(GpuNode("b", 1));
    ASSERT_TRUE(again.ok());
    EXPECT_NE(again->slot, b.slot);
    EXPECT_EQ(names(), "acb");
  }
  EXPECT_EQ(names(), "abc");
  EXPECT_EQ(cluster.state.FindNode("b"), b) << "the old handle holds again";
}

TEST(Transaction, HandlesGoStaleWhenTheirSlotIsReused) {
  TestCluster cluster;
  const NodeId old_node = cluster.AddNode(GpuNode("a", 2));
  const TaskId old_task = cluster.Place("t", WholeGpus(1), old_node, DeviceMask::Of(1));
  cluster.Release(old_task);
  cluster.RemoveNode(old_node);
  const NodeId node = cluster.AddNode(GpuNode("b", 2));
  const TaskId task = cluster.Place("u", WholeGpus(1), node, DeviceMask::Of(0));
  EXPECT_EQ(node.slot, old_node.slot) << "a slot with as many devices is reused";
  EXPECT_EQ(task.slot, old_task.slot);
  EXPECT_EQ(cluster.node(node).devices()[1].gpu_milli, 1'000) << "nothing is left of the old node";

  const ShapeId shape = cluster.Intern(WholeGpus(1));
  const std::uint64_t hash = cluster.hash();
  Transaction transaction(cluster.state);
  EXPECT_TRUE(Refused(transaction.RemoveNode(old_node), Code::kNotFound, {"node is"}));
  EXPECT_TRUE(Refused(transaction.SetForeign(old_node, {}), Code::kNotFound));
  EXPECT_TRUE(
      Refused(transaction.Place("v", shape, {old_node, DeviceMask::Of(1)}), Code::kNotFound));
  EXPECT_TRUE(Refused(transaction.Release(old_task), Code::kNotFound, {"task is", "not running"}));
  EXPECT_TRUE(Refused(transaction.RemoveNode(NodeId()), Code::kNotFound));
  EXPECT_TRUE(Refused(transaction.Release(TaskId()), Code::kNotFound));
  EXPECT_EQ(cluster.hash(), hash);
}

TEST(Transaction, AHandleOfWhatWasRolledBackIsStale) {
  TestCluster cluster;
  NodeId gone;
  {
    Transaction transaction(cluster.state);
    gone = transaction.AddNode(GpuNode("a", 1)).value_or(NodeId());
  }
  EXPECT_FALSE(cluster.state.nodes().Has(gone));
  EXPECT_NE(cluster.AddNode(GpuNode("b", 1)), gone);
}

TEST(TransactionPlace, SaysWhatDoesNotFit) {
  TestCluster cluster;
  NodeSpec spec = GpuNode("n1", 2, "T4", 4'000);
  spec.mem_mib = 100;
  spec.devices[1].gpu_mem_mib = 50;
  const NodeId node = cluster.AddNode(spec);
  cluster.Place("first", ShareOf(300), node, DeviceMask::Of(0));
  const std::uint64_t hash = cluster.hash();
  Transaction transaction(cluster.state);
  const auto place = [&](const ShapeSpec& shape, DeviceMask devices) {
    return transaction.Place("t", cluster.Intern(shape), {node, devices});
  };
  constexpr Code kPrecondition = Code::kFailedPrecondition;
  EXPECT_TRUE(Refused(place(CpuTask(4'001), {}), kPrecondition,
                      {"node 'n1': cpu_milli is 4000 free; the task asks 4001"}));
  EXPECT_TRUE(Refused(place(CpuTask(1, 101), {}), kPrecondition,
                      {"mem_mib is 100 free; the task asks 101"}));
  EXPECT_TRUE(Refused(place(WholeGpus(1), DeviceMask::Of(0)), kPrecondition,
                      {"devices[0].gpu_milli is 700 free; the task asks 1000"}));
  EXPECT_TRUE(Refused(place(ShareOf(701), DeviceMask::Of(0)), kPrecondition, {"700 free"}));
  EXPECT_TRUE(Refused(place(WholeGpus(1), DeviceMask::Of(2)), kPrecondition,
                      {"devices[2] is missing; the node has 2 devices"}));
  EXPECT_TRUE(Refused(place(WholeGpus(1), Devices({0, 1})), kPrecondition,
                      {"devices is 2 devices; the task asks 1"}));
  EXPECT_TRUE(Refused(place(WholeGpus(1), {}), kPrecondition, {"devices is 0 devices"}));
  EXPECT_TRUE(
      Refused(place(CpuTask(1), DeviceMask::Of(0)), kPrecondition, {"devices is 1 devices"}));
  ShapeSpec memory = ShareOf(500);
  memory.gpu_mem_mib = 51;
  EXPECT_TRUE(Refused(place(memory, DeviceMask::Of(1)), kPrecondition,
                      {"devices[1].gpu_mem_mib is 50 free; the task asks 51"}));
  ShapeSpec other = ShareOf(100);
  other.models = {"A10"};
  EXPECT_TRUE(Refused(place(other, DeviceMask::Of(0)), kPrecondition,
                      {"devices[0] is 'T4'; the task does not allow this model"}));
  EXPECT_EQ(cluster.hash(), hash);
  EXPECT_TRUE(place(ShareOf(700), DeviceMask::Of(0)).ok()) << "still usable after refusals";
}

TEST(TransactionPlace, RefusesNamesAndShapesThatAreNone) {
  TestCluster cluster;
  const NodeId node = cluster.AddNode(GpuNode("n1", 1));
  cluster.Place("t", CpuTask(1), node);
  const ShapeId shape = cluster.Intern(CpuTask(1));
  const std::uint64_t hash = cluster.hash();
  Transaction transaction(cluster.state);
  EXPECT_TRUE(Refused(transaction.Place("", shape, {node, {}}), Code::kInvalidArgument, {"name"}));
  EXPECT_TRUE(Refused(transaction.Place("t", shape, {node, {}}), Code::kAlreadyExists, {"'t'"}));
  EXPECT_TRUE(Refused(transaction.Place("u", ShapeId{.slot = 7}, {node, {}}),
                      Code::kInvalidArgument, {"shape is #7"}));
  EXPECT_TRUE(Refused(transaction.Place("u", ShapeId(), {node, {}}), Code::kInvalidArgument));
  EXPECT_EQ(cluster.hash(), hash);
}

TEST(TransactionRemoveNode, RefusesWhileTasksRun) {
  TestCluster cluster;
  const NodeId node = cluster.AddNode(GpuNode("n1", 1));
  const TaskId task = cluster.Place("t", CpuTask(1), node);
  Transaction transaction(cluster.state);
  EXPECT_TRUE(Refused(transaction.RemoveNode(node), Code::kFailedPrecondition,
                      {"n1", "1 task", "release them first"}));
  EXPECT_TRUE(IsOk(transaction.Release(task)));
  EXPECT_TRUE(IsOk(transaction.RemoveNode(node)));
  EXPECT_EQ(cluster.state.capacity(), Resources());
}

TEST(TransactionSetForeign, ReplacesAndMayExceedWhatIsThere) {
  TestCluster cluster;
  const NodeId node = cluster.AddNode(GpuNode("n1", 2, "T4", 4'000));
  cluster.Place("t", WholeGpus(1, 1'000), node, DeviceMask::Of(0));
  cluster.SetForeign(node, {.cpu_milli = 9'000, .mem_mib = 1, .device_milli = {2'000, 300}});
  EXPECT_EQ(cluster.node(node).cpu_free(), 0) << "never negative";
  EXPECT_EQ(cluster.node(node).devices()[0].gpu_milli, 0);
  EXPECT_EQ(cluster.node(node).gpu_free_milli(), 700);
  EXPECT_EQ(cluster.node(node).whole_free(), 0U);
  cluster.SetForeign(node, {.device_milli = {0}});  // what is absent is 0
  EXPECT_EQ(cluster.node(node).cpu_free(), 3'000);
  EXPECT_EQ(cluster.node(node).gpu_free_milli(), 1'000);
  EXPECT_TRUE(IsOk(Audit(cluster.state)));
}

TEST(TransactionSetForeign, EachBadFieldIsNamed) {
  TestCluster cluster;
  const NodeId node = cluster.AddNode(GpuNode("n1", 1));
  Transaction transaction(cluster.state);
  const auto refused = [&](const ForeignUsage& usage, std::string_view part) {
    return Refused(transaction.SetForeign(node, usage), Code::kInvalidArgument, {"'n1'", part});
  };
  EXPECT_TRUE(refused({.cpu_milli = -1, .device_milli = {}}, "cpu_milli is -1"));
  EXPECT_TRUE(
      refused({.mem_mib = kMaxQuantity + 1, .device_milli = {}}, "mem_mib is 1099511627777"));
  EXPECT_TRUE(refused({.device_milli = {-7}}, "device_milli is -7"));
  EXPECT_TRUE(refused({.device_milli = {0, 0}}, "device_milli is 2 entries"));
}

}  // namespace
}  // namespace gpusched
