// LaneKernels: the inner loops of ScoreTree, for the machine that it runs on.
#ifndef GPUSCHED_INDEX_LANE_KERNELS_H_
#define GPUSCHED_INDEX_LANE_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "gpusched/export.h"

namespace gpusched {

// Rows are `width` scores each, a multiple of kLaneBlock, one after the other.
inline constexpr std::size_t kLaneBlock = 32;
// Rows below one row of maxima.
inline constexpr std::size_t kLaneFan = 16;

template <class T>
struct LaneKernels {
  // Writes the element-wise maxima of kLaneFan rows.
  void (*maxima)(const T* rows, std::size_t width, T* out);
  // Mends a row of maxima after one of its rows, which was `before`, has become `row`; `rows` is
  // the first of them. `before` has then what the maxima were. Returns whether they changed.
  bool (*mend)(T* before, const T* row, const T* rows, std::size_t width, T* maxima);
  // Writes scores − below. Returns false if one of them is not in 0 to most.
  bool (*narrow)(const std::int32_t* scores, std::size_t width, std::int32_t below,
                 std::int32_t most, T* out);
};

enum class SimdUse : std::uint8_t {
  kBest,      // the widest instructions that the machine has
  kPortable,  // none beyond what the library is compiled for
};

// For std::uint8_t and std::uint16_t.
template <class T>
const LaneKernels<T>& LaneKernelsFor(SimdUse use);
template <>
GPUSCHED_EXPORT const LaneKernels<std::uint8_t>& LaneKernelsFor<std::uint8_t>(SimdUse use);
template <>
GPUSCHED_EXPORT const LaneKernels<std::uint16_t>& LaneKernelsFor<std::uint16_t>(SimdUse use);

}  // namespace gpusched

#endif  // GPUSCHED_INDEX_LANE_KERNELS_H_
