// ScoreNorms: what counts as a full machine in scores that add CPU and GPU.
#ifndef GPUSCHED_POLICY_SCORE_NORMS_H_
#define GPUSCHED_POLICY_SCORE_NORMS_H_

#include <cstdint>
#include <string_view>

#include "gpusched/base/quantity.h"
#include "gpusched/policy/concepts.h"
#include "gpusched/state/device_choice.h"
#include "gpusched/state/shape.h"

namespace gpusched {

// Divisors for CPU and GPU, parameters of a policy rather than read from the cluster, so that a
// score does not change when some machine joins. Take the largest machine's; the defaults are those
// of Weng et al., "Beware of Fragmentation", USENIX ATC 2023. Bounds keep every
// product of the scores below inside 128 bits.
struct ScoreNorms {
  static constexpr std::int64_t kMaxCpuMilli = std::int64_t{1} << 24;  // 16,777 cores
  static constexpr std::int64_t kMaxGpuMilli = std::int64_t{1} << 17;  // 131 devices

  std::int64_t cpu_milli = 128'000;  // 1 to kMaxCpuMilli
  std::int64_t gpu_milli = 8'000;    // 1 to kMaxGpuMilli

  // What is wrong with the norms; empty if nothing.
  constexpr std::string_view problem() const {
    if (cpu_milli < 1 || cpu_milli > kMaxCpuMilli) return "norms.cpu_milli must be 1 to 16777216";
    if (gpu_milli < 1 || gpu_milli > kMaxGpuMilli) return "norms.gpu_milli must be 1 to 131072";
    return {};
  }
};

// A task that asks no CPU counts as this much in scores (never in feasibility), as in the
// Kubernetes scheduler, so that such tasks do not all look free.
inline constexpr std::int64_t kUnaskedCpuMilli = 100;

constexpr std::int64_t ScoredCpu(const Shape& shape) {
  return shape.cpu_milli == 0 ? kUnaskedCpuMilli : shape.cpu_milli;
}

// A share of a full machine, as an exact fraction.
struct MachineShare {
  Wide part = 0;
  Wide whole = 1;
};

// (cpu_left/N_cpu + gpu_left/N_gpu)/2: how empty a node is after placing a task, GPU summed over
// devices.
inline MachineShare EmptyAfter(const NodeView& node, const Shape& shape, const DeviceChoice& choice,
                               const ScoreNorms& norms) {
  const Wide cpu_left = node.cpu_free() - ScoredCpu(shape);
  const Wide gpu_left = node.gpu_free_milli() - MilliTaken(node, shape, choice);
  return {.part = cpu_left * norms.gpu_milli + gpu_left * norms.cpu_milli,
          .whole = Wide{2} * norms.cpu_milli * norms.gpu_milli};
}

// numerator / denominator rounded down and kept within the range; denominator > 0. Saturation is
// part of the definition of the scores that use it: a machine larger than the norms ranks as one of
// their size.
constexpr Score SaturatingRatio(Wide numerator, Wide denominator, ScoreRange range) {
  if (numerator <= range.lo * denominator) return range.lo;
  if (numerator >= range.hi * denominator) return range.hi;
  // Amounts of real machines fit 64 bits, where division is several times faster.
  constexpr Wide kNarrow = Wide{1} << 62;
  Wide quotient = 0;
  if (-kNarrow < numerator && numerator < kNarrow && denominator < kNarrow) {
    const auto n = static_cast<std::int64_t>(numerator);
    const auto d = static_cast<std::int64_t>(denominator);
    quotient = n / d - (n % d < 0 ? 1 : 0);
  } else {
    quotient = numerator / denominator - (numerator % denominator < 0 ? 1 : 0);
  }
  return static_cast<Score>(quotient);
}

}  // namespace gpusched

#endif  // GPUSCHED_POLICY_SCORE_NORMS_H_
