// A placement score of your own: a plain struct that satisfies a concept. No base class, no
// registration; it composes with the built-in ones by value.
#include <cstdio>
#include <string>
#include <string_view>

#include "gpusched/gpusched.h"

namespace {

// Prefers nodes with much memory left, so that memory-hungry jobs find room later.
struct MemoryHeadroom {
  std::int64_t norm_mem_mib = 524'288;

  // Says what the answer depends on: the node, not which device. The engine may cache by it.
  static constexpr gpusched::Reads kReads = gpusched::Reads::kNode;
  static constexpr gpusched::ScoreRange range() { return {0, 1000}; }

  gpusched::Score operator()(const gpusched::NodeView& node, const gpusched::Shape& shape,
                             gpusched::DeviceMask) const {
    return gpusched::SaturatingRatio(gpusched::Wide{1000} * (node.mem_free() - shape.mem_mib),
                                     norm_mem_mib, range());
  }
};
static_assert(gpusched::NodeScore<MemoryHeadroom>);

// A filter of your own: nodes with fewer than four free cores are left to the system.
struct KeepFourCores {
  gpusched::Shortfall operator()(const gpusched::NodeView& node,
                                 const gpusched::Shape& shape) const {
    const std::int64_t left = node.cpu_free() - shape.cpu_milli;
    if (left >= 4'000) return {};
    return {.verdict = gpusched::Verdict::Wait(gpusched::Reason::kFilteredByUser),
            .need = 4'000,
            .have = left};
  }
};

}  // namespace

int main() {
  using namespace gpusched;
  ClusterState state;
  Transaction transaction(state);
  const auto small = transaction.AddNode({.name = "small",
                                          .cpu_milli = 16'000,
                                          .mem_mib = 65'536,
                                          .devices = {{.model = "T4", .gpu_mem_mib = {}}}});
  const auto large = transaction.AddNode({.name = "large",
                                          .cpu_milli = 64'000,
                                          .mem_mib = 524'288,
                                          .devices = {{.model = "T4", .gpu_mem_mib = {}}}});
  if (!small.ok() || !large.ok()) return 1;
  transaction.Commit();

  const auto shape = state.Intern(
      {.cpu_milli = 8'000, .mem_mib = 8'192, .gpu_count = 1, .gpu_milli = 400, .models = {}});
  if (!shape.ok()) return 1;

  BasicScheduler by_fit(state, BestFit{}, Filters(KeepFourCores{}));
  BasicScheduler by_memory(state, 0.3 * BestFit{} + 0.7 * MemoryHeadroom{},
                           Filters(KeepFourCores{}));
  const auto fit = by_fit.Decide(*shape);
  const auto memory = by_memory.Decide(*shape);
  if (!fit.ok() || !memory.ok()) return 1;
  std::printf("best fit alone: %s\n", std::string(state.node_name(fit->placement.node)).c_str());
  std::printf("with memory headroom: %s\n",
              std::string(state.node_name(memory->placement.node)).c_str());
  return fit->placement.node == *small && memory->placement.node == *large ? 0 : 1;
}
