#include "gpusched/sim/generator.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gpusched/base/quantity.h"
#include "gpusched/base/rng.h"
#include "gpusched/spec/field_error.h"
#include "gpusched/spec/task_kind.h"

namespace gpusched {
namespace {

// A kind of machine, with how many of 1,213 there are (summary of the published cluster).
struct NodeKind {
  std::int64_t weight;
  std::int64_t cores;
  std::int64_t mem_gib;
  std::int64_t gpus;
  std::string_view model;
};

constexpr std::array kNodeKinds = {
    NodeKind{549, 96, 384, 8, "G2"},     NodeKind{387, 104, 512, 2, "T4"},
    NodeKind{107, 16, 120, 2, "P100"},   NodeKind{39, 128, 768, 8, "G3"},
    NodeKind{28, 32, 128, 4, "V100M16"}, NodeKind{22, 64, 256, 2, "P100"},
    NodeKind{21, 96, 768, 8, "V100M32"}, NodeKind{19, 8, 32, 1, "V100M16"},
    NodeKind{17, 96, 384, 4, "T4"},      NodeKind{9, 48, 368, 4, "V100M32"},
    NodeKind{7, 64, 256, 8, "V100M16"},  NodeKind{1, 82, 336, 8, "V100M16"},
    NodeKind{3, 8, 60, 1, "P100"},       NodeKind{2, 8, 60, 2, "P100"},
    NodeKind{2, 128, 1024, 1, "A10"},
};

// A usual size of a task, drawn in proportion to its weight.
struct Size {
  std::int64_t weight;
  std::int64_t cores;
  std::int64_t mem_gib;
};

constexpr std::array kCpuOnly = {Size{36, 12, 56}, Size{28, 32, 48}, Size{16, 8, 29},
                                 Size{12, 15, 50}, Size{8, 16, 50}};
constexpr std::array kPart = {Size{36, 3, 5}, Size{22, 4, 18}, Size{20, 11, 46}, Size{16, 8, 29},
                              Size{6, 6, 6}};
constexpr std::array kOne = {Size{50, 11, 48}, Size{16, 3, 5}, Size{12, 18, 63}, Size{12, 9, 40},
                             Size{10, 15, 57}};
constexpr std::array kTwo = {Size{3, 16, 65}, Size{1, 30, 157}};
constexpr std::array kFour = {Size{4, 32, 129}, Size{1, 60, 313}};
constexpr std::array kEight = {Size{5, 88, 320}, Size{5, 64, 257}, Size{1, 120, 720}};

// Parts of a device that are asked, in milli.
struct Part {
  std::int64_t weight;
  std::int64_t gpu_milli;
};
constexpr std::array kParts = {Part{35, 810}, Part{25, 470}, Part{11, 320}, Part{8, 650},
                               Part{5, 230},  Part{4, 460},  Part{3, 590},  Part{3, 160},
                               Part{3, 550},  Part{3, 220}};

// A kind of task and how many of 8,152 there are.
struct PodKind {
  std::int64_t weight;
  std::int64_t gpus;
  bool part;
  std::span<const Size> sizes;
};

constexpr std::array kPodKinds = {PodKind{1088, 0, false, kCpuOnly}, PodKind{3078, 1, true, kPart},
                                  PodKind{3911, 1, false, kOne},     PodKind{16, 2, false, kTwo},
                                  PodKind{15, 4, false, kFour},      PodKind{44, 8, false, kEight}};

// Splits `total` in proportion to the weights, exactly: largest remainders get the rest, ties to
// the earlier one.
template <class Kinds>
std::vector<std::int64_t> Apportion(const Kinds& kinds, std::int64_t total) {
  std::int64_t sum = 0;
  for (const auto& kind : kinds) sum += kind.weight;
  std::vector<std::int64_t> counts;
  std::int64_t given = 0;
  for (const auto& kind : kinds) {
    counts.push_back(kind.weight * total / sum);
    given += counts.back();
  }
  std::vector<std::size_t> by_remainder(counts.size());
  std::iota(by_remainder.begin(), by_remainder.end(), std::size_t{0});
  std::stable_sort(by_remainder.begin(), by_remainder.end(), [&](std::size_t a, std::size_t b) {
    return kinds[a].weight * total % sum > kinds[b].weight * total % sum;
  });
  for (std::size_t i = 0; given < total; ++i, ++given) ++counts[by_remainder[i]];
  return counts;
}

template <class Weighted>
const Weighted& Draw(Rng& rng, std::span<const Weighted> choices) {
  std::int64_t sum = 0;
  for (const Weighted& choice : choices) sum += choice.weight;
  auto left = static_cast<std::int64_t>(rng.Below(static_cast<std::uint64_t>(sum)));
  std::size_t i = 0;
  while (left >= choices[i].weight) left -= choices[i++].weight;
  return choices[i];
}

absl::Status CheckOption(std::string_view field, std::int64_t value, std::int64_t most) {
  if (value >= 1 && value <= most) return absl::OkStatus();
  return InvalidField("generator", field, absl::StrCat(value), absl::StrCat("use 1 to ", most));
}

}  // namespace

absl::StatusOr<Workload> GenerateWorkload(const GeneratorOptions& options) {
  GPUSCHED_RETURN_IF_ERROR(CheckOption("pods", options.pods, 8'000'000));
  GPUSCHED_RETURN_IF_ERROR(CheckOption("nodes", options.nodes, 1'000'000));
  constexpr std::int64_t kMibPerGib = 1024;
  Workload workload{
      .nodes_source = absl::StrCat("built-in, ", options.nodes, " nodes"),
      .pods_source = absl::StrCat("built-in, ", options.pods, " pods, seed ", options.seed),
      .catalog = {},
      .nodes = {},
      .pods = {}};
  const auto node_counts = Apportion(kNodeKinds, options.nodes);
  for (std::size_t i = 0; i < kNodeKinds.size(); ++i) {
    const NodeKind& kind = kNodeKinds[i];
    workload.catalog.DeclareOpaque(kind.model);
    for (std::int64_t n = 0; n < node_counts[i]; ++n) {
      NodeSpec node{.name = absl::StrFormat("node-%06d", workload.nodes.size()),
                    .cpu_milli = kind.cores * kMilli,
                    .mem_mib = kind.mem_gib * kMibPerGib,
                    .devices = {}};
      node.devices.assign(
          static_cast<std::size_t>(kind.gpus),
          DeviceSpec{.model = std::string(kind.model), .gpu_mem_mib = std::nullopt});
      workload.nodes.push_back(std::move(node));
    }
  }

  Rng rng(options.seed);
  const auto pod_counts = Apportion(kPodKinds, options.pods);
  for (std::size_t i = 0; i < kPodKinds.size(); ++i) {
    const PodKind& kind = kPodKinds[i];
    for (std::int64_t n = 0; n < pod_counts[i]; ++n) {
      const Size& size = Draw(rng, kind.sizes);
      std::int64_t gpu_milli = kind.gpus > 0 ? kMilli : 0;
      if (kind.part) gpu_milli = Draw(rng, std::span<const Part>(kParts)).gpu_milli;
      workload.pods.push_back({.name = absl::StrFormat("pod-%07d", workload.pods.size()),
                               .shape = {.cpu_milli = size.cores * kMilli,
                                         .mem_mib = size.mem_gib * kMibPerGib,
                                         .gpu_count = kind.gpus,
                                         .gpu_milli = gpu_milli,
                                         .models = {}}});
    }
  }
  return workload;
}

}  // namespace gpusched
