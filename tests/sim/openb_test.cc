#include "gpusched/sim/openb.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "status_matchers.h"

namespace gpusched {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

CsvTable Table(const std::string& text) {
  auto table = CsvTable::Parse(text, "f.csv");
  EXPECT_TRUE(table.ok()) << table.status().ToString();
  return table.ok() ? *std::move(table) : *CsvTable::Parse("a\n1\n", "f.csv");
}

absl::StatusOr<std::vector<NodeSpec>> Nodes(const std::string& lines) {
  return OpenbNodes(Table("sn,cpu_milli,memory_mib,gpu,model\n" + lines));
}
absl::StatusOr<std::vector<Pod>> Pods(const std::string& lines) {
  return OpenbPods(Table("name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n" + lines));
}

TEST(OpenbNodes, ReadsColumnsInAnyOrder) {
  const auto nodes = OpenbNodes(
      Table("model,x,gpu,memory_mib,cpu_milli,sn\nG2,?,2,1024,64000,n-1\n,?,0,512,32000,n-2\n"));
  ASSERT_TRUE(nodes.ok()) << nodes.status().ToString();
  ASSERT_EQ(nodes->size(), 2U);
  const NodeSpec& first = nodes->front();
  EXPECT_EQ(first.name, "n-1");
  EXPECT_EQ(first.cpu_milli, 64'000);
  EXPECT_EQ(first.mem_mib, 1'024);
  ASSERT_EQ(first.devices.size(), 2U);
  EXPECT_EQ(first.devices[1].model, "G2");
  EXPECT_EQ(first.devices[1].gpu_milli, 1'000);
  EXPECT_EQ(first.devices[1].gpu_mem_mib, std::nullopt) << "the trace does not state it";
  EXPECT_TRUE(nodes->back().devices.empty());
}

TEST(OpenbNodes, EachBadLineIsNamed) {
  EXPECT_TRUE(Refused(Nodes("a,1,1,1,T4\na,1,1,1,T4\n"), absl::StatusCode::kAlreadyExists,
                      {"f.csv:3", "sn is 'a'", "unique"}));
  EXPECT_TRUE(Refused(Nodes(",1,1,1,T4\n"), kInvalid, {"f.csv:2", "sn is ''"}));
  EXPECT_TRUE(Refused(Nodes("a,one,1,1,T4\n"), kInvalid, {"f.csv:2:2", "cpu_milli is 'one'"}));
  EXPECT_TRUE(Refused(Nodes("a,1,1,65,T4\n"), kInvalid, {"f.csv:2:4", "gpu is 65", "0 to 64"}));
  EXPECT_TRUE(Refused(Nodes("a,1,1,-1,T4\n"), kInvalid, {"f.csv:2", "gpu is '-1'"}));
  EXPECT_TRUE(Refused(Nodes("a,1,1,2,\n"), kInvalid, {"f.csv:2", "model is ''"}));
  EXPECT_TRUE(
      Refused(Nodes("a,1,1,1,T4\nb,-1,1,1,T4\n"), kInvalid, {"f.csv:3", "cpu_milli is '-1'"}));
  EXPECT_TRUE(Refused(OpenbNodes(Table("sn,cpu_milli,memory_mib,model\na,1,1,T4\n")), kInvalid,
                      {"f.csv:1", "'gpu' is missing"}));
}

TEST(OpenbPods, ReadsSharesWholesAndAllowedModels) {
  const auto pods = Pods("a,1000,2048,1,470,\nb,2000,1,2,1000,G2|T4\nc,3000,1,0,0,\n");
  ASSERT_TRUE(pods.ok()) << pods.status().ToString();
  ASSERT_EQ(pods->size(), 3U);
  EXPECT_EQ((*pods)[0].name, "a");
  EXPECT_EQ((*pods)[0].shape.cpu_milli, 1'000);
  EXPECT_EQ((*pods)[0].shape.mem_mib, 2'048);
  EXPECT_EQ((*pods)[0].shape.gpu_count, 1);
  EXPECT_EQ((*pods)[0].shape.gpu_milli, 470);
  EXPECT_TRUE((*pods)[0].shape.models.empty());
  EXPECT_EQ((*pods)[1].shape.gpu_count, 2);
  EXPECT_EQ((*pods)[1].shape.models, (std::vector<std::string>{"G2", "T4"}));
  EXPECT_EQ((*pods)[2].shape.gpu_count, 0);
}

TEST(OpenbPods, AModelNamedTwiceIsNoError) { EXPECT_TRUE(Pods("a,1,1,1,1000,T4|T4\n").ok()); }

TEST(OpenbPods, TheColumnOfModelsMayBeMissing) {
  const auto pods = OpenbPods(Table("name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,1,1,500\n"));
  ASSERT_TRUE(pods.ok()) << pods.status().ToString();
  EXPECT_TRUE(pods->front().shape.models.empty());
}

TEST(OpenbPods, EachBadLineIsNamed) {
  EXPECT_TRUE(Refused(Pods("a,1,1,0,0,\na,1,1,0,0,\n"), absl::StatusCode::kAlreadyExists,
                      {"f.csv:3", "name is 'a'"}));
  EXPECT_TRUE(Refused(Pods("a,1,1,1,x,\n"), kInvalid, {"f.csv:2:5", "gpu_milli is 'x'"}));
  EXPECT_TRUE(Refused(Pods("a,1,1,1,1001,\n"), kInvalid, {"f.csv:2", "gpu_milli is 1001"}));
  EXPECT_TRUE(Refused(Pods("a,1,1,2,500,\n"), kInvalid, {"f.csv:2", "gpu_milli is 500"}));
  EXPECT_TRUE(Refused(Pods("a,1,1,0,500,\n"), kInvalid, {"f.csv:2", "gpu_milli is 500"}));
  EXPECT_TRUE(Refused(Pods("a,1,-1,0,0,\n"), kInvalid, {"f.csv:2", "memory_mib is '-1'"}));
  EXPECT_TRUE(Refused(OpenbPods(Table("name,cpu_milli,memory_mib,num_gpu\na,1,1,1\n")), kInvalid,
                      {"'gpu_milli' is missing", "name, cpu_milli, memory_mib, num_gpu"}));
}

// A bar too many would name a model that no device has, and the pod would wait for ever.
TEST(OpenbPods, AnEmptyModelNameIsRefused) {
  EXPECT_TRUE(Refused(Pods("a,1,1,1,1000,T4|\n"), kInvalid, {"f.csv:2", "gpu_spec is 'T4|'"}));
  EXPECT_TRUE(Refused(Pods("a,1,1,1,1000,T4||G2\n"), kInvalid, {"f.csv:2", "gpu_spec"}));
}

TEST(ReadOpenb, DeclaresTheTracesOwnModels) {
  const std::filesystem::path folder = testing::TempDir();
  const std::string nodes = (folder / "gpusched_openb_nodes.csv").string();
  const std::string pods = (folder / "gpusched_openb_pods.csv").string();
  std::ofstream(nodes) << "sn,cpu_milli,memory_mib,gpu,model\nn,1,1,1,G2\n";
  std::ofstream(pods) << "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\np,1,1,1,500,G3\n";
  const auto workload = ReadOpenb(nodes, pods);
  ASSERT_TRUE(workload.ok()) << workload.status().ToString();
  EXPECT_EQ(workload->nodes_source, nodes);
  EXPECT_EQ(workload->pods_source, pods);
  EXPECT_TRUE(workload->catalog.Knows("G2"));
  EXPECT_TRUE(workload->catalog.Knows("G3"));
  EXPECT_FALSE(workload->catalog.Knows("G4"));
  EXPECT_TRUE(Refused(ReadOpenb(nodes, pods + "x"), absl::StatusCode::kNotFound, {pods + "x"}));
  EXPECT_TRUE(Refused(ReadOpenb(pods, pods), kInvalid, {pods, "'sn' is missing"}));
  std::filesystem::remove(nodes);
  std::filesystem::remove(pods);
}

// Reads the trace itself, where the environment says that it is.
TEST(OpenbData, TheDefaultListIsReadInFull) {
  const char* data = std::getenv("GPUSCHED_DATA");
  if (data == nullptr) GTEST_SKIP() << "GPUSCHED_DATA is not set: no trace to read";
  const std::string folder = std::string(data) + "/openb/";
  const auto workload =
      ReadOpenb(folder + "openb_node_list_gpu_node.csv", folder + "openb_pod_list_default.csv");
  ASSERT_TRUE(workload.ok()) << workload.status().ToString();
  EXPECT_EQ(workload->pods.size(), 8'152U);
  EXPECT_EQ(workload->nodes.size(), 1'213U);
  std::size_t devices = 0;
  for (const NodeSpec& node : workload->nodes) devices += node.devices.size();
  EXPECT_EQ(devices, 6'212U);
}

}  // namespace
}  // namespace gpusched
