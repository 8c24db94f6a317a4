// DotProduct: the node whose free resources are least aligned with (and scarcest for) the request.
#ifndef GPUSCHED_POLICY_SCORE_DOT_PRODUCT_H_
#define GPUSCHED_POLICY_SCORE_DOT_PRODUCT_H_

#include <string_view>

#include "gpusched/policy/score/norms.h"

namespace gpusched {

// ⌊100 · (1 − dot/2)⌋ with dot = cpu_free/N_cpu · cpu/N_cpu + gpu_free/N_gpu · gpu/N_gpu, free =
// before placement, GPUs merged into one dimension; exact in integers. After Tetris (Grandl et al.,
// SIGCOMM 2014, section 3.2) with the sign that Weng et al., ATC 2023, section 6.1 use: a small
// product is good. Range [0, 100].
struct DotProduct {
  ScoreNorms norms;

  static constexpr Reads kReads = Reads::kNode;
  static constexpr ScoreRange range() { return {0, 100}; }
  constexpr std::string_view problem() const { return norms.problem(); }

  Score operator()(const NodeView& node, const Shape& shape, const DeviceChoice& choice) const {
    // dot = (cpu · r² + gpu) / N_gpu² scaled to a common denominator; with N_cpu a multiple of
    // N_gpu (as by default) N_cpu² serves for both, else their product does.
    const Wide cpu = Wide{node.cpu_free()} * ScoredCpu(shape);
    const Wide gpu = Wide{node.gpu_free_milli()} * MilliTaken(node, shape, choice);
    const bool nested = norms.cpu_milli % norms.gpu_milli == 0;
    const Wide cpu_factor = nested ? 1 : Wide{norms.gpu_milli} * norms.gpu_milli;
    const Wide ratio = nested ? norms.cpu_milli / norms.gpu_milli : norms.cpu_milli;
    const Wide whole = 2 * cpu_factor * norms.cpu_milli * norms.cpu_milli;
    return SaturatingRatio(100 * (whole - cpu * cpu_factor - gpu * ratio * ratio), whole, range());
  }
};

}  // namespace gpusched

#endif  // GPUSCHED_POLICY_SCORE_DOT_PRODUCT_H_
