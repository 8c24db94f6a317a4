// The rows of the catalogue that come with the library.
//
// Sources: the makers' data sheets and architecture papers (NVIDIA P100, V100, T4, A10, A30, A40,
// A100, L4, L40S, H100, H200, B200, GB200; AMD MI250X, MI300X), with NVIDIA's MIG user guide for
// memory and MIG ability. Rates are dense; where a sheet gives the sparse one, half of it. What no
// public source was found for is listed in `unsourced`. K80 and MI250X are halves of a board: a
// scheduler sees two devices.
#ifndef GPUSCHED_SRC_SPEC_BUILT_IN_MODELS_H_
#define GPUSCHED_SRC_SPEC_BUILT_IN_MODELS_H_

#include <vector>

#include "gpusched/spec/gpu_model.h"
#include "gpusched/spec/mig_geometry.h"

namespace gpusched {

const std::vector<GpuModel>& BuiltInModels();
const std::vector<MigGeometry>& BuiltInGeometries();

}  // namespace gpusched

#endif  // GPUSCHED_SRC_SPEC_BUILT_IN_MODELS_H_
