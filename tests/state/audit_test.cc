#include "gpusched/state/audit.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cluster_fixture.h"
#include "gpusched/base/rng.h"
#include "status_matchers.h"

namespace gpusched {
namespace {

// The ledger can't be made wrong through its interface, so these tests reach around it: the object
// is not const, only the access to it.
NodeTable& Writable(const NodeTable& nodes) { return const_cast<NodeTable&>(nodes); }
TaskTable& Writable(const TaskTable& tasks) { return const_cast<TaskTable&>(tasks); }

TEST(Audit, CatchesEveryKindOfCorruption) {
  const Shape cpu{.cpu_milli = 5};
  const Shape memory{.mem_mib = 6};
  const Shape share{.gpu_milli = 300, .gpu_count = 1};
  const Shape device_memory{.gpu_mem_mib = 10, .gpu_milli = 0, .gpu_count = 1};
  const DeviceMask first = DeviceMask::Of(0);
  const std::vector<std::pair<std::function<void(TestCluster&, std::uint32_t)>, std::string>>
      cases = {
          {[&](TestCluster& c, std::uint32_t n) { Writable(c.state.nodes()).Take(n, cpu, {}); },
           "used cpu_milli of 'n1' is 105 in the ledger but 100 by count"},
          {[&](TestCluster& c, std::uint32_t n) { Writable(c.state.nodes()).Take(n, memory, {}); },
           "used mem_mib of 'n1' is 6 in the ledger but 0 by count"},
          {[&](TestCluster& c, std::uint32_t n) {
             Writable(c.state.nodes()).Take(n, share, first);
           },
           "devices[0].used.gpu_milli of 'n1' is 800 in the ledger but 500 by count"},
          {[&](TestCluster& c, std::uint32_t n) {
             Writable(c.state.nodes()).Take(n, device_memory, first);
           },
           "devices[0].used"},
          {[&](TestCluster& c, std::uint32_t n) { Writable(c.state.nodes()).Take(n, Shape(), {}); },
           "tasks of kind 0 of 'n1' is 1 in the ledger but 0 by count"},
          {[](TestCluster& c, std::uint32_t) { Writable(c.state.tasks()).Detach(0); }, "used"},
          {[](TestCluster& c, std::uint32_t n) { Writable(c.state.nodes()).Detach(n); },
           "task 't' runs on a node that is not there"},
          {[](TestCluster& c, std::uint32_t) {
             Writable(c.state.nodes()).Detach(c.state.FindNode("n2")->slot);
           },
           "capacity cpu_milli of 'cluster' is 192000 in the ledger but 96000 by count"}};
  for (const auto& [corrupt, message] : cases) {
    TestCluster cluster;
    NodeSpec spec = GpuNode("n1", 2);
    spec.devices[0].gpu_mem_mib = 1'000;
    const NodeId node = cluster.AddNode(spec);
    cluster.AddNode(GpuNode("n2", 1));
    cluster.Place("t", ShareOf(500, 100), node, first);
    ASSERT_TRUE(IsOk(Audit(cluster.state)));
    corrupt(cluster, node.slot);
    EXPECT_TRUE(Refused(Audit(cluster.state), absl::StatusCode::kInternal, {"audit: ", message}));
  }
}

TEST(Audit, AcceptsOverUseByOthers) {
  TestCluster cluster;
  const NodeId node = cluster.AddNode(GpuNode("n1", 1, "T4", 1'000));
  cluster.Place("t", ShareOf(500, 600), node, DeviceMask::Of(0));
  cluster.SetForeign(node, {.cpu_milli = 600, .device_milli = {700}});
  EXPECT_TRUE(IsOk(Audit(cluster.state)));
}

TEST(SumRows, AddsUpEveryColumn) {
  EXPECT_EQ(SumRows({}), Resources());
  Rng rng(1);
  for (std::size_t rows = 1; rows < 20; ++rows) {
    std::vector<Resources> table(rows);
    Resources expected;
    for (Resources& row : table) {
      for (std::size_t i = 0; i < kResourceKinds; ++i) {
        row.amount[i] = static_cast<std::int64_t>(rng.Below(std::uint64_t{1} << 40));
        expected.amount[i] += row.amount[i];
      }
    }
    EXPECT_EQ(SumRows(table), expected);
  }
}

}  // namespace
}  // namespace gpusched
