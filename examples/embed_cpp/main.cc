// Embeds the scheduler: a cluster of two machines, three jobs that are placed, and the reason why a
// fourth waits.
#include <cstdio>
#include <string>

#include "gpusched/gpusched.h"

int main() {
  using namespace gpusched;

  // 1. Say what there is. A transaction is all or nothing.
  ClusterState state;
  Transaction transaction(state);
  for (const char* name : {"n1", "n2"}) {
    NodeSpec node{.name = name, .cpu_milli = 32'000, .mem_mib = 262'144, .devices = {}};
    node.devices.assign(2, DeviceSpec{.model = "A100-SXM4-80GB", .gpu_mem_mib = 81'920});
    if (const auto added = transaction.AddNode(node); !added.ok()) {
      std::fprintf(stderr, "%s\n", added.status().ToString().c_str());
      return 1;
    }
  }
  transaction.Commit();

  // 2. Choose a policy, here by value: mostly the fullest node, a little the roomiest.
  BasicScheduler scheduler(state, 0.8 * BestFit{} + 0.2 * DotProduct{});

  // 3. Ask. Amounts are integers: 500 gpu_milli is half a device.
  const ShapeSpec half{
      .cpu_milli = 4'000, .mem_mib = 16'384, .gpu_count = 1, .gpu_milli = 500, .models = {}};
  const ShapeSpec two{
      .cpu_milli = 16'000, .mem_mib = 65'536, .gpu_count = 2, .gpu_milli = 1'000, .models = {}};
  const struct {
    const char* job;
    ShapeSpec shape;
  } jobs[] = {{"train-a", two}, {"serve-a", half}, {"serve-b", half}, {"train-b", two}};
  for (const auto& [job, spec] : jobs) {
    const auto shape = state.Intern(spec);
    if (!shape.ok()) {
      std::fprintf(stderr, "%s\n", shape.status().ToString().c_str());
      return 1;
    }
    const auto decision = scheduler.Place(job, *shape);
    if (!decision.ok()) {
      std::fprintf(stderr, "%s\n", decision.status().ToString().c_str());
      return 1;
    }
    if (decision->placed()) {
      const std::string node(state.node_name(decision->placement.node));
      std::printf("%s runs on %s, devices %#llx\n", job, node.c_str(),
                  static_cast<unsigned long long>(decision->placement.devices.bits()));
    } else {
      std::printf("%s waits: %s\n", job, RefusalText(state, decision->refusal).c_str());
    }
  }
  return 0;
}
