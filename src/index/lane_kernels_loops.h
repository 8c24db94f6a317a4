// The loops of LaneKernels, over whatever block of lanes a machine compares at once.
//
// Each file that includes it is compiled for another machine. So it uses nothing from the standard
// library, of which a copy for a newer machine could end up in code for an older one.
#ifndef GPUSCHED_SRC_INDEX_LANE_KERNELS_LOOPS_H_
#define GPUSCHED_SRC_INDEX_LANE_KERNELS_LOOPS_H_

#include "gpusched/index/lane_kernels.h"

namespace gpusched {
namespace {

// B has kLanes scores: Load, Store, Max, Differ; Lost: whether a lane that was at the maximum is
// less now; and Narrow, which returns whether one is out of range.
template <class B, class T>
void Maxima(const T* rows, std::size_t width, T* out) {
  for (std::size_t lane = 0; lane < width; lane += B::kLanes) {
    B best = B::Load(rows + lane);
    for (std::size_t row = 1; row < kLaneFan; ++row) {
      best = B::Max(best, B::Load(rows + row * width + lane));
    }
    best.Store(out + lane);
  }
}

template <class B, class T>
bool Mend(T* before, const T* row, const T* rows, std::size_t width, T* maxima) {
  bool changed = false;
  for (std::size_t lane = 0; lane < width; lane += B::kLanes) {
    const B was = B::Load(before + lane);
    const B is = B::Load(row + lane);
    const B maximum = B::Load(maxima + lane);
    maximum.Store(before + lane);
    if (!B::Differ(was, is)) continue;
    B after = B::Max(is, maximum);
    if (B::Lost(was, is, maximum)) {
      after = B::Load(rows + lane);
      for (std::size_t i = 1; i < kLaneFan; ++i) {
        after = B::Max(after, B::Load(rows + i * width + lane));
      }
    }
    if (!B::Differ(after, maximum)) continue;
    after.Store(maxima + lane);
    changed = true;
  }
  return changed;
}

template <class B, class T>
bool Narrow(const std::int32_t* scores, std::size_t width, std::int32_t below, std::int32_t most,
            T* out) {
  bool wrong = false;
  for (std::size_t lane = 0; lane < width; lane += B::kLanes) {
    wrong = B::Narrow(scores + lane, below, most, out + lane) || wrong;
  }
  return !wrong;
}

}  // namespace
}  // namespace gpusched

#endif  // GPUSCHED_SRC_INDEX_LANE_KERNELS_LOOPS_H_
