// The AVX2 form of LaneKernels, if there is one.
#ifndef GPUSCHED_SRC_INDEX_LANE_KERNELS_AVX2_H_
#define GPUSCHED_SRC_INDEX_LANE_KERNELS_AVX2_H_

#include "gpusched/index/lane_kernels.h"

namespace gpusched {

// Null if the library is compiled without; to be used on a machine that has AVX2 only.
const LaneKernels<std::uint8_t>* Avx2Kernels8();
const LaneKernels<std::uint16_t>* Avx2Kernels16();

}  // namespace gpusched

#endif  // GPUSCHED_SRC_INDEX_LANE_KERNELS_AVX2_H_
